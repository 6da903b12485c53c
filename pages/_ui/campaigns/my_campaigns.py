"""The work that waits for the person of this session: units to decide, and campaigns to annotate."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from core.formatting import format_count
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.services.campaigns import people
from pages._ui.campaigns import campaign_data
from pages._ui.shared import page, state, wiring
from pages._ui.shared.markdown import escape_markdown

Look = Literal["primary", "secondary"]
CONTINUE: tuple[str, Look] = ("Continue", "primary")
OPEN: tuple[str, Look] = ("Open", "secondary")


def draw_my_campaigns(opened: str | None = None) -> None:
    """Draw one line per campaign in which work waits, except for decisions in the `opened` one; nothing for people without such work."""
    for project in state.projects().all:
        if wiring.identity().role(project.id) == "adjudicator":
            for campaign in wiring.store().campaigns.list(project.id):
                if str(campaign.id) != opened:
                    _decisions(project, campaign)
    for mine in people.campaigns(wiring.store(tasks=True), wiring.identity()):
        if mine.state not in ("running", "paused"):
            continue
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            paused = " · paused" if mine.state == "paused" else ""
            until = f" · finish by {mine.finish_by:%d %b %Y}" if mine.finish_by else ""
            done = "" if mine.has_work else f" · all done, {format_count(mine.submitted, 'unit')} submitted"
            st.markdown(
                f"**You annotate: {escape_markdown(mine.title)}** · since {page.day(mine.created)}{until}{paused}{done}",
                width="stretch",
            )
            label, look = CONTINUE if mine.has_work else OPEN
            st.link_button(label, wiring.address(f"tasks/{mine.texts}"), type=look)


def _decisions(project: Project, campaign: Campaign) -> None:
    """Draw how many units wait for a decision, with the way to them."""
    if campaign.state == "draft" or wiring.identity().takes_part(campaign.texts):
        return
    left = sum(not unit.decided_by for unit in campaign_data.units_to_decide(campaign))
    if not left:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        name, of = escape_markdown(campaign.name), escape_markdown(project.name)
        st.markdown(f"**{format_count(left, 'unit')} to decide** · {name} · {of}", width="stretch")
        if st.button("Decide", type="primary", key=f"campaign-decide-{campaign.id}", help=f"Open {name}"):
            st.session_state[campaign_data.screen_key(campaign)] = campaign_data.DECISIONS
            to = {state.PROJECT: str(project.id), campaign_data.CAMPAIGN: str(campaign.id)}
            st.switch_page("pages/campaigns.py", query_params=to)


def hides(campaign: Campaign) -> bool:
    """Say that the screens of a campaign are hidden from its annotators, and return True, if that is so."""
    takes_part = wiring.identity().takes_part(campaign.texts)
    if not takes_part or campaign_data.manages(campaign) or campaign.state == "finished":
        return False
    page.info("You annotate in this campaign, so labels and results of others are hidden here until it is finished.")
    return True
