"""The campaigns in which somebody with an account takes part, as that person may see them."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple

from core.campaigns.design import design_from_json
from core.formatting import format_count
from core.ports.campaigns import Campaign, CampaignState
from core.ports.people import Identity
from core.ports.store import Store

_WAITS: dict[CampaignState, str] = {"draft": "not started yet", "paused": "paused", "finished": "finished, thank you"}


class OwnCampaign(NamedTuple):
    """One of these campaigns, with the title and the deadline that annotators see."""

    texts: int
    title: str
    created: datetime
    state: CampaignState
    submitted: int
    finish_by: date | None = None

    @property
    def opens(self) -> bool:
        """Return whether the annotator's page can be opened: not before the start."""
        return self.state != "draft"

    @property
    def says(self) -> str:
        """Return the state in words."""
        waits = _WAITS.get(self.state, "")
        done = f"{format_count(self.submitted, 'unit')} submitted" if self.opens else ""
        return ", ".join(part for part in (waits, done) if part)


def campaigns(store: Store, who: Identity, *, count: bool = True) -> list[OwnCampaign]:
    """Return the campaigns of this person, those that run first, then the newest first.

    `count` what is submitted: not with storage as pages have it, which shows no annotator the assignments.
    """
    found = []
    for texts in who.campaigns:
        campaign = store.campaigns.of_texts(texts)
        if campaign is None or who.rater is None:
            continue
        submitted = _submitted(store, campaign, who.rater) if count else 0
        design = design_from_json(campaign.design)
        found.append(
            OwnCampaign(texts, design.shown_title, campaign.created, campaign.state, submitted, design.finish_by)
        )
    return sorted(found, key=lambda c: (c.state != "running", -c.created.timestamp()))


def _submitted(store: Store, campaign: Campaign, rater: str) -> int:
    me = next((p for p in store.campaigns.participants(campaign.id) if p.rater == rater), None)
    mine = store.campaigns.assignments(campaign.id, me.id) if me else []
    return sum(a.state == "submitted" for a in mine)
