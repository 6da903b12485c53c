"""Results of campaigns as labels and judgements of their project, where Compare, Meta-evaluation, Calibrate λ, agreement and exports
find them beside the labels of the page Annotate.

Only submitted units of participants who are not excluded count; checks, repeats and tutorials do not. A decision of the
adjudication replaces the labels of the raters. Raters are named with their campaign: "Ana (pilot)".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from core.campaigns.design import design_from_json
from core.campaigns.protocol import Protocol
from core.campaigns.submitted import UnitJudgement
from core.data import Judgement, OutputKey, SegmentKey, grouped
from core.ports.campaigns import Campaign, CampaignUnit
from core.ports.labels import SegmentLabels
from core.ports.store import Store
from core.services.campaigns.answers import CampaignLabels, output_key, read_labels
from core.stats.means import decimal_mean


def counted_labels(given: CampaignLabels) -> list[UnitJudgement]:
    """Return the labels that count, with decisions in place of what they decide. The rater of a decision says so, and has the name of no participant."""
    taken = {p.rater for p in given.participants}
    return [a for a in given.answers if a.counts and a.unit.name not in given.decisions] + [
        made._replace(rater=_decision_name(made.rater, taken)) for made in given.decisions.values()
    ]


def _decision_name(who: str, taken: Collection[str]) -> str:
    name = f"{who}, decision"
    while name in taken:
        name += " of a disagreement"
    return name


def labels(store: Store, project_id: int) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    """Return the error spans of all campaigns of a project, by rater and segment."""
    found: dict[tuple[str, SegmentKey], SegmentLabels] = {}
    for campaign in store.campaigns.list(project_id):
        found |= labels_of(store, campaign)
    return found


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
    given = list(parts)
    outputs = {system: of for part in given for system, of in part.outputs.items()}
    drafts = frozenset(system for part in given for system in part.drafts)
    return SegmentLabels(
        outputs, submitted=True, asks=given[0].asks, seconds=sum(part.seconds for part in given), drafts=drafts
    )


def judgements(store: Store, project_id: int) -> list[Judgement]:
    """Return the scores of all campaigns of a project: those of ESA and direct assessment, 0 to 100, and the share of comparisons
    that an output won, 0 to 1, ties counted half.
    """
    return [j for campaign in store.campaigns.list(project_id) for j in judgements_of(store, campaign)]


def judgements_of(store: Store, campaign: Campaign) -> list[Judgement]:
    protocol = design_from_json(campaign.design).protocol
    name = f"{protocol.human_score} ({campaign.name})"
    values: dict[tuple[OutputKey, str], list[float]] = {}
    for one in counted_labels(read_labels(store, campaign)):
        for system, value in _scores(protocol, one.unit, one.labels).items():
            values.setdefault((output_key(one.unit, system), f"{one.rater} ({campaign.name})"), []).append(value)
    return [Judgement(key, rater, name, decimal_mean(given)) for (key, rater), given in values.items()]


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
