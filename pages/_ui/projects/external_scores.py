"""External scores: ask for their name and direction, list and remove them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formatting import format_count
from core.metrics.base import MARK
from core.ports.projects import Project
from core.ports.scores import ExternalMetric
from pages._ui.shared import drafts, errors, wiring
from pages._ui.shared.markdown import escape_markdown

DIRECTIONS = {True: "higher is better", False: "lower is better"}


def ask(name: str, higher: bool, of: str, key: str, places: Sequence[DeltaGenerator]) -> tuple[str, bool]:
    """Draw the fields for the scores of a column or file; return name and direction."""
    metric_name = places[0].text_input(
        f"Name of the metric in {escape_markdown(of)}", name, key=drafts.kept(f"{key}-metric", name), max_chars=120
    )
    way = places[1].selectbox(
        "Direction", DIRECTIONS, list(DIRECTIONS).index(higher), format_func=DIRECTIONS.__getitem__,
        key=drafts.kept(f"{key}-direction", higher),
    )  # fmt: skip
    return metric_name.strip(), way


def draw_external_scores(project: Project) -> None:
    """Draw the external metrics of a project, each with a Remove button; nothing if there are none."""
    metrics = wiring.store().scores.external(project.id)
    if not metrics:
        return
    st.markdown("**External scores**")
    for metric in metrics:
        said, action = st.columns([5, 1], vertical_alignment="center")
        files = ", ".join(file.name for file in metric.files)
        said.markdown(f"{escape_markdown(metric.name)} :gray-badge[{MARK}]  \n:small[{escape_markdown(facts(metric, project))}]",
                      help=f"From {escape_markdown(files)}. Signature: {escape_markdown(metric.signature)}")  # fmt: skip
        if action.button(
            "Delete", icon=":material/delete:", key=f"external-remove-{project.id}-{metric.name}", width="stretch"
        ):
            _remove(project, metric)


def facts(metric: ExternalMetric, project: Project) -> str:
    """Return `higher is better · 160 of 160 outputs · from comet.seg.score`; more than two files are counted."""
    names = [file.name for file in metric.files]
    files = ", ".join(names[:2]) + (f" and {format_count(len(names) - 2, 'more file')}" if len(names) > 2 else "")
    return f"{DIRECTIONS[metric.higher_is_better]} · {metric.n:,} of {format_count(project.n_outputs, 'output')} · from {files}"


@st.dialog("Delete this metric?", width="medium")
@errors.guarded
def _remove(project: Project, metric: ExternalMetric) -> None:
    """Ask for confirmation, naming what will be lost."""
    scores = wiring.store().scores
    what = f"{format_count(metric.n, 'score')} of **{escape_markdown(metric.name)}** in **{escape_markdown(project.name)}**"
    st.markdown(f"{what} will be deleted for all users of the project.")
    st.caption("They were computed by another program: to restore them, import the file again.")
    keep, go = st.columns(2)
    if keep.button("Cancel", width="stretch", key="external-no"):
        st.rerun()
    asked = go.button(
        "Delete metric", type="primary", width="stretch", key="external-yes",
        on_click=errors.guarded(scores.remove_external), args=(project.id, metric.name),
    )  # fmt: skip
    if asked and all(m.name != metric.name for m in scores.external(project.id)):
        st.rerun()
