"""What an annotator sees after submitting a segment: its systems, and its metric scores."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.data import OutputKey, SegmentKey
from core.services.projects.view import Column, View
from pages._ui.shared.markdown import escape_markdown


def asked(project_id: int, rater: str, segment: SegmentKey) -> bool:
    """Draw what revealing does, with its button; return whether it was clicked."""
    place = f"{(project_id, rater, *segment)!r}"
    with st.popover("Reveal system names", icon=":material/visibility:", key=f"annotate-reveal-{place}"):
        st.markdown(
            "Shows which system wrote each output, and the metric scores. **Your labels of this segment are then locked**, "
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


def cell(view: View, column: Column, key: OutputKey) -> str:
    """Return the value as text, or the reason why there is none."""
    value = view.table(column.name).get(key)
    if value is None:
        return "not scored"
    return value.reason or value.status if value.value is None else f"{value.value:.{column.digits}f}"
