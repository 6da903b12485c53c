"""What the people of a campaign have labelled, unit by unit: the basis of progress, quality control and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


class Decision(NamedTuple):
    """An adjudicator's decision on a unit; it replaces the raters' labels."""

    who: str
    unit: CampaignUnit
    labels: SegmentLabels


class CampaignLabels(NamedTuple):
    """All labels of a campaign from one reading of the log: numbers that are shown together are computed from one of these.

    `answers` are in the order in which the units were assigned. `decisions` are the submitted ones by name of the unit; of several, the last.
    """

    participants: tuple[Participant, ...]
    answers: tuple[Answer, ...]
    decisions: Mapping[str, Decision]


def read_labels(store: Store, campaign: Campaign) -> CampaignLabels:
    """Return the labels of a campaign as they are now."""
    # The log is read first: people join before they label, so nobody's labels can be taken for those of somebody who only decides.
    by_place = _by_place(store.labels.events(campaign.texts))
    assigned = store.campaigns.assignments(campaign.id)
    units = {u.name: u for u in store.campaigns.units(campaign.id)}
    people = {p.id: p for p in store.campaigns.participants(campaign.id)}
    given = [
        (people[a.participant_id], a, by_place.get((people[a.participant_id].rater, a.unit.name))) for a in assigned
    ]
    raters = {p.rater for p in people.values()}
    others = [(events[-1].number, who, name, events) for (who, name), events in by_place.items() if who not in raters]
    made = [Decision(who, units[name], fold_segment(of)) for _, who, name, of in sorted(others, key=lambda o: o[0])]
    return CampaignLabels(
        tuple(people.values()),
        tuple(Answer(p, a.unit, a, fold_segment(of), of[0].time, of[-1].time) for p, a, of in given if of),
        {decision.unit.name: decision for decision in made if decision.labels.submitted},
    )


def answers(store: Store, campaign: Campaign) -> tuple[Answer, ...]:
    """Return all labels of participants, in the order in which the units were assigned to them."""
    return read_labels(store, campaign).answers


def _by_place(events: Iterable[Event]) -> Mapping[tuple[str, str], list[Event]]:
    found: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        found.setdefault((event.rater, event.segment.doc_id), []).append(event)
    return found


def output_key(unit: CampaignUnit, system: str) -> OutputKey:
    """Return the output of the project that a unit shows."""
    return OutputKey(system, *unit.of)
