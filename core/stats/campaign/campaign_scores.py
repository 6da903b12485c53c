"""The scores of a human evaluation campaign, averaged per output and, weighted by the design, per system."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from core.stats.bootstrap import Interval, content_order, percentiles, resamples
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints

Unit = Literal["item", "document"]


class CampaignScore(NamedTuple):
    """Score of `rater` for the output of `system` on `item`, a document and segment.

    `weight` is 1 / the probability with which the output was drawn, > 0. Only the ratios of weights count.
    """

    system: str
    item: Hashable
    rater: str
    value: float
    weight: float = 1.0
    document: Hashable = None


class OutputMeans(NamedTuple):
    """Scores averaged per output: `values` and `weights` of shape (n_systems, n_items), NaN where there is no score.

    `documents` names the document of each item; `raters[i, j]` are the raters of an output; `n_scores` counts per system.
    """

    systems: tuple[str, ...]
    items: tuple[Hashable, ...]
    documents: tuple[Hashable, ...]
    values: Floats
    weights: Floats
    raters: dict[tuple[int, int], frozenset[str]]
    n_scores: tuple[int, ...]

    def unit_ids(self, by: Unit) -> Ints:
        """Return the id of each item's unit of resampling, shape (n_items,). Raises `ValueError` if a document is missing."""
        if by == "item":
            return np.arange(len(self.items))
        if any(document is None for document in self.documents):
            raise ValueError("some items have no document; compare by item, or give each score its document")
        return group_ids(self.documents)


def output_means(scores: Iterable[CampaignScore]) -> OutputMeans:
    """Average the scores of each output: first repeated scores of one rater, then the raters, all with equal weight.

    The weight of an output is the mean weight of its scores. Systems and items are in order of first appearance. Raises
    `ValueError` for values that are not finite, for weights that are not finite and > 0, and for items in two documents.
    """
    by_output: dict[tuple[str, Hashable], dict[str, list[CampaignScore]]] = {}
    documents: dict[Hashable, Hashable] = {}
    for score in checked(scores):
        if documents.setdefault(score.item, score.document) != score.document:
            raise ValueError(f"item {score.item} is in two documents, {documents[score.item]} and {score.document}")
        by_output.setdefault((score.system, score.item), {}).setdefault(score.rater, []).append(score)
    rows = {name: i for i, name in enumerate(dict.fromkeys(system for system, _ in by_output))}
    columns = {item: j for j, item in enumerate(documents)}
    values = np.full((len(rows), len(columns)), np.nan)
    weights, raters, n_scores = values.copy(), {}, [0] * len(rows)
    for (system, item), by_rater in by_output.items():
        cell = rows[system], columns[item]
        values[cell] = _mean([_mean([s.value for s in own]) for own in by_rater.values()])
        weights[cell] = _mean([s.weight for own in by_rater.values() for s in own])
        raters[cell] = frozenset(by_rater)
        n_scores[rows[system]] += sum(map(len, by_rater.values()))
    return OutputMeans(tuple(rows), tuple(columns), tuple(documents.values()), values, weights, raters, tuple(n_scores))


def checked(scores: Iterable[CampaignScore]) -> list[CampaignScore]:
    """Return the scores as a list. Raises `ValueError` for values or weights that cannot be used."""
    all_scores = list(scores)
    for score in all_scores:
        if not math.isfinite(score.value):
            raise ValueError(f"scores must be finite numbers, {score.rater} gave {score.system} {score.value}")
        if not (math.isfinite(score.weight) and score.weight > 0):
            raise ValueError(f"weights must be finite and > 0, found {score.weight} for {score.system}")
    return all_scores


def repeats_averaged(scores: Iterable[CampaignScore]) -> list[CampaignScore]:
    """Return one score per rater and output: the mean of the rater's scores for it, with their mean weight."""
    groups: dict[tuple[str, Hashable, str], list[CampaignScore]] = {}
    for score in checked(scores):
        groups.setdefault((score.system, score.item, score.rater), []).append(score)
    return [
        own[0]._replace(value=_mean([s.value for s in own]), weight=_mean([s.weight for s in own]))
        for own in groups.values()
    ]


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


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
