"""The line about a scoring job that was cancelled: how many scores are kept, and a button that computes the rest."""

from __future__ import annotations

import streamlit as st

from core.formatting import format_count
from core.ports.projects import Project
from pages._ui.projects import scoring_time
from pages._ui.shared import jobs, partly_scored, wiring


def line(project: Project) -> None:
    """Draw the line if the newest scoring job of the project was cancelled and has computed some scores, not all."""
    newest = next((job for job in wiring.store().jobs.recent(project.id) if not job.timing), None)
    if newest is None or newest.state != "cancelled" or jobs.active(project.id):
        return
    metrics = scoring_time.progress_of(project, newest)
    kept, total = sum(m.done for m in metrics), sum(m.total for m in metrics)
    if kept in (0, total):
        return
    text = f"Scoring was cancelled. {kept:,} of {format_count(total, 'score')} of {format_count(len(metrics), 'metric')} are kept."
    st.warning(text, icon=":material/incomplete_circle:")
    partly_scored.finish_button(project, newest.metrics, newest.segments, key=f"cancelled-{project.id}")
