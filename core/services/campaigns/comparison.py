"""The results of a campaign: system means, paired differences, effects of raters, preferences and agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from core.campaigns.assignment import inclusion_weights
from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.submitted import UnitJudgement
from core.data import SegmentKey
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.campaigns.answers import CampaignLabels, counted_labels, preferences, read_labels, values_of
from core.stats.bootstrap import Interval
from core.stats.campaign.campaign_scores import CampaignScore, Unit, WeightedMean, weighted_means
from core.stats.campaign.paired_differences import DRAWS, PairedDifference, compare_campaign_systems
from core.stats.campaign.preferences import PreferenceResult, PreferenceVote, preference_strengths
from core.stats.campaign.rater_effects import RaterEffects, rater_effects, standardised_scores
from core.stats.raters.rater_agreement import krippendorff_alpha, ratings

VERSION = "2"
"""To be raised with every change of the numbers."""
FEWEST_DOCUMENTS = 12
"""From so many documents on, whole documents are the units of tests and intervals where people rate blocks of one system."""


class CampaignBasis(NamedTuple):
    """What the results rest on. `weights` are the smallest and largest weight of an output, equal if all are alike.

    `excluded` has the reason by name of each excluded participant, `declined` counts units that raters could not judge.
    """

    ratings: int
    items: int
    documents: int
    raters: int
    systems: int
    adjudicated: int
    declined: int
    excluded: Mapping[str, str]
    weights: tuple[float, float]
    seed: int


class CampaignComparison(NamedTuple):
    """The comparison of the systems. `by` is the unit of resampling and of the tests. `measure` says what the numbers are.

    Of `means`, `standardised` and `votes`, those are empty that the protocol has no data for. `without_z` is the number of raters who have
    no z-scores, because they gave one score or always the same.
    """

    measure: str
    by: Unit
    basis: CampaignBasis
    means: tuple[WeightedMean, ...]
    differences: tuple[PairedDifference, ...]
    standardised: tuple[WeightedMean, ...]
    effects: RaterEffects | None
    votes: PreferenceResult | None
    agreement: Interval
    without_z: int = 0

    @property
    def signature(self) -> str:
        """Return how the numbers were computed."""
        b = self.basis
        kind = "bradley-terry" if self.votes else "weighted-means"
        return (
            f"campaign|{kind}|measure:{self.measure}|by:{self.by}|perm:{DRAWS}|ci:bootstrap|holm|n:{b.ratings}|items:{b.items}|"
            f"excluded:{len(b.excluded)}|adjudicated:{b.adjudicated}|seed:{b.seed}|v:{VERSION}"
        )


def default_unit(design: CampaignDesign, documents: int) -> Unit:
    """Return the unit of tests: documents, if people rate blocks of a single system, since a rater's severity then hits several
    segments of a document at once. Items, if all outputs are on one screen or documents are too few.
    """
    blocks = design.protocol.on_screen is not None and design.block_size > 1
    return "document" if blocks and documents >= FEWEST_DOCUMENTS else "item"


def scores(store: Store, campaign: Campaign, counted: Sequence[UnitJudgement]) -> list[CampaignScore]:
    """Return the scores that count, with their weights: 0 to 100, or with MQM the penalties as negative numbers, 0 is best."""
    design = design_from_json(campaign.design)
    weights = inclusion_weights(store.campaigns.units(campaign.id), {one.unit.id for one in counted}, design)
    return [
        CampaignScore(system, one.unit.of, one.rater, value, weights.get(one.unit.id, 1.0), one.unit.of.doc_id)
        for one in counted
        for system, value in values_of(design, one.unit, one.labels).items()
    ]


def labels_of_raters(labels: CampaignLabels) -> list[UnitJudgement]:
    """Return the raters' own labels that count, also of units that somebody has decided: they show how raters differ."""
    return [a for a in labels.answers if a.counts]


def measure_of(design: CampaignDesign) -> str:
    """Return what the numbers are, with range and direction."""
    asks = design.protocol.asks
    if "score" in asks:
        return f"{design.protocol.human_score}, 0 to 100 ↑"
    return "MQM score, at most 0 ↑" if "spans" in asks else "Bradley–Terry strength ↑"


