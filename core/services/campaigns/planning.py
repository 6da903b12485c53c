"""What a planned campaign can show and what its checks add: beside the estimate of time and cost, for decisions before it starts."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from core.campaigns.attention_checks import PlantedError, planted
from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.units import Outline, planned_units
from core.columns import ProjectIndex
from core.data import Dataset, OutputKey, SegmentKey
from core.ports.store import Store
from core.services.campaigns.answers import read_labels
from core.services.campaigns.comparison import default_unit, labels_of_raters, scores
from core.stats.campaign.campaign_scores import CampaignVariances, Unit, variances_of_pilot
from core.stats.campaign.paired_differences import fewest_units, smallest_p
from core.stats.campaign.planned_power import (
    ASSUMED,
    FEWEST,
    MQM_ASSUMED,
    PlannedDifference,
    PlannedPreference,
    planned_detectable,
    planned_preference,
    planned_share,
)

ALPHA = 0.05
LONG_TEXT = 2000
"""From so many characters on, a text does not fit on a screen."""
MOST_OTHERS = 50
TRIES_PER_EXAMPLE = 10
RATERS_SHOWN = 3
STEPS = 12


class PilotVariances(NamedTuple):
    """Variances for planning, and the finished campaign that they are estimated from; "" if they are assumed."""

    variances: CampaignVariances
    campaign: str = ""


class AddedRatings(NamedTuple):
    """Ratings that checks or repeats add, and their working time in hours."""

    ratings: int
    hours: float


class SmallestP(NamedTuple):
    """The smallest p that a test over so many units can give: of `one` pair of systems, and `adjusted` by Holm's method for all pairs.

    `fewest` is the number of units from which on a difference can be significant after the correction; None if there is none.
    """

    unit: Unit
    units: int
    pairs: int
    one: float
    adjusted: float
    fewest: int | None

    @property
    def too_few(self) -> bool:
        """Return whether no difference can be significant after the correction."""
        return self.adjusted > ALPHA


class PlannedPoint(NamedTuple):
    """The detectable difference with so many segments and raters per output."""

    segments: int
    raters: int
    difference: float


def long_texts(index: ProjectIndex, systems: Collection[str], segments: Collection[SegmentKey]) -> int:
    """Return how many of the chosen outputs have at least `LONG_TEXT` characters; empty collections mean all."""
    long = index.lengths >= LONG_TEXT
    if systems:
        long = long[:, [j for j, name in enumerate(index.systems) if name in systems]]
    if segments:
        long = long[[row for key in set(segments) if (row := index.row.get(key)) is not None]]
    return int(long.sum())


def added(outline: Outline, design: CampaignDesign, share: float) -> AddedRatings:
    """Return what a share of attention checks or repeats adds."""
    ratings = round(len(planned_units(outline, design)) * design.overlap * share)
    return AddedRatings(ratings, ratings * design.seconds_per_unit / 3600)


def pilot(store: Store, project_id: int, design: CampaignDesign) -> PilotVariances:
    """Return the variances of the last finished campaign of the project with this kind of score; assumed ones without it."""
    for campaign in reversed(store.campaigns.list(project_id)):
        done = campaign.state == "finished"
        if done and design_from_json(campaign.design).protocol.human_score == design.protocol.human_score:
            variances = variances_of_pilot(scores(store, campaign, labels_of_raters(read_labels(store, campaign))))
            if not variances.reason:
                return PilotVariances(variances, campaign.name)
    return PilotVariances(assumed(design))


def assumed(design: CampaignDesign) -> CampaignVariances:
    """Return the variances for planning without a pilot, on the scale of the protocol's score."""
    return ASSUMED if "score" in design.protocol.asks else MQM_ASSUMED


def detectable(outline: Outline, design: CampaignDesign, variances: CampaignVariances) -> PlannedDifference | None:
    """Return the difference of two systems that the campaign detects with 80 % power, in points of its score: 0 to 100, or MQM.

    None for preferences, and for fewer than two systems.
    """
    items, systems = _shared(outline, design)
    if systems < 2 or not items or prefers(design):
        return None
    return _difference(items, systems, design.overlap, design, variances)


