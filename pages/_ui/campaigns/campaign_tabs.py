"""A campaign: its state in one line, what can be done with it, and its screens."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from core.ports.campaigns import Campaign
from core.ports.projects import Project
from pages._ui.campaigns import (
    adjudication,
    campaign_data,
    campaign_head,
    people_tab,
    progress_tab,
    quality_tab,
    results_tab,
)
from pages._ui.shared import drafts, errors, wiring

SCREENS: Mapping[str, Callable[[Project, Campaign], None]] = {
    "Progress": progress_tab.draw,
    "People": people_tab.draw,
    "Quality": quality_tab.draw,
    campaign_data.DECISIONS: adjudication.draw,
    campaign_data.RESULTS: results_tab.draw,
}
NAMED = ("People", "Quality")
"""The screens that name the annotators."""


def draw(project: Project, campaign: Campaign) -> None:
    """Draw the campaign with one of its screens."""
    shown = [name for name in SCREENS if name not in NAMED or campaign_data.sees_people(campaign)]
    key = drafts.kept(campaign_data.screen_key(campaign), fits=lambda name: name in shown)
    if st.session_state.get(key) not in shown:
        decides = wiring.identity().role(campaign.project_id) == "adjudicator"
        st.session_state[key] = campaign_data.DECISIONS if decides else shown[0]
    campaign_head.draw(campaign)
    screen = st.segmented_control("Screen", shown, key=key, required=True, label_visibility="collapsed")
    with errors.boundary():
        SCREENS[str(screen)](project, campaign)
