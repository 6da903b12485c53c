"""Export labels and scores as files, made on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import streamlit as st

from core.formats.labels import judgements
from core.formats.labels.label_formats import FORMATS
from core.formats.write import labels_csv, scores_csv, scores_jsonl
from core.ports.projects import Project
from core.ports.store import Store
from core.services.export import export
from core.services.export.export import Export
from core.settings import load as settings
from pages._ui.shared import errors, wiring
from pages._ui.shared.files import file_name
from pages._ui.shared.markdown import escape_markdown


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
        _text(lambda store, project: judgements.write_csv(store.judgements.list(project)), "judgements.csv", "text/csv"),
    ),
    "judgements-jsonl": ExportFile(
        "Scores by annotator: JSONL", "The same rows, one JSON object per line; names unchanged.",
        _text(
            lambda store, project: judgements.write_jsonl(store.judgements.list(project)), "judgements.jsonl", "application/jsonl"
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


def panel(project: Project, labelled: bool, scored: bool) -> None:
    """Draw the choice of a file, what it leaves out, and the download."""
    kinds = (LABELS if labelled else {}) | (JUDGEMENTS if project.judged else {}) | (SCORES if scored else {})
    if not labelled:
        st.caption("No labels to export yet.")
    if not scored:
        st.caption("No scores to export yet.")
    if kinds:
        _choice(project, kinds)


@st.fragment
@errors.guarded
def _choice(project: Project, kinds: dict[str, ExportFile]) -> None:
    chosen = st.selectbox(
        "Format", kinds, format_func=lambda name: kinds[name].label, key=f"export-format-{project.id}"
    )
    kind, store = kinds[chosen], wiring.store()
    ending, mime, lost = _about(settings().database, project, chosen, kind, store)
    st.caption("  \n".join(map(escape_markdown, (kind.holds, *lost))))
    st.download_button(
        "Download", lambda: kind.make(store, project.id).data, f"{file_name(project.name)}.{ending}", mime,
        icon=":material/download:", on_click="ignore", key=f"export-{chosen}-{project.id}", width="stretch", type="primary",
    )  # fmt: skip


@st.cache_data(ttl=30, max_entries=32, show_spinner="Preparing the file …")
def _about(
    database: str, project: Project, chosen: str, _kind: ExportFile, _store: Store
) -> tuple[str, str, tuple[str, ...]]:
    """Return the ending and type of the file, and what it leaves out; up to 30 s old."""
    made = _kind.make(_store, project.id)
    return made.ending, made.mime, made.lost
