"""Decisions on units on which raters disagree: who may decide, what the editor shows, and the log of decisions."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from core.campaigns.design import design_from_json
from core.campaigns.protocol import ProtocolName
from core.data import SegmentKey, grouped
from core.mqm.schemes import GOOGLE
from core.mqm.scores import errors_of, rater_penalty
from core.ports.campaigns import Campaign, CampaignUnit
from core.ports.labels import Action, ActionKind, Ask, SegmentLabels
from core.ports.people import Identity
from core.ports.store import Store
from core.services.campaigns.answers import CampaignLabels, key_of, read_labels
from core.services.campaigns.work import in_context
from core.services.labels.editor import editor_data
from core.services.labels.labels import open_segment, shown_order
from core.stats.raters.rater_agreement import Disagreement, disagreement

HALF_OF_SCORE = 25.0
"""A difference of so many points of 100 counts as half a disagreement."""


LEAST: Mapping[ProtocolName, float] = {"esa": 0.15, "cesa": 0.15, "da": 0.3, "mqm": 0.5, "pairwise": 1.0}
"""The disagreement from which on a unit is to be decided, by protocol. It is that of scores about 10 of 100 points apart, of two raters who
mark the same errors where they mark any; of MQM, that of one rater who marks an error and one who marks none, or another one."""


class DisputedUnit(NamedTuple):
    """A unit with the answers of its raters, in random order without names.

    `by_system` has the disagreement on each output, `size` in [0, 1] the largest of them; 1 if raters prefer different outputs.
    `decided_by` is "" while there is no decision.
    """

    unit: CampaignUnit
    versions: tuple[SegmentLabels, ...]
    by_system: Mapping[str, Disagreement]
    size: float
    decided_by: str = ""


def queue(store: Store, campaign: Campaign, known_labels: CampaignLabels | None = None) -> list[DisputedUnit]:
    """Return the units on which raters disagree, the largest disagreement first. A decision does not move a unit."""
    asks = design_from_json(campaign.design).protocol.asks
    labels = read_labels(store, campaign) if known_labels is None else known_labels
    decided = labels.decisions
    disputed = []
    for name, of in grouped((a.unit.name, a) for a in labels.answers if a.counts).items():
        mixed = sorted(of, key=lambda a: hashlib.sha256(f"{name}/{a.participant_id}".encode()).digest())
        versions = tuple(a.labels for a in mixed)
        by_system = {system: _disagreement(system, versions, asks) for system in of[0].unit.systems}
        sizes = [d.value or 0.0 for d in by_system.values()]
        if "preference" in asks:
            sizes = [float(len({v.preference for v in versions}) > 1)]
        who = decided[name].rater if name in decided else ""
        if len(of) > 1 and (max(sizes) > 0 or who):
            disputed.append(DisputedUnit(of[0].unit, versions, by_system, max(sizes), who))
    return sorted(disputed, key=lambda d: -d.size)


def to_decide(disputed: Sequence[DisputedUnit], least: float) -> list[DisputedUnit]:
    """Return the units with at least this disagreement, and those that are decided already."""
    return [d for d in disputed if d.size >= least or d.decided_by]


def _disagreement(system: str, versions: Sequence[SegmentLabels], asks: Collection[Ask]) -> Disagreement:
    of = [v.of(system) for v in versions]
    marks = [[m.span for m in o.marks if m.span.side == "output"] for o in of] if "spans" in asks else []
    length = max((span.end for spans in marks for span in spans), default=0)
    if "score" in asks:
        return disagreement([o.score or 0.0 for o in of], marks, length, half=HALF_OF_SCORE)
    return disagreement([rater_penalty(errors_of(o), GOOGLE) for o in of], marks, length)


def take_version(store: Store, campaign: Campaign, who: str, unit: CampaignUnit, version: SegmentLabels) -> None:
    """Make a copy of a rater's labels the beginning of a decision, in place of what the person has marked so far."""
    key = key_of(unit.name)
    now = open_segment(store, campaign.texts, who, key, unit.systems).labels
    actions: list[Action] = []

    def add(kind: ActionKind, system: str | None, **payload: object) -> None:
        actions.append(Action(f"decision-{secrets.token_hex(8)}", kind, system, payload))

    for system in unit.systems:
        for mark in now.of(system).marks:
            add("delete", system, mark=mark.id)
        target = version.of(system)
        if now.of(system).verdict is not None and target.verdict is None:
            add("verdict", system, value=None)
        for mark in target.marks:
            add("add", system, mark=f"d{secrets.token_hex(8)}", **asdict(mark.span))
        if target.verdict is not None:
            add("verdict", system, value=target.verdict)
        if target.score != now.of(system).score:
            add("score", system, value=target.score)
    if version.preference:
        add("prefer", None, winner=version.preference[0])
    elif now.preference:
        add("prefer", None)
    if now.declined:
        add("decline", None, reason="")
    store.labels.append(campaign.texts, who, key, actions)


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
