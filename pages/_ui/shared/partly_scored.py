"""The line above a result that names partly scored metrics, with a button that scores what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.data import SegmentKey
from core.ports.projects import Project
from core.services.projects.finishing import finishable
from core.services.projects.view import Column
from pages._ui.shared import errors, jobs, wiring
from pages._ui.shared.markdown import escape_markdown


def line(project: Project, text: str, columns: Sequence[Column], key: str) -> None:
    """Draw the plain `text`, why some `columns` cannot be finished here, and the button for the others."""
    found = finishable(wiring.sampled(project), columns)
    reasons = [f"{label}: {reason}." for label, reason in found.others]
    running = {name for job in jobs.active(project.id) for name in job.metrics}
    st.warning("  \n".join(escape_markdown(t) for t in (text, *reasons)), icon=":material/incomplete_circle:")
    if not found.metrics:
        return
    if running >= set(found.metrics):
        st.caption("Scoring is running. This page shows the new scores when it is done.")
        return
    finish_button(project, found.metrics, key=key)


def finish_button(project: Project, metrics: Sequence[str], segments: Sequence[SegmentKey] = (), *, key: str) -> None:
    """Draw the button that scores what is missing, of all outputs or of those of `segments`. Only managers may score."""
    if not wiring.may_change(project.id):
        return
    queue = wiring.store().jobs

    @errors.guarded
    def finish() -> None:
        queue.enqueue(project.id, metrics, segments)

    st.button("Finish scoring", key=f"finish-{key}", icon=":material/play_arrow:", on_click=finish)
