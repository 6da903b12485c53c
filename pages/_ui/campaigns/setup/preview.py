"""A unit of the planned campaign in the annotators' editor. Nothing is saved."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.ports.labels import Ask
from core.services.campaigns.preview import preview_data, preview_units
from core.services.labels.exchange import nearby
from pages._ui.campaigns.setup.steps import Setup
from pages._ui.components.span_annotator import span_editor
from pages._ui.shared import wiring

_AT = "campaign-preview-at"
DOING: Mapping[Ask, str] = {"spans": "mark errors", "score": "set scores", "preference": "choose the better output"}


def draw(setup: Setup, design: CampaignDesign) -> None:
    """Draw the instructions and one unit, which can be tried out."""
    units = preview_units(setup.outline, design)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        asked = " and ".join(DOING[ask] for ask in design.protocol.asks)
        st.caption(f"Try it: {asked}. Nothing is saved here.", width="content")
        st.button("Show another unit", icon=":material/refresh:", on_click=_next, disabled=len(units) < 2)
    unit = units[st.session_state.get(_AT, 0) % len(units)]
    with st.container(border=True):
        with st.expander("Instructions", expanded=True):
            st.markdown(design.protocol.instructions)
        texts = nearby(wiring.store(), setup.project.id, unit.of)
        span_editor(preview_data(texts, setup.project.id, design, unit), key="campaign-preview", on_go=_go)


def _go(to: str) -> None:
    if to in ("next", "unlabelled"):
        _next()


def _next() -> None:
    st.session_state[_AT] = st.session_state.get(_AT, 0) + 1
