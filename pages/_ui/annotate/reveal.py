"""Reveal the systems of a submitted segment: it is locked first, because later labels would not be blind."""

from __future__ import annotations

import streamlit as st

from core.data import SegmentKey


def asked(project_id: int, rater: str, segment: SegmentKey) -> bool:
    """Draw what revealing does, with its button; return whether it was clicked."""
    place = f"{(project_id, rater, *segment)!r}"
    with st.popover("Reveal system names", icon=":material/visibility:", key=f"annotate-reveal-{place}"):
        st.markdown(
            "Shows which system wrote each output, and the metric scores. **Your labels of this segment are then locked**, "
            "because changes made with the names in view are not blind."
        )
        return st.button("Reveal and lock this segment", key=f"annotate-lock-{place}")
