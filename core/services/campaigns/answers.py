"""What the people of a campaign have labelled, unit by unit: the basis of progress, quality control and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from core.data import OutputKey, SegmentKey
from core.mqm.log import SegmentLabels, fold_segment
from core.ports.campaigns import Assignment, Campaign, CampaignUnit, Participant
from core.ports.labels import Event
from core.ports.store import Store

PART = "0"
"""The segment id of every unit: each unit is a document of its own in the texts project."""


def key_of(unit: str) -> SegmentKey:
    """Return the segment of a unit in the texts project, from its name."""
    return SegmentKey(unit, PART)


class Answer(NamedTuple):
    """The labels of one participant on one unit, submitted or not. `began` and `ended` are the times of the first and last action."""

    participant: Participant
    unit: CampaignUnit
    assignment: Assignment
    labels: SegmentLabels
    began: datetime
    ended: datetime

    @property
    def counts(self) -> bool:
        """Return whether the answer is part of the results."""
        return (
            self.unit.kind == "item"
            and self.labels.submitted
            and not self.labels.declined
            and not self.participant.excluded
        )


def answers(store: Store, campaign: Campaign) -> list[Answer]:
    """Return all labels of participants, in the order in which the units were assigned to them."""
    people = {p.id: p for p in store.campaigns.participants(campaign.id)}
    by_place = _by_place(store.labels.events(campaign.texts))
    found = []
    for given in store.campaigns.assignments(campaign.id):
        participant = people[given.participant_id]
        if events := by_place.get((participant.rater, given.unit.name)):
            found.append(_answer(participant, given, events))
    return found


class Decision(NamedTuple):
    """What somebody who is no participant has decided on a unit, for all raters of it."""

    who: str
    labels: SegmentLabels


def decisions(store: Store, campaign: Campaign) -> dict[str, Decision]:
    """Return the submitted decisions by name of the unit; of several, the last."""
    raters = {p.rater for p in store.campaigns.participants(campaign.id)}
    deciding = [name for name in store.labels.raters(campaign.texts) if name not in raters]
    others = [event for name in deciding for event in store.labels.events(campaign.texts, rater=name)]
    folded = [
        (events[-1].number, unit, Decision(who, fold_segment(events)))
        for (who, unit), events in _by_place(others).items()
    ]
    return {unit: made for _, unit, made in sorted(folded, key=lambda f: f[0]) if made.labels.submitted}


def _answer(participant: Participant, given: Assignment, events: Sequence[Event]) -> Answer:
    return Answer(participant, given.unit, given, fold_segment(events), events[0].time, events[-1].time)


def _by_place(events: Iterable[Event]) -> Mapping[tuple[str, str], list[Event]]:
    found: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        found.setdefault((event.rater, event.segment.doc_id), []).append(event)
    return found


def output_key(unit: CampaignUnit, system: str) -> OutputKey:
    """Return the output of the project that a unit shows."""
    return OutputKey(system, *unit.of)
