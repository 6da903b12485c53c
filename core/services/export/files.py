"""The files that a project can be exported as, by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple, Protocol

from core.formats.labels.label_formats import FORMATS
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.export import export, outputs
from core.services.export.export import Export


class MakeFile(Protocol):
    def __call__(self, store: Store, project_id: int, progress: Progress = no_progress) -> Export:
        """Return the file. `progress` is called once per part that is read, and may raise `Cancelled`. Raises `UserError`."""
        ...


class ExportFile(NamedTuple):
    """A kind of file: its label, its contents, and the function that makes it."""

    label: str
    holds: str
    make: MakeFile


LABELS = {
    "csv": ExportFile(
        "Labels: CSV", "One row per error span or verdict; unsubmitted ones are included and marked. Safe to open in a spreadsheet: texts cannot run as formulas.",
        export.labels_as_csv,
    ),
    **{f.name: ExportFile(f"Labels: {f.label}", f.holds, partial(export.labels_as, name=f.name)) for f in FORMATS.values() if f.write},
    "mtme-score": ExportFile(
        "Labels: MQM scores, .seg.score", "One number per output for mt-metrics-eval (Google’s toolkit for WMT metrics): Google MQM weights, mean over annotators.",
        partial(export.labels_as, name="mtme-score"),
    ),
}  # fmt: skip
JUDGEMENTS = {
    "judgements-csv": ExportFile(
        "Scores by annotator: CSV", "One row per output and annotator, every number as imported. Safe to open in a spreadsheet: texts cannot run as formulas.",
        partial(export.judgements_as, ending="csv"),
    ),
    "judgements-jsonl": ExportFile(
        "Scores by annotator: JSONL", "The same rows, one JSON object per line; names unchanged.",
        partial(export.judgements_as, ending="jsonl"),
    ),
}  # fmt: skip
SCORES = {
    "scores-csv": ExportFile(
        "Scores: CSV", "One row per output and metric, with signature, status and reason. Safe to open in a spreadsheet: texts cannot run as formulas.",
        partial(export.score_table_as, ending="csv"),
    ),
    "scores-jsonl": ExportFile(
        "Scores: JSONL", "The same rows, one JSON object per line; a missing score is null.",
        partial(export.score_table_as, ending="jsonl"),
    ),
    "scores-mtme": ExportFile(
        "Scores: .seg.score (ZIP)", "For mt-metrics-eval (Google’s toolkit for WMT metrics): one file per metric and human score.",
        export.scores_as_mtme,
    ),
}  # fmt: skip

COLUMNAR = {"parquet": "Parquet", "arrow": "Arrow"}
SCORES |= {
    f"scores-{ending}": ExportFile(
        f"Scores: {name}", "The same rows with types: a score is a number or missing. For large projects.",
        partial(outputs.scores_as, ending=ending),
    )
    for ending, name in COLUMNAR.items()
}  # fmt: skip
OUTPUTS = {
    f"outputs-{ending}": ExportFile(f"Outputs: {name}", holds, partial(outputs.outputs_as, ending=ending))
    for ending, name, holds in (
        ("csv", "CSV", "One row per output, with its source, references and human scores, also those of campaigns. Safe to open in a spreadsheet: texts cannot run as formulas."),
        ("jsonl", "JSONL", "The same rows, one JSON object per line; texts unchanged. Can be imported again."),
        *((ending, name, "The same rows with types; texts unchanged. For large projects.") for ending, name in COLUMNAR.items()),
    )
}  # fmt: skip

EXPORTS: Mapping[str, ExportFile] = LABELS | JUDGEMENTS | SCORES | OUTPUTS
