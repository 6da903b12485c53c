"""A campaign: its head with state and buttons, and its screens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from core.formatting import format_count, format_duration, format_percent
from core.ports.campaigns import Campaign, CampaignState
from core.ports.projects import Project
from core.services.campaigns.monitor import PACE_DAYS, CampaignSnapshot
from pages._ui.campaigns import (
    campaign_data,
    campaign_list,
    decisions,
    people_tab,
    progress_tab,
    quality_tab,
    results_tab,
)
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

CLOSED = (
    "Annotators can no longer change labels; everything submitted counts. You can reopen the campaign, and decide on "
    "disagreements at any time."
)


def draw_campaign_head(campaign: Campaign) -> None:
    is_complete = campaign_data.current(campaign).is_complete
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.markdown(f"### {escape_markdown(campaign.name)} {campaign_list.STATES[campaign.state]}", width="content")
        if campaign_data.manages(campaign):
            with st.container(horizontal=True, width="content"), errors.boundary():
                _buttons(campaign, is_complete)

    def line(campaign: Campaign) -> None:
        snapshot = campaign_data.current(campaign)
        if snapshot.is_complete != is_complete:
            st.rerun()  # the buttons are other ones now
        done, planned = snapshot.progress.ratings, snapshot.progress.planned
        st.progress(min(1.0, done / planned) if planned else 0.0, escape_markdown(headline(campaign, snapshot)))

    campaign_data.live(line, campaign)


def headline(campaign: Campaign, snapshot: CampaignSnapshot) -> str:
    """Return the progress in one line."""
    p = snapshot.progress
    parts = [f"{p.ratings:,} of {format_count(p.planned, 'rating')}"]
    if p.ratings:
        parts.append(f"{format_percent(snapshot.complete_share)} of units complete")
    if campaign.state == "finished" or not snapshot.ratings_left:
        return " · ".join([*parts, "all ratings are there"] if not snapshot.ratings_left else parts)
    if snapshot.design.finish_by is not None:
        parts.append(f"deadline {snapshot.design.finish_by:%d %b %Y}")
    parts.append(f"about {format_duration(snapshot.hours_left * 3600)} of work left")
    if campaign.state == "running" and p.done_by is not None:
        parts.append(f"done by {p.done_by:%a} {p.done_by.day} {p.done_by:%b} at this pace")
    elif campaign.state == "running" and p.per_day is not None:
        parts.append(f"no rating in the last {PACE_DAYS} days")
    elif campaign.state == "running":
        parts.append("the pace is known one hour after the first rating")
    return " · ".join(parts)


def _buttons(campaign: Campaign, is_complete: bool) -> None:
    """Draw the buttons that fit the state. The one that continues the work is primary."""
    can_finish = campaign.state in ("running", "paused")
    if campaign.state == "draft":
        campaign_list.continue_button(campaign)
        _change(
            campaign, "Start", "running", ":material/play_arrow:", "Annotators can label from now on.", primary=True
        )
    elif campaign.state == "finished":
        _results_button(campaign)
        _change(campaign, "Reopen", "running", ":material/lock_open:", "Annotators can label and change labels again.")
    if can_finish and is_complete:
        _change(campaign, "Finish now", "finished", ":material/flag:", f"All ratings are there. {CLOSED}", primary=True)
    if campaign.state == "running":
        _change(campaign, "Pause", "paused", ":material/pause:", "No new units are given. Open ones can be submitted.")
    elif campaign.state == "paused":
        _change(
            campaign, "Resume", "running", ":material/play_arrow:", "Annotators can label again.",
            primary=not is_complete,
        )  # fmt: skip
    if can_finish and not is_complete:
        with st.popover("Finish", icon=":material/flag:", key=f"campaign-ask-finish-{campaign.id}"):
            st.markdown(f"**Some ratings are missing.** {CLOSED}")
            _change(campaign, "Finish campaign", "finished", ":material/flag:", "", primary=True)
    page.ask_first(
        "Delete",
        f"**Delete {escape_markdown(campaign.name)} with all its labels, decisions and links?** This cannot be undone. The "
        "texts of the project stay. To keep the labels, export them first.",
        "Delete campaign", partial(_delete, campaign), f"campaign-delete-{campaign.id}", icon=":material/delete:",
    )  # fmt: skip


def _change(
    campaign: Campaign, label: str, state: CampaignState, icon: str, help: str, *, primary: bool = False
) -> None:
    kind, key = "primary" if primary else "secondary", f"campaign-{state}-{campaign.id}"
    if st.button(label, icon=icon, key=key, help=help or None, type=kind):  # type: ignore[arg-type]
        wiring.store().campaigns.set_state(campaign.id, state)
        campaign_data.changed(campaign)
        st.rerun()


def _results_button(campaign: Campaign) -> None:
    """Draw the button that opens the results, unless they are open."""
    key = campaign_data.screen_key(campaign)

    def show() -> None:
        st.session_state[key] = campaign_data.RESULTS

    if st.session_state.get(key) != campaign_data.RESULTS:
        st.button(
            "See results", type="primary", icon=":material/leaderboard:", on_click=show,
            key=f"campaign-results-{campaign.id}",
        )  # fmt: skip


def _delete(campaign: Campaign) -> None:
    wiring.store().campaigns.delete(campaign.id)
    campaign_data.go()
    wiring.changed(campaign.project_id)


SCREENS: Mapping[str, Callable[[Project, Campaign], None]] = {
    "Progress": progress_tab.draw_progress,
    "People": people_tab.draw_people,
    "Quality": quality_tab.draw_quality,
    campaign_data.DECISIONS: decisions.draw_decisions,
    campaign_data.RESULTS: results_tab.draw_results,
}
NAMED = ("People", "Quality")
"""The screens that name the annotators."""


def draw_campaign(project: Project, campaign: Campaign) -> None:
    """Draw the campaign with one of its screens."""
    shown = [name for name in SCREENS if name not in NAMED or campaign_data.sees_people(campaign)]
    decides = wiring.identity().role(campaign.project_id) == "adjudicator"
    head = st.container()
    screen = page.choose_tab(
        "Screen", shown, campaign_data.screen_key(campaign), campaign_data.DECISIONS if decides else shown[0]
    )
    with head:
        draw_campaign_head(campaign)
    with errors.boundary():
        SCREENS[screen](project, campaign)
