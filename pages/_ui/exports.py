"""What leaves a project: labels and scores as files, made when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import streamlit as st

from core.ports import Project, Store
from core.services import export


class File(NamedTuple):
    """A kind of file: what it is called on the button and on disk, what it is for, and who makes it."""

    label: str
    ending: str
    mime: str
    help: str
    make: Callable[[Store, int], str]


LABELS = (
    File("Labels as CSV", "labels.csv", "text/csv",
         "One row a mark or verdict, unsubmitted ones included and named so; safe to open in a spreadsheet.",
         export.labels_as_csv),
    File("Labels as Google MQM TSV", "mqm.tsv", "text/tab-separated-values",
         "Submitted labels in the form of the WMT releases; importing it again gives the same labels. "
         "Texts are exact, so open it in a spreadsheet as text only.",
         export.labels_as_google_mqm),
)  # fmt: skip
SCORES = (
    File("Scores as CSV", "scores.csv", "text/csv",
         "One row an output and metric, with signature, status and reason; safe to open in a spreadsheet.",
         export.scores_as_csv),
    File("Scores as JSONL", "scores.jsonl", "application/jsonl",
         "The same rows, one JSON object a line; a missing score is null.",
         export.scores_as_jsonl),
)  # fmt: skip


def buttons(store: Store, project: Project, labelled: bool, scored: bool) -> None:
    """A download for each file that has something in it."""
    for there, kinds, lack in (
        (labelled, LABELS, "There are no labels to export yet."),
        (scored, SCORES, "There are no scores to export yet."),
    ):
        if not there:
            st.caption(lack)
            continue
        for kind in kinds:
            st.download_button(
                kind.label, partial(_bytes, kind, store, project.id),
                f"{file_name(project.name)}.{kind.ending}", kind.mime, icon=":material/download:", help=kind.help,
                on_click="ignore", key=f"export-{kind.ending}-{project.id}", width="stretch",
            )  # fmt: skip


def _bytes(kind: File, store: Store, project_id: int) -> bytes:
    return kind.make(store, project_id).encode("utf-8")


def file_name(name: str) -> str:
    """A project's name as the beginning of a file name: letters, digits, dashes."""
    return re.sub(r"\W+", "-", name).strip("-_")[:60] or "project"
