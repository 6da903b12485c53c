"""The campaigns in which the person of this session takes part, each with the way to the annotator's page."""

from __future__ import annotations

import streamlit as st

from core.ports.campaigns import Campaign
from core.services.campaigns import taking_part
from pages._ui.campaigns import campaign_data
from pages._ui.shared import page, wiring
from pages._ui.shared.markdown import escape_markdown


def draw() -> None:
    """Draw one line per campaign that runs or is paused; nothing for people who take part in none."""
    for mine in taking_part.campaigns(wiring.store(), wiring.identity(), count=False):
        if mine.state not in ("running", "paused"):
            continue
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            paused = " · paused" if mine.state == "paused" else ""
            st.markdown(
                f"**You annotate: {escape_markdown(mine.title)}** · since {mine.created:%d %b %Y}{paused}",
                width="stretch",
            )
            st.link_button("Continue", wiring.address(f"tasks/{mine.texts}"), type="primary")


def hides(campaign: Campaign) -> bool:
    """Say that the screens of a campaign are hidden from its annotators, and return True, if that is so."""
    takes_part = wiring.identity().takes_part(campaign.texts)
    if not takes_part or campaign_data.manages(campaign) or campaign.state == "finished":
        return False
    page.info("You annotate in this campaign, so labels and results of others are hidden here until it is finished.")
    return True
