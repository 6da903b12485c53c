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
from pages._ui.shared import errors, page, wiring

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
    decides = wiring.identity().role(campaign.project_id) == "adjudicator"
    head = st.container()
    screen = page.choose_tab(
        "Screen", shown, campaign_data.screen_key(campaign), campaign_data.DECISIONS if decides else shown[0]
    )
    with head:
        campaign_head.draw(campaign)
    with errors.boundary():
        SCREENS[screen](project, campaign)
