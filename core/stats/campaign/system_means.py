"""Design-weighted means of systems, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from core.stats.bootstrap import Interval, content_order, percentiles, resamples
from core.stats.campaign.campaign_scores import CampaignScore, OutputMeans, Unit, output_means
from core.stats.correlation.pairs import Floats


class WeightedMean(NamedTuple):
    """The mean of `system` with its 95 % CI; `mean.n` counts the units resampled (items or documents).

    `effective` is Kish's (1965) effective number of items (Σw)²/Σw², in [1, items]: below `items` if weights differ.
    """

    system: str
    mean: Interval
    scores: int
    items: int
    effective: float


def weighted_means(
    scores: Iterable[CampaignScore], *, seed: int, by: Unit = "item", draws: int = 1000
) -> list[WeightedMean]:
    """Return each system's Hájek mean Σwy/Σw over its outputs (Hájek 1971; Särndal et al. 1992, equation 5.7.4).

    y is the mean of the raters of an output and w its weight, so the mean estimates that of all outputs that could have
    been drawn, in the unit and direction of the scores. The percentile interval resamples the system's items, or whole
    documents, with replacement; with fewer than about 20 units it is too narrow. Means of systems with different items
    differ by the difficulty of the items too: use `compare_campaign_systems` to compare systems. Raters count as
    given: their number does not widen the interval (`rater_effects` includes it).
    """
    table = output_means(scores)
    ids = table.unit_ids(by)
    return [_mean_of(table, row, np.asarray(ids), seed, draws) for row in range(len(table.systems))]


def _mean_of(table: OutputMeans, row: int, ids: Floats, seed: int, draws: int) -> WeightedMean:
    scored = ~np.isnan(table.values[row])
    y, w = table.values[row, scored], table.weights[row, scored]
    _, units = np.unique(ids[scored], return_inverse=True)
    sums, sizes = np.bincount(units, w * y), np.bincount(units, w)
    order = content_order(sizes, sums)
    sums, sizes = sums[order], sizes[order]
    mean, n = float(sums.sum() / sizes.sum()), len(sums)
    effective = float(w.sum() ** 2 / (w**2).sum())
    if n < 2:
        interval = Interval(mean, None, None, n, "an interval needs at least two items or documents")
    else:
        means = [sums[drawn].sum(1) / sizes[drawn].sum(1) for drawn in resamples(n, seed, draws)]
        interval = Interval(mean, *percentiles(np.concatenate(means)), n)
    return WeightedMean(table.systems[row], interval, table.n_scores[row], len(y), effective)
