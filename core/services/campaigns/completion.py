"""How much of a campaign is done, from its assignments alone: fast enough for lists."""

from __future__ import annotations

from typing import NamedTuple

from core.campaigns.design import design_from_json
from core.ports.campaigns import Campaign
from core.ports.store import Store


class Completion(NamedTuple):
    """`ratings` of `wanted` are submitted by distinct raters. `people` have joined."""

    ratings: int
    wanted: int
    people: int

    @property
    def share(self) -> float:
        return min(1.0, self.ratings / self.wanted) if self.wanted else 0.0


def completion(store: Store, campaign: Campaign) -> Completion:
    """Return how much of a campaign is done."""
    overlap = design_from_json(campaign.design).overlap
    items = sum(u.kind == "item" and not u.retired for u in store.campaigns.units(campaign.id))
    done = sum(
        a.state == "submitted" and a.slot is not None and a.unit.kind == "item" and not a.unit.retired
        for a in store.campaigns.assignments(campaign.id)
    )
    return Completion(done, items * overlap, len(store.campaigns.participants(campaign.id)))
