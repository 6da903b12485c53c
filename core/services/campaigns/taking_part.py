"""The campaigns in which somebody with an account takes part, as that person may see them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple

from core.campaigns.design import CampaignDesign, design_from_json
from core.formatting import format_count
from core.ports.campaigns import Assignment, Campaign, CampaignState, Participant
from core.ports.people import Identity
from core.ports.store import Store

_WAITS: dict[CampaignState, str] = {"draft": "not started yet", "paused": "paused", "finished": "finished, thank you"}


class OwnCampaign(NamedTuple):
    """One of these campaigns, with the title and the deadline that annotators see.

    `has_work` says whether the person has something to label now, or may get something.
    """

    texts: int
    title: str
    created: datetime
    state: CampaignState
    submitted: int
    finish_by: date | None = None
    has_work: bool = True

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


def campaigns(store: Store, who: Identity) -> list[OwnCampaign]:
    """Return the campaigns of this person, those that run first, then the newest first. `store` is storage for the tasks of the person."""
    found = []
    for texts in who.campaigns:
        campaign = store.campaigns.of_texts(texts)
        if campaign is None or who.rater is None:
            continue
        design = design_from_json(campaign.design)
        me = next((p for p in store.campaigns.participants(campaign.id) if p.rater == who.rater), None)
        mine = store.campaigns.assignments(campaign.id, me.id) if me else []
        submitted = sum(a.state == "submitted" for a in mine)
        has_work = (
            me is None or any(a.state == "assigned" for a in mine) or _gets_more(store, campaign, design, me, mine)
        )
        found.append(
            OwnCampaign(
                texts,
                design.shown_title,
                campaign.created,
                campaign.state,
                submitted,
                design.finish_by,
                has_work and campaign.state != "finished",
            )  # fmt: skip
        )
    return sorted(found, key=lambda c: (c.state != "running", -c.created.timestamp()))


def _gets_more(
    store: Store, campaign: Campaign, design: CampaignDesign, me: Participant, mine: Sequence[Assignment]
) -> bool:
    """Return whether a participant who has submitted everything gets more units."""
    if me.left or me.excluded or me.passed_tutorial is False:
        return False
    rated = sum(a.unit.kind == "item" for a in mine)
    if design.assigning == "fixed":
        return rated == 0
    rest = store.campaigns.remaining_work(campaign.id)
    return rest.ratings < rest.units * design.overlap and rated < rest.units
