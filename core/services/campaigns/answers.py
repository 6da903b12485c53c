"""What the people of a campaign have labelled, unit by unit: the basis of progress, quality control and results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from core.campaigns.submitted import UnitJudgement
from core.data import OutputKey, SegmentKey
from core.ports.campaigns import Campaign, CampaignUnit, Participant
from core.ports.store import Store

PART = "0"
"""The segment id of every unit: each unit is a document of its own in the texts project."""


def key_of(unit: str) -> SegmentKey:
    """Return the segment of a unit in the texts project, from its name."""
    return SegmentKey(unit, PART)


class CampaignLabels(NamedTuple):
    """All labels of a campaign, those of each person from one reading of the log: numbers that are shown together are computed from one of these.

    `answers` are those of participants, in the order in which the units were assigned. `decisions` are the submitted ones by name of the unit; of
    several, the last.
    """

    participants: tuple[Participant, ...]
    answers: tuple[UnitJudgement, ...]
    decisions: Mapping[str, UnitJudgement]


def read_labels(store: Store, campaign: Campaign) -> CampaignLabels:
    """Return the labels of a campaign as they are now."""
    # Raters are read first: people join before they label, so nobody's labels can be taken for those of somebody who only decides.
    raters = store.labels.raters(campaign.texts)
    assigned = store.campaigns.assignments(campaign.id)
    people = {p.id: p for p in store.campaigns.participants(campaign.id)}
    labels = {p.rater: store.labels.of_rater(campaign.texts, p.rater) for p in people.values()}
    given = [(people[a.participant_id], a) for a in assigned]
    others = [store.labels.of_rater(campaign.texts, who) for who in raters if who not in labels]
    units = {key_of(u.name): u for u in store.campaigns.units(campaign.id)}
    decided = sorted((of for mine in others for of in mine.values() if of.labels.submitted), key=lambda of: of.last)
    return CampaignLabels(
        tuple(people.values()),
        tuple(
            UnitJudgement(p.rater, a.unit, of.labels, of.began, of.ended, p.id, a.submitted, bool(p.excluded))
            for p, a in given
            if (of := labels[p.rater].get(key_of(a.unit.name))) is not None
        ),
        {
            of.segment.doc_id: UnitJudgement(of.rater, units[of.segment], of.labels, of.began, of.ended)
            for of in decided
        },
    )


def output_key(unit: CampaignUnit, system: str) -> OutputKey:
    """Return the output of the project that a unit shows."""
    return OutputKey(system, *unit.of)
