"""The labels of a campaign unit by unit, its results as labels and judgements of the project, and all labels and judgements of a project.

Only submitted units of participants who are not excluded count; checks, repeats and tutorials do not. A decision of the
adjudication replaces the labels of the raters. Raters are named with their campaign: "Ana (pilot)".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.protocol import Protocol
from core.campaigns.submitted import UnitJudgement
from core.data import Judgement, OutputKey, SegmentKey, grouped
from core.mqm.schemes import GOOGLE
from core.mqm.scores import errors_of, rater_penalty
from core.ports.campaigns import Campaign, CampaignUnit, Participant
from core.ports.labels import SegmentLabels
from core.ports.store import Store
from core.stats.means import decimal_mean

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
    with_events = [(people[a.participant_id], a) for a in assigned]
    others = [store.labels.of_rater(campaign.texts, who) for who in raters if who not in labels]
    units = {key_of(u.name): u for u in store.campaigns.units(campaign.id)}
    decided = sorted((of for mine in others for of in mine.values() if of.labels.submitted), key=lambda of: of.last)
    return CampaignLabels(
        tuple(people.values()),
        tuple(
            UnitJudgement(p.rater, a.unit, of.labels, of.began, of.ended, p.id, a.submitted, bool(p.excluded))
            for p, a in with_events
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


def counted_labels(campaign_labels: CampaignLabels) -> list[UnitJudgement]:
    """Return the labels that count, with decisions in place of what they decide. The rater of a decision says so, and has the name of no participant."""
    taken = {p.rater for p in campaign_labels.participants}
    return [a for a in campaign_labels.answers if a.counts and a.unit.name not in campaign_labels.decisions] + [
        made._replace(rater=_decision_name(made.rater, taken)) for made in campaign_labels.decisions.values()
    ]


def _decision_name(who: str, taken: Collection[str]) -> str:
    name = f"{who}, decision"
    while name in taken:
        name += " of a disagreement"
    return name


def labels(store: Store, project_id: int) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the error spans of all campaigns of a project, by rater and segment."""
    by_place: dict[tuple[str, SegmentKey], SegmentLabels] = {}
    for campaign in store.campaigns.list(project_id):
        by_place |= labels_of(store, campaign)
    return by_place


def all_labels(store: Store, project_id: int) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the labels of a project by rater and segment: those made on Annotate or imported, and the submitted ones of its campaigns."""
    own = sorted(store.labels.folded(project_id), key=lambda of: of.first)
    return {(of.rater, of.segment): of.labels for of in own} | labels(store, project_id)


def labels_of(store: Store, campaign: Campaign) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the error spans of a campaign, by rater and segment."""
    by_place = grouped(
        ((f"{one.rater} ({campaign.name})", one.unit.of), one.labels)
        for one in counted_labels(read_labels(store, campaign))
        if "spans" in one.labels.asks
    )
    return {place: _merged(of) for place, of in by_place.items()}


def _merged(parts: Iterable[SegmentLabels]) -> SegmentLabels:
    """Return the labels of several units of one segment by one rater as those of the segment."""
    all_parts = list(parts)
    outputs = {system: of for part in all_parts for system, of in part.outputs.items()}
    drafts = frozenset(system for part in all_parts for system in part.drafts)
    return SegmentLabels(
        outputs, submitted=True, asks=all_parts[0].asks, seconds=sum(part.seconds for part in all_parts), drafts=drafts
    )


def judgements(store: Store, project_id: int) -> list[Judgement]:
    """Return the numbers of all raters of a project: its own, then the scores of its campaigns.

    The scores of campaigns are those of ESA and direct assessment, 0 to 100, and the share of comparisons that an output won, 0 to 1,
    ties counted half.
    """
    of_campaigns = [j for campaign in store.campaigns.list(project_id) for j in judgements_of(store, campaign)]
    return store.labels.judgements(project_id) + of_campaigns


def judgements_of(store: Store, campaign: Campaign) -> list[Judgement]:
    protocol = design_from_json(campaign.design).protocol
    name = f"{protocol.human_score} ({campaign.name})"
    values: dict[tuple[OutputKey, str], list[float]] = {}
    for one in counted_labels(read_labels(store, campaign)):
        for system, value in _scores(protocol, one.unit, one.labels).items():
            values.setdefault((output_key(one.unit, system), f"{one.rater} ({campaign.name})"), []).append(value)
    return [Judgement(key, rater, name, decimal_mean(numbers)) for (key, rater), numbers in values.items()]


def _scores(protocol: Protocol, unit: CampaignUnit, labels: SegmentLabels) -> dict[str, float]:
    if "score" in protocol.asks:
        return {system: of.score for system, of in labels.outputs.items() if of.score is not None}
    if "preference" in protocol.asks and labels.preference:
        winner = labels.preference[0]
        return {system: 0.5 if winner is None else float(system == winner) for system in unit.systems}
    return {}


def preferences(counted: Iterable[UnitJudgement]) -> list[tuple[str, str, str | None, SegmentKey, str]]:
    """Return the pairwise preferences: both systems, the better one (None for a tie), the segment, and the rater."""
    return [
        (one.unit.systems[0], one.unit.systems[1], one.labels.preference[0], one.unit.of, one.rater)
        for one in counted
        if one.labels.preference
    ]


def values_of(design: CampaignDesign, unit: CampaignUnit, labels: SegmentLabels) -> dict[str, float]:
    """Return the value that a rater gave to each system of a unit; empty for preferences."""
    asks = design.protocol.asks
    if "score" in asks:
        return {s: of.score for s in unit.systems if (of := labels.of(s)).score is not None}
    if "spans" in asks:
        return {s: 0.0 - rater_penalty(errors_of(labels.of(s)), GOOGLE) for s in unit.systems}
    return {}