def smallest_possible_p(outline: Outline, design: CampaignDesign) -> SmallestP | None:
    """Return the smallest p of the differences that the campaign can give; None for preferences, and for fewer than two systems."""
    segments, systems = _shared(outline, design)
    if systems < 2 or not segments or prefers(design):
        return None
    chosen = [key for key in outline if not design.segments or key in set(design.segments)]
    documents = len({key.doc_id for key in chosen})
    unit = default_unit(design, documents)
    units, pairs = documents if unit == "document" else segments, math.comb(systems, 2)
    one = smallest_p(units)
    return SmallestP(unit, units, pairs, one, min(1.0, pairs * one), fewest_units(pairs, ALPHA))


def prefers(design: CampaignDesign) -> bool:
    """Return whether annotators choose between outputs, so that there are no scores."""
    return "preference" in design.protocol.asks


def detectable_preference(outline: Outline, design: CampaignDesign) -> PlannedPreference | None:
    """Return the win share that a campaign of preferences detects with 80 % power; None for scores, and for fewer than two systems."""
    items, systems = _shared(outline, design)
    if systems < 2 or not items or not prefers(design):
        return None
    return planned_preference(items, systems, raters_per_pair=design.overlap)


def detectable_curve(outline: Outline, design: CampaignDesign, variances: CampaignVariances) -> list[PlannedPoint]:
    """Return the detectable difference by number of segments, up to those of the project, for 1 to 3 raters and those planned.

    Of preferences, it is the win share above one half, in percentage points.
    """
    everything = CampaignDesign(protocol=design.protocol, systems=design.systems)
    most, systems = _shared(outline, everything)
    if systems < 2:
        return []
    planned = _shared(outline, design)[0]
    sizes = sorted({max(5, round(most * step / STEPS)) for step in range(2, STEPS + 1)} | {planned})
    if prefers(design):
        sizes = sorted({*sizes[::2], planned})

    def of(n: int, raters: int) -> float | None:
        if not prefers(design):
            return _difference(n, systems, raters, design, variances).one_pair
        share = planned_share(n, raters)
        return None if share is None else 100 * (share - 0.5)

    points = []
    for raters in sorted({*range(1, RATERS_SHOWN + 1), design.overlap}):
        for n in (n for n in sizes if FEWEST <= n <= most):
            difference = of(n, raters)
            if difference is not None:
                points.append(PlannedPoint(n, raters, difference))
    return points


def _shared(outline: Outline, design: CampaignDesign) -> tuple[int, int]:
    """Return the number of chosen segments with outputs of at least two chosen systems, and the number of systems."""
    chosen_systems, only = set(design.systems), set(design.segments)
    of = [
        [s for s in systems if not chosen_systems or s in chosen_systems]
        for key, systems in outline.items()
        if not only or key in only
    ]
    return sum(len(systems) > 1 for systems in of), len({s for systems in of for s in systems})


def _difference(
    items: int, systems: int, raters: int, design: CampaignDesign, variances: CampaignVariances
) -> PlannedDifference:
    together = design.protocol.on_screen is None
    return planned_detectable(items, systems, raters_per_output=raters, same_raters=together, variances=variances)


class ExampleCheck(NamedTuple):
    """An output of the project with a planted error, as annotators may see it."""

    key: OutputKey
    before: str
    planted: PlantedError


def example_checks(dataset: Dataset, design: CampaignDesign, n: int, seed: int) -> Sequence[ExampleCheck]:
    """Return up to `n` attention checks made from chosen outputs."""
    rng = random.Random(seed)
    names, keys = set(design.systems), set(design.segments)
    candidates = [
        o for o in dataset.outputs if (not names or o.system in names) and (not keys or o.key.segment in keys)
    ]
    sources = dataset.segment_of()

    def made() -> Iterator[ExampleCheck]:
        for output in rng.sample(candidates, min(len(candidates), n * TRIES_PER_EXAMPLE)):
            others = [o.text for o in candidates if o.system == output.system and o.doc_id != output.doc_id][
                :MOST_OTHERS
            ]
            error = planted(output.text, sources[output.key.segment].source, rng, others)
            if error is not None:
                yield ExampleCheck(output.key, output.text, error)

    return [check for check, _ in zip(made(), range(n), strict=False)]
