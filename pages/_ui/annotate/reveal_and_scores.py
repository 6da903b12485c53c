"""What an annotator sees after submitting a segment and revealing its systems: metric scores, and the error spans of all layers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.data import OutputKey, SegmentKey
from core.ports.projects import Project
from core.services.compare.segment import lanes_json, layers_json
from core.services.projects.view import Column, View
from pages._ui.compare import marks
from pages._ui.compare.layers import available, spans_of
from pages._ui.components.marked_texts import marked_texts
from pages._ui.shared import wiring
from pages._ui.shared.markdown import escape_markdown


def asked(project_id: int, rater: str, segment: SegmentKey) -> bool:
    """Draw what revealing does, with its button; return whether it was clicked."""
    place = f"{(project_id, rater, *segment)!r}"
    with st.popover("Reveal system names", icon=":material/visibility:", key=f"annotate-reveal-{place}"):
        st.markdown(
            "Shows which system wrote each output, the metric scores, and the error spans of judges and of others. **Your labels of this segment are then locked**, "
            "because changes made with the names in view are not blind."
        )
        return st.button("Reveal and lock this segment", key=f"annotate-lock-{place}")


def scores(view: View, segment: SegmentKey, order: Sequence[str]) -> None:
    """Draw a table with one row per output and one column per metric, with direction; signatures below."""
    if not view.columns:
        st.caption("No metric has been computed for this project yet.")
        return
    rows = [
        {"output": system}
        | {f"{c.label} {c.arrow}".strip(): cell(view, c, OutputKey(system, *segment)) for c in view.columns}
        for system in order
    ]
    st.dataframe(rows, hide_index=True)
    st.caption("  \n".join(escape_markdown(c.signature) for c in view.columns if not c.human))


def lanes(project: Project, rater: str, segment: SegmentKey, order: Sequence[str]) -> None:
    """Draw each output with a lane per layer that examined one of them; other annotators' labels as Compare shows them to this one."""
    seen = marks.seen(project, rater, everyone=False)
    layers = [of for of in spans_of(project, segment, available(project, seen), seen) if of.by_system]
    if len(layers) < 2:  # the own labels are in the editor
        return
    st.subheader("Error spans", anchor=False)
    texts = wiring.texts(project).segment(segment)[1]
    columns = [{"name": system, "text": texts[system], "lanes": lanes_json(layers, system)} for system in order]
    marked_texts(columns, key="annotate-lanes", layers=layers_json(layers))


def cell(view: View, column: Column, key: OutputKey) -> str:
    """Return the value as text, or the reason why there is none."""
    value = view.table(column.name).get(key)
    if value is None:
        return "not scored"
    return value.reason or value.status if value.value is None else f"{value.value:.{column.digits}f}"
