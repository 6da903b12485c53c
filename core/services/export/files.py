"""The files that a project can be exported as, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from core.formats.labels import judgements
from core.formats.labels.label_formats import FORMATS
from core.formats.write import labels_csv, scores_csv, scores_jsonl
from core.ports.store import Store
from core.services.export import export
from core.services.export.export import Export
from core.services.labels import all_labels


class ExportFile(NamedTuple):
    """A kind of file: its label, its contents, and the function that makes it."""

    label: str
    holds: str
    make: Callable[[Store, int], Export]


def _text(
    make: Callable[[Store, int], str],
    ending: str,
    mime: str,
    notes: Callable[[Store, int], Iterable[str]] = lambda *_: (),
) -> Callable[[Store, int], Export]:
    return lambda store, project: Export(make(store, project).encode(), ending, mime, tuple(notes(store, project)))


def _labels(name: str) -> Callable[[Store, int], Export]:
    return lambda store, project: export.labels_as(store, project, name)


LABELS = {
    "csv": ExportFile(
        "Labels: CSV", "One row per error span or verdict; unsubmitted ones are included and marked. Safe to open in a spreadsheet: texts cannot run as formulas.",
        _text(
            lambda store, project: labels_csv(export.label_rows(store, project)), "labels.csv", "text/csv", export.notes_on_labels
        ),
    ),
    **{f.name: ExportFile(f"Labels: {f.label}", f.holds, _labels(f.name)) for f in FORMATS.values() if f.write},
    "mtme-score": ExportFile(
        "Labels: MQM scores, .seg.score", "One number per output for mt-metrics-eval (Google’s toolkit for WMT metrics): Google MQM weights, mean over annotators.",
        _labels("mtme-score"),
    ),
}  # fmt: skip
JUDGEMENTS = {
    "judgements-csv": ExportFile(
        "Scores by annotator: CSV", "One row per output and annotator, every number as imported. Safe to open in a spreadsheet: texts cannot run as formulas.",
        _text(lambda store, project: judgements.write_csv(all_labels.judgements(store, project)), "judgements.csv", "text/csv"),
    ),
    "judgements-jsonl": ExportFile(
        "Scores by annotator: JSONL", "The same rows, one JSON object per line; names unchanged.",
        _text(
            lambda store, project: judgements.write_jsonl(all_labels.judgements(store, project)), "judgements.jsonl", "application/jsonl"
        ),
    ),
}  # fmt: skip
SCORES = {
    "scores-csv": ExportFile(
        "Scores: CSV", "One row per output and metric, with signature, status and reason. Safe to open in a spreadsheet: texts cannot run as formulas.",
        _text(
            lambda store, project: scores_csv(export.score_rows(store, project)), "scores.csv", "text/csv", export.partly_scored
        ),
    ),
    "scores-jsonl": ExportFile(
        "Scores: JSONL", "The same rows, one JSON object per line; a missing score is null.",
        _text(
            lambda store, project: scores_jsonl(export.score_rows(store, project)), "scores.jsonl", "application/jsonl",
            export.partly_scored,
        ),
    ),
    "scores-mtme": ExportFile(
        "Scores: .seg.score (ZIP)", "For mt-metrics-eval (Google’s toolkit for WMT metrics): one file per metric and human score.",
        export.scores_as_mtme,
    ),
}  # fmt: skip

EXPORTS: Mapping[str, ExportFile] = LABELS | JUDGEMENTS | SCORES
