"""Who may decide on a unit of a campaign, and what the editor shows for a decision."""

from __future__ import annotations

import hashlib
from typing import Any

from core.campaigns.design import design_from_json
from core.data import SegmentKey
from core.ports.campaigns import Campaign, CampaignUnit
from core.ports.people import Identity
from core.ports.store import Store
from core.services.campaigns.answers import key_of
from core.services.campaigns.working import in_context
from core.services.labels.exchange import editor_data
from core.services.labels.labels import open_segment, shown_order


def is_participant(store: Store, campaign: Campaign, rater: str) -> bool:
    """Return whether labels under this name are those of an annotator of the campaign, so that they cannot be decisions."""
    return any(p.rater == rater for p in store.campaigns.participants(campaign.id))


def may_decide(store: Store, campaign: Campaign, who: Identity, segment: SegmentKey) -> bool:
    """Return whether labels of a unit by this person are a decision: of managers and adjudicators who do not label in the campaign.

    Decisions are possible after the end of the campaign too.
    """
    if who.role(campaign.project_id) not in ("manager", "adjudicator") or who.link is not None:
        return False
    if who.rater is not None and is_participant(store, campaign, who.rater):
        return False
    return any(u.kind == "item" and key_of(u.name) == segment for u in store.campaigns.units(campaign.id))


def decision_page(store: Store, campaign: Campaign, rater: str, unit: CampaignUnit, *, more: bool) -> dict[str, Any]:
    """Return the data of the editor for a decision. `more`: another unit waits. Outputs are in random order, without names."""
    key = key_of(unit.name)
    opened = open_segment(store, campaign.texts, rater, key, unit.systems)
    return editor_data(
        in_context(store, campaign, unit), campaign.texts, rater, key, shown_order(opened.labels, unit.systems), opened,
        more=more, protocol=design_from_json(campaign.design).protocol,
    )  # fmt: skip


def anonymous_order(unit: CampaignUnit) -> list[str]:
    """Return the systems of a unit in an order that says nothing, for people who read without deciding."""
    return sorted(unit.systems, key=lambda s: hashlib.sha256(f"{unit.name}/{s}".encode()).digest())
