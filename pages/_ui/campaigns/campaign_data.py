"""Which campaign is open, and the data of its screens, up to 20 s old."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import streamlit as st

from core.campaigns.design import design_from_json
from core.campaigns.handing_over import ListRest
from core.ports.campaigns import Campaign, Participant
from core.services.campaigns import people
from core.services.campaigns.decisions import LEAST, DisputedUnit, queue, to_decide
from core.services.campaigns.monitor import CampaignSnapshot, snapshot
from core.settings import load_settings
from pages._ui.shared import errors, state, wiring

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


def current(campaign: Campaign) -> CampaignSnapshot:
    """Return the state of the campaign."""
    return _snapshot(load_settings().database, campaign.id, campaign.state, version(campaign), _campaign=campaign)


@st.cache_resource(max_entries=8, ttl=20, show_spinner="Reading the campaign …")
def _snapshot(
    database: str, campaign_id: int, state: str, version: Hashable, *, _campaign: Campaign
) -> CampaignSnapshot:
    return snapshot(wiring.store(), _campaign)


def disputes(campaign: Campaign) -> list[DisputedUnit]:
    """Return the units on which raters disagree, those without a decision first."""
    if not wiring.identity().may_read(campaign.project_id):
        return []
    return _disputes(load_settings().database, campaign.id, version(campaign), _campaign=campaign)


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


@st.cache_resource(max_entries=8, ttl=600, show_spinner="Comparing the labels …")
def _disputes(database: str, campaign_id: int, version: Hashable, *, _campaign: Campaign) -> list[DisputedUnit]:
    return queue(wiring.store(), _campaign, current(_campaign).labels)


def rests(campaign: Campaign) -> Mapping[int, ListRest]:
    """Return by participant what is left of fixed lists; nothing in other campaigns."""
    return _rests(load_settings().database, campaign.id, version(campaign), _campaign=campaign)


@st.cache_resource(max_entries=8, ttl=20, show_spinner=False)
def _rests(database: str, campaign_id: int, version: Hashable, *, _campaign: Campaign) -> Mapping[int, ListRest]:
    return people.rests(wiring.store(), _campaign)


def hand_over_preview(campaign: Campaign, participant_id: int, to: int | None) -> people.HandOverPreview:
    """Return what would move from somebody's list to another person, or to all others."""
    return _preview(load_settings().database, campaign.id, version(campaign), participant_id, to, _campaign=campaign)


@st.cache_resource(max_entries=64, ttl=20, show_spinner=False)
def _preview(
    database: str, campaign_id: int, version: Hashable, participant_id: int, to: int | None, *, _campaign: Campaign
) -> people.HandOverPreview:
    return people.preview(wiring.store(), _campaign, participant_id, to)


def changed() -> None:
    """Discard what is kept, after a change that `version` does not show, such as of the systems."""
    for kept in (_snapshot, _rests, _preview):
        kept.clear()


def live(draw: Callable[[Campaign], None], campaign: Campaign) -> None:
    """Draw a part of a page that refreshes itself while the campaign runs."""
    every = EVERY if campaign.state == "running" else None
    st.fragment(run_every=every)(errors.guarded(draw))(campaign)


CAMPAIGN, STEP = "campaign", "step"
NEW, IMPORT, RATINGS = "new", "import", "ratings"


def opened() -> tuple[str | None, str | None]:
    """Return the open campaign (its id, `NEW` for the set-up, `IMPORT`, `RATINGS`, or None for the list) and the open step. For pages."""
    return st.query_params.get(CAMPAIGN), st.query_params.get(STEP)


def open_campaign(campaign_id: int) -> None:
    """Open a campaign in the next run."""
    state.change_address(campaign=str(campaign_id), step=None, tab=None)


def open_step(step: str, draft_id: int | None = None) -> None:
    """Open a step of the set-up of a new campaign, or of a draft, in the next run."""
    state.change_address(campaign=NEW if draft_id is None else str(draft_id), step=step, tab=None)


def open_import() -> None:
    """Open the import of a finished campaign in the next run."""
    state.change_address(campaign=IMPORT, step=None, tab=None)


def open_ratings() -> None:
    """Open the results of ratings outside campaigns in the next run."""
    state.change_address(campaign=RATINGS, step=None, tab=None)


def open_list() -> None:
    """Open the list of campaigns in the next run."""
    state.change_address(campaign=None, step=None, tab=None)
