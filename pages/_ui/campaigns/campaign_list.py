"""The campaigns of a project, with their state and progress."""

from __future__ import annotations

import streamlit as st

from core.campaigns.design import design_from_json
from core.formatting import format_count, format_percent
from core.ports.campaigns import Campaign, CampaignState
from core.ports.projects import Project
from core.services.campaigns import setup
from core.services.campaigns.monitor import completion
from pages._ui.campaigns import campaign_data, imported
from pages._ui.campaigns.setup.choices import NAMES, REACHED, SetupChoices
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

STATES: dict[CampaignState, str] = {
    "draft": ":gray-badge[Draft]",
    "running": ":green-badge[:material/play_arrow: Running]",
    "paused": ":orange-badge[:material/pause: Paused]",
    "finished": ":blue-badge[:material/check: Finished]",
}


def draw_campaign_list(project: Project, *, manages: bool) -> None:
    """Draw the campaigns, and the button for a new one."""
    campaigns, ratings = wiring.store().campaigns.list(project.id), imported.names_of_ratings(project)
    if not (campaigns or ratings):
        st.markdown(
            "A campaign is a human evaluation with several people. You choose outputs and what annotators are asked; each annotator "
            "gets a personal link and needs no account. Units are given out and checked automatically, and the results appear on Compare, "
            "Meta-evaluation and Calibrate λ."
        )
    if manages:
        values = SetupChoices(project.id).values
        label = "Continue the new campaign" if values else "New campaign"
        with st.container(horizontal=True):
            st.button(
                label, type="primary", icon=":material/add:", on_click=_begin, args=(project.id,), key="campaign-begin"
            )
            st.button(
                "Import a finished campaign", icon=":material/upload_file:", on_click=campaign_data.go, args=(campaign_data.IMPORT,),
                key="campaign-import", help="Files of Appraise, Pearmut or WMT25",
            )  # fmt: skip
    elif not (campaigns or ratings):
        page.info("Only managers of this project can create campaigns.")
    for campaign in reversed(campaigns):
        with errors.boundary():
            _row(campaign, manages)
    if ratings:
        names = ", ".join(name or "error spans" for name in ratings)
        with page.row(f"**Ratings outside campaigns** · imported or given on Annotate · {escape_markdown(names)}"):
            st.button("See results", key=f"ratings-open-{project.id}", on_click=campaign_data.go, args=(campaign_data.RATINGS,),
                      help="Means of the systems with their 95 % CIs")  # fmt: skip


def _begin(project_id: int) -> None:
    choices = SetupChoices(project_id)
    choices.begin_visit()
    campaign_data.go(campaign_data.NEW, NAMES[min(int(choices.values.get(REACHED, 0)), len(NAMES) - 1)])


def continue_button(campaign: Campaign) -> None:
    """Draw the button that opens the set-up of a draft, if it can be continued there."""
    if setup.of_draft(wiring.store(), campaign) is not None:
        st.button(
            "Continue setting up", icon=":material/edit:", key=f"campaign-set-up-{campaign.id}",
            on_click=_continue, args=(campaign,), help="Open the five steps with all choices of this draft",
        )  # fmt: skip


def _continue(campaign: Campaign) -> None:
    SetupChoices(campaign.project_id, campaign).begin_visit()
    campaign_data.go(campaign.id, NAMES[0])


def _row(campaign: Campaign, manages: bool) -> None:
    design = design_from_json(campaign.design)
    done = completion(wiring.store(), campaign)
    with st.container(border=True), st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch"):
            st.markdown(
                f"**{escape_markdown(campaign.name)}** · {STATES[campaign.state]} · {escape_markdown(design.protocol.title)} · "
                f"{format_count(done.people, 'annotator')} · created {page.day(campaign.created)}"
            )
            st.progress(
                done.share, f"{done.ratings:,} of {format_count(done.planned, 'rating')} ({format_percent(done.share)})"
            )
        if manages:
            continue_button(campaign)
        st.button(
            "See results" if campaign.state == "finished" else "Open", key=f"campaign-open-{campaign.id}", on_click=_open,
            args=(campaign,), help=f"Open “{escape_markdown(campaign.name)}”",
        )  # fmt: skip


def _open(campaign: Campaign) -> None:
    if campaign.state == "finished":
        st.session_state[campaign_data.screen_key(campaign)] = campaign_data.RESULTS
    campaign_data.go(campaign.id)
