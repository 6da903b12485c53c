"""The switch on Compare that shows the labels of all annotators, and what is visible with it."""

from __future__ import annotations

import streamlit as st

from core.ports.projects import Project
from core.services.compare.inspector import Marks
from core.services.projects.view import View
from pages._ui.annotate import identity
from pages._ui.compare import marks


def switch_key(project_id: int) -> str:
    return f"compare-labels-{project_id}"


def everyone(project: Project) -> bool:
    """Return whether the labels of all annotators are shown; at first to everybody who has not annotated in this browser."""
    return bool(st.session_state.get(switch_key(project.id), _at_first()))


def _at_first() -> bool:
    return identity.rater() is None


def visible(project: Project) -> tuple[View, Marks | None]:
    """Return the view with the MQM scores of the visible labels, and these labels; None if nobody has labelled anything."""
    return marks.labelled(project, identity.rater(), everyone(project))


def switch(project: Project) -> None:
    """Draw the switch."""
    st.toggle(
        "Labels of all annotators", value=_at_first(), key=switch_key(project.id),
        help="If off, you see error spans and MQM scores only of segments that you have submitted.",
    )  # fmt: skip


def warning(project: Project) -> None:
    """Warn those who still have to annotate, while the labels of all annotators are shown."""
    if everyone(project):
        st.caption(
            ":material/visibility: Labels of all annotators are shown. Do not look if you still have to annotate in this "
            "project: it would bias your labels."
        )