def compare(
    store: Store,
    campaign: Campaign,
    by: Unit | None = None,
    progress: Progress = no_progress,
) -> CampaignComparison:
    """Return the comparison of the systems on all labels that count now. Undefined values are None, with a reason."""
    design = design_from_json(campaign.design)
    labels = read_labels(store, campaign)
    counted = counted_labels(labels)
    items = {one.unit.of for one in counted}
    unit = by or default_unit(design, len({key.doc_id for key in items}))
    rows = scores(store, campaign, counted)
    weights = [row.weight for row in rows] or [1.0]
    basis = CampaignBasis(
        len(counted), len(items), len({key.doc_id for key in items}), len({one.rater for one in counted}),
        len({system for one in counted for system in one.unit.systems}), sum(one.is_decision for one in counted),
        sum(a.unit.kind == "item" and a.labels.submitted and bool(a.labels.declined) for a in labels.answers),
        {p.rater: p.excluded for p in labels.participants if p.excluded},
        (min(weights), max(weights)), design.seed,
    )  # fmt: skip
    progress(0.05)
    means = weighted_means(rows, seed=design.seed, by=unit) if rows else []
    progress(0.2)
    differences = compare_campaign_systems(rows, seed=design.seed, by=unit) if len({r.system for r in rows}) > 1 else []
    progress(0.5)
    own = scores(store, campaign, labels_of_raters(labels))
    z_scores = standardised_scores(own)
    z = weighted_means(z_scores.scores, seed=design.seed, by=unit) if own else []
    progress(0.6)
    effects = rater_effects(own) if own else None
    progress(0.85)
    votes = _votes(counted, design.seed) if "preference" in design.protocol.asks else None
    progress(0.95)
    return CampaignComparison(
        measure_of(design), unit, basis, tuple(sorted(means, key=lambda m: -(m.mean.value or 0.0))), tuple(differences),
        tuple(z), effects, votes, agreement(design, labels.answers), len(z_scores.left_out),
    )  # fmt: skip


def _votes(counted: Sequence[UnitJudgement], seed: int) -> PreferenceResult | None:
    votes = [PreferenceVote(*vote) for vote in preferences(counted)]
    return preference_strengths(votes, seed=seed) if votes else None


def agreement_rows(
    design: CampaignDesign, answers: Sequence[UnitJudgement]
) -> dict[tuple[str, tuple[SegmentKey, str]], tuple[float, float]]:
    """Return the value and the time (seconds since 1970) of each rater's label of an output, decisions left out.

    A preference is −1, 0 or 1 for the pair.
    """
    rated: dict[tuple[str, tuple[SegmentKey, str]], tuple[float, float]] = {}
    for a in answers:
        if not a.counts:
            continue
        values = values_of(design, a.unit, a.labels)
        if "preference" in design.protocol.asks and a.labels.preference:
            winner = a.labels.preference[0]
            pair = sorted(a.unit.systems)
            values = {" / ".join(pair): 0.0 if winner is None else 1.0 if winner == pair[0] else -1.0}
        when = (a.submitted or a.ended).timestamp()
        for system, value in values.items():
            rated[a.rater, (a.unit.of, system)] = (value, when)
    return rated


def agreement(design: CampaignDesign, answers: Sequence[UnitJudgement]) -> Interval:
    """Return Krippendorff's α (interval level) of the raters with its 95 % CI over segments."""
    rows = agreement_rows(design, answers)
    table = ratings((rater, output, value) for (rater, output), (value, _) in rows.items())
    if not table.raters:
        return Interval(None, None, None, 0, "there are no ratings yet")
    segments = [output[0] for output in table.outputs]  # type: ignore[index]
    return krippendorff_alpha(table.scores, seed=design.seed, segments=segments)


def mean_detectable(differences: Sequence[PairedDifference]) -> float | None:
    """Return the mean of the differences that are detectable with 80 % power; None if there are none."""
    known = [d.detectable for d in differences if d.detectable is not None]
    return fmean(known) if known else None
