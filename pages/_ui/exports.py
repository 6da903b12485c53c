"""What leaves a project: labels and scores as files, made when they are asked for. One choice, what is lost, one button."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import streamlit as st

from core.formats.label_formats import FORMATS
from core.ports import Project, Store
from core.services import export
from core.services.export import Export
from core.settings import load as settings
from pages._ui import errors
from pages._ui.errors import plain


class File(NamedTuple):
    """A kind of file: what it is called, what it holds, and who makes it."""

    label: str
    holds: str
    make: Callable[[Store, int], Export]


def _text(make: Callable[[Store, int], str], ending: str, mime: str) -> Callable[[Store, int], Export]:
    return lambda store, project: Export(make(store, project).encode(), ending, mime, ())


def _labels(name: str) -> Callable[[Store, int], Export]:
    return lambda store, project: export.labels_as(store, project, name)


LABELS = {
    "csv": File(
        "Labels: CSV", "One row a mark or verdict, unsubmitted ones included and named so; safe to open in a spreadsheet.",
        lambda store, project: Export(
            export.labels_as_csv(store, project).encode(), "labels.csv", "text/csv",
            tuple(export.notes_on_labels(store, project)),
        ),
    ),
    **{f.name: File(f"Labels: {f.label}", f.holds, _labels(f.name)) for f in FORMATS.values() if f.write},
    "mtme-score": File(
        "Labels: MQM scores, .seg.score", "One number an output for mt-metrics-eval: Google’s weights, mean over raters.",
        _labels("mtme-score"),
    ),
}  # fmt: skip
JUDGEMENTS = {
    "judgements-csv": File(
        "Numbers of raters: CSV", "One row an output and rater, every number as it was given; safe to open in a spreadsheet.",
        _text(export.judgements_as_csv, "judgements.csv", "text/csv"),
    ),
    "judgements-jsonl": File(
        "Numbers of raters: JSONL", "The same rows, one JSON object a line; every name as it is.",
        _text(export.judgements_as_jsonl, "judgements.jsonl", "application/jsonl"),
    ),
}  # fmt: skip
SCORES = {
    "scores-csv": File(
        "Scores: CSV", "One row an output and metric, with signature, status and reason; safe to open in a spreadsheet.",
        _text(export.scores_as_csv, "scores.csv", "text/csv"),
    ),
    "scores-jsonl": File(
        "Scores: JSONL", "The same rows, one JSON object a line; a missing score is null.",
        _text(export.scores_as_jsonl, "scores.jsonl", "application/jsonl"),
    ),
    "scores-mtme": File(
        "Scores: .seg.score (ZIP)", "For mt-metrics-eval: a file for each metric and each human score.",
        export.scores_as_mtme,
    ),
}  # fmt: skip


def panel(store: Store, project: Project, labelled: bool, scored: bool) -> None:
    """Choose a file, see what it does not hold, download it."""
    kinds = (LABELS if labelled else {}) | (JUDGEMENTS if project.judged else {}) | (SCORES if scored else {})
    if not labelled:
        st.caption("There are no labels to export yet.")
    if not scored:
        st.caption("There are no scores to export yet.")
    if kinds:
        _choice(store, project, kinds)


@st.fragment
@errors.guarded
def _choice(store: Store, project: Project, kinds: dict[str, File]) -> None:
    chosen = st.selectbox(
        "Format", list(kinds), format_func=lambda name: kinds[name].label, key=f"export-format-{project.id}"
    )
    kind = kinds[chosen]
    ending, mime, lost = _about(settings().database, project, chosen, kind, store)
    st.caption("  \n".join(map(plain, (kind.holds, *lost))))
    st.download_button(
        "Download", partial(_bytes, kind, store, project.id), f"{file_name(project.name)}.{ending}", mime,
        icon=":material/download:", on_click="ignore", key=f"export-{chosen}-{project.id}", width="stretch", type="primary",
    )  # fmt: skip


@st.cache_data(ttl=30, max_entries=32, show_spinner="Looking at what it holds …")
def _about(
    database: str, project: Project, chosen: str, _kind: File, _store: Store
) -> tuple[str, str, tuple[str, ...]]:
    """Ending and type of the file as it would be now, and what it lacks; looked at again after half a minute."""
    made = _kind.make(_store, project.id)
    return made.ending, made.mime, made.lost


def _bytes(kind: File, store: Store, project_id: int) -> bytes:
    return kind.make(store, project_id).data


def file_name(name: str) -> str:
    """A project's name as the beginning of a file name: letters, digits, dashes."""
    return re.sub(r"\W+", "-", name).strip("-_")[:60] or "project"
