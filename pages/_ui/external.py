"""Metrics that were computed elsewhere: asking what they are called and which way is better, listing and removing them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formats.problems import counted
from core.metrics.external import MARK
from core.ports import ExternalMetric, Project, Store
from pages._ui import errors

DIRECTIONS = {True: "higher is better", False: "lower is better"}


def ask(name: str, higher: bool, of: str, key: str, places: Sequence[DeltaGenerator]) -> tuple[str, bool]:
    """Draw the two questions about the scores `of` a column or file; returns name and direction."""
    given = places[0].text_input(f"Name of the metric in {errors.plain(of)}", name, key=f"{key}-metric", max_chars=120)
    way = places[1].selectbox(
        "Direction", list(DIRECTIONS), list(DIRECTIONS).index(higher), format_func=DIRECTIONS.__getitem__,
        key=f"{key}-direction",
    )  # fmt: skip
    return given.strip(), way


def panel(store: Store, project: Project) -> None:
    """The metrics of a project that were computed elsewhere, each with a button that removes it; nothing where there is none."""
    found = store.scores.external(project.id)
    if not found:
        return
    st.markdown("**Computed elsewhere**")
    for metric in found:
        said, action = st.columns([5, 1], vertical_alignment="center")
        files = ", ".join(file.name for file in metric.files)
        said.markdown(f"{errors.plain(metric.name)} :gray-badge[{MARK}]  \n:small[{errors.plain(facts(metric, project))}]",
                      help=f"From {errors.plain(files)}. Signature: {errors.plain(metric.signature)}")  # fmt: skip
        if action.button(
            "Remove", icon=":material/delete:", key=f"external-remove-{project.id}-{metric.name}", width="stretch"
        ):
            _remove(store, project, metric)


def facts(metric: ExternalMetric, project: Project) -> str:
    """`higher is better · 160 of 160 outputs · from comet.seg.score`, files beyond the second counted."""
    names = [file.name for file in metric.files]
    files = ", ".join(names[:2]) + (f" and {counted(len(names) - 2, 'more file')}" if len(names) > 2 else "")
    return (
        f"{DIRECTIONS[metric.higher_is_better]} · {metric.n:,} of {counted(project.n_outputs, 'output')} · from {files}"
    )


@st.dialog("Remove this metric?", width="medium")
@errors.guarded
def _remove(store: Store, project: Project, metric: ExternalMetric) -> None:
    """Name what is lost, and remove it only when asked again."""

    @errors.guarded
    def remove() -> None:
        store.scores.remove_external(project.id, metric.name)

    what = f"{counted(metric.n, 'score')} of **{errors.plain(metric.name)}** in **{errors.plain(project.name)}**"
    st.markdown(f"{what} are lost, for everybody who works in it.")
    st.caption("They were not computed here: only the file brings them back.")
    keep, go = st.columns(2)
    if keep.button("Keep it", width="stretch", key="external-no"):
        st.rerun()
    asked = go.button("Remove it", type="primary", width="stretch", key="external-yes", on_click=remove)
    if asked and all(m.name != metric.name for m in store.scores.external(project.id)):
        st.rerun()
