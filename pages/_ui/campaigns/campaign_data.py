"""Which campaign is open, the data of its screens, up to 20 s old, and the work that waits for the person of this session."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Literal

import streamlit as st

from core.campaigns.design import design_from_json
from core.campaigns.fixed_lists import ListRest
from core.formatting import format_count
from core.ports.campaigns import Campaign, Participant
from core.ports.projects import Project
from core.services.campaigns import people
from core.services.campaigns.decisions import LEAST, DisputedUnit, queue, to_decide
from core.services.campaigns.monitor import CampaignSnapshot, snapshot
from core.settings import load_settings
from pages._ui.shared import errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown

EVERY = 30
"""Seconds between two readings of a running campaign."""
DECISIONS = "Disagreements"
"""The screen on which adjudicators decide."""
RESULTS = "Results"
"""The screen with the results."""
Version = tuple[tuple[Participant, ...], int]


def screen_key(campaign: Campaign) -> str:
    """Return the key of the open screen of a campaign."""
    return f"campaign-screen-{campaign.id}"


def manages(campaign: Campaign) -> bool:
    """Return whether the person may change the campaign."""
    return wiring.may_change(campaign.project_id)


def sees_people(campaign: Campaign) -> bool:
    """Return whether the person may see who labelled what: not adjudicators, who decide without names."""
    return wiring.identity().role(campaign.project_id) in ("manager", "viewer")


def version(campaign: Campaign) -> Version:
    """Return a value that changes with every label and with every change of a participant."""
    store = wiring.store()
    return tuple(store.campaigns.participants(campaign.id)), store.labels.newest(campaign.texts)


@st.cache_resource
def _changes() -> dict[int, int]:
    """Return how often each campaign has changed in ways that `version` does not show."""
    return {}


def changed(campaign: Campaign) -> None:
    """Discard what is kept, after a change that `version` does not show, such as of the systems."""
    _changes()[campaign.id] = _changes().get(campaign.id, 0) + 1


def _key(campaign: Campaign) -> tuple[Hashable, ...]:
    database, changes = load_settings().database, _changes().get(campaign.id, 0)
    return database, campaign.id, campaign.state, changes, version(campaign)


@wiring.cached(_key, 8, seconds=20, spinner="Reading the campaign …")
def current(campaign: Campaign) -> CampaignSnapshot:
    """Return the state of the campaign."""
    return snapshot(wiring.store(), campaign)


def usual_least(campaign: Campaign) -> float:
    """Return the disagreement from which on the protocol has units decided, in [0, 1]."""
    return LEAST[design_from_json(campaign.design).protocol.name]


def least_key(campaign: Campaign) -> str:
    """Return the key of the disagreement that was chosen instead, if one was."""
    return f"campaign-least-chosen-{campaign.id}"


def units_to_decide(campaign: Campaign) -> list[DisputedUnit]:
    """Return the units whose disagreement is large enough, and those that are decided."""
    least = st.session_state.get(least_key(campaign), usual_least(campaign))
    return to_decide(disputes(campaign), least)


def disputes(campaign: Campaign) -> list[DisputedUnit]:
    """Return the units on which raters disagree, those without a decision first."""
    return _disputes(campaign) if wiring.identity().may_read(campaign.project_id) else []


@wiring.cached(_key, 8, seconds=600, spinner="Comparing the labels …")
def _disputes(campaign: Campaign) -> list[DisputedUnit]:
    return queue(wiring.store(), campaign, current(campaign).labels)


@wiring.cached(_key, 8, seconds=20)
def rests(campaign: Campaign) -> Mapping[int, ListRest]:
    """Return by participant what is left of fixed lists; nothing in other campaigns."""
    return people.rests(wiring.store(), campaign)


@wiring.cached(_key, 64, seconds=20)
def hand_over_preview(campaign: Campaign, participant_id: int, to: int | None) -> people.HandOverPreview:
    """Return what would move from somebody's list to another person, or to all others."""
    return people.preview(wiring.store(), campaign, participant_id, to)


def live(draw: Callable[[Campaign], None], campaign: Campaign) -> None:
    """Draw a part of a page that refreshes itself while the campaign runs."""
    every = EVERY if campaign.state == "running" else None
    st.fragment(run_every=every)(errors.guarded(draw))(campaign)


CAMPAIGN, STEP = "campaign", "step"
NEW, IMPORT, RATINGS = "new", "import", "ratings"


def opened() -> tuple[str | None, str | None]:
    """Return the open campaign (its id, `NEW` for the set-up, `IMPORT`, `RATINGS`, or None for the list) and the open step. For pages."""
    return st.query_params.get(CAMPAIGN), st.query_params.get(STEP)


def go(campaign: object = None, step: str | None = None) -> None:
    """Open a campaign (its id, or one of the names that `opened` returns) or the list in the next run, and a step of its set-up."""
    state.change_address(campaign=None if campaign is None else str(campaign), step=step, tab=None)


def back_button(on_click: Callable[..., None] = go, **options: Any) -> None:
    """Draw the button that opens the list of campaigns."""
    st.button("All campaigns", icon=":material/arrow_back:", on_click=on_click, type="tertiary", **options)


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
        paused = " · paused" if mine.state == "paused" else ""
        until = f" · finish by {mine.finish_by:%d %b %Y}" if mine.finish_by else ""
        done = "" if mine.has_work else f" · all done, {format_count(mine.submitted, 'unit')} submitted"
        words = f"**You annotate: {escape_markdown(mine.title)}** · since {page.day(mine.created)}{until}{paused}{done}"
        with page.row(words):
            label, look = CONTINUE if mine.has_work else OPEN
            st.link_button(label, wiring.address(f"tasks/{mine.texts}"), type=look)


def _decisions(project: Project, campaign: Campaign) -> None:
    """Draw how many units wait for a decision, with the way to them."""
    if campaign.state == "draft" or wiring.identity().takes_part(campaign.texts):
        return
    left = sum(not unit.decided_by for unit in units_to_decide(campaign))
    if not left:
        return
    name, of = escape_markdown(campaign.name), escape_markdown(project.name)
    with page.row(f"**{format_count(left, 'unit')} to decide** · {name} · {of}"):
        if st.button("Decide", type="primary", key=f"campaign-decide-{campaign.id}", help=f"Open {name}"):
            st.session_state[screen_key(campaign)] = DECISIONS
            to = {state.PROJECT: str(project.id), CAMPAIGN: str(campaign.id)}
            st.switch_page("pages/campaigns.py", query_params=to)


def hides(campaign: Campaign) -> bool:
    """Say that the screens of a campaign are hidden from its annotators, and return True, if that is so."""
    takes_part = wiring.identity().takes_part(campaign.texts)
    if not takes_part or manages(campaign) or campaign.state == "finished":
        return False
    page.info("You annotate in this campaign, so labels and results of others are hidden here until it is finished.")
    return True
