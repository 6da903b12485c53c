"""The scores of a human evaluation campaign: means per output and, weighted by the design, per system; variance components.

The components are those of items, system × item, raters, and the residual.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import nnls

from core.stats.bootstrap import Interval, ratio_interval
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
    """The mean of `system` with its 95 % CI; `mean.n` counts the units resampled (items or documents)."""

    system: str
    mean: Interval
    scores: int
    items: int


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
    too_few = "an interval needs at least two items or documents"
    mean = ratio_interval(np.bincount(units, w * y), np.bincount(units, w), seed, draws, too_few)
    return WeightedMean(table.systems[row], mean, table.n_scores[row], len(y))


NAMES = ("item", "interaction", "rater", "residual")
COMPONENTS = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]], dtype=np.float64)
"""Which variances differ within each kind of pair of scores, see `pair_kinds`."""
NOT_APART = "no output was scored by two raters, so the residual is part of the interaction"


class CampaignVariances(NamedTuple):
    """Variances, ≥ 0, in squared units of the scores; all None, with a reason, if undefined.

    `item`: difficulty of items. `interaction`: system × item, quality of one output. `rater`: severity. `residual`: the rest.
    `note` names variances that are estimated as 0 or that cannot be separated.
    """

    item: float | None
    interaction: float | None
    rater: float | None
    residual: float | None
    scores: int
    raters: int
    reason: str = ""
    note: str = ""


class PairKinds(NamedTuple):
    """Number of pairs of scores of each kind, and Σ (y − y′)²/2 over them, both of shape (5,)."""

    counts: Floats
    squares: Floats


def variances_of_pilot(scores: Iterable[CampaignScore]) -> CampaignVariances:
    """Return the variance components of y = system + item + system × item + rater + residual, systems fixed, the rest random.

    Estimated by symmetric differences (Koch 1968): half the mean squared difference of pairs of scores is the sum of the
    variances in which they differ (two raters of one output: rater + residual; …), and the variances are fitted to these
    means by non-negative least squares. For any pattern of missing scores; weights are not used. Bias of order 1/n_items, as systems'
    means are estimated. Few raters give a rough `rater` variance: with R raters its relative standard error is about √(2/(R − 1)).

    If no output has two raters, `interaction` is the sum of interaction and residual, and `residual` is 0, which `note` says.
    Undefined if too little is shared between raters, systems and items to separate the rest.
    """
    ratings = repeats_averaged(scores)
    n, n_raters = len(ratings), len({r.rater for r in ratings})

    def undefined(reason: str) -> CampaignVariances:
        return CampaignVariances(None, None, None, None, n, n_raters, reason)

    if n_raters < 2:
        return undefined(f"at least two raters are needed, there are {n_raters}")
    kinds = pair_kinds(ratings)
    columns = estimable(kinds)
    if columns is None:
        return undefined("raters, systems and items overlap too little to tell their variances apart")
    nonempty = kinds.counts > 0
    means = kinds.squares[nonempty] / kinds.counts[nonempty]
    if means.max() <= 0:
        return undefined("all scores of a system are equal")
    precision = np.sqrt(kinds.counts[nonempty]) / np.maximum(means, 1e-6 * means.max())
    fitted = np.zeros(4)
    fitted[columns], _ = nnls(COMPONENTS[nonempty][:, columns] * precision[:, None], means * precision)
    notes = [NOT_APART] if len(columns) < 4 else []
    notes += [f"the estimate of {NAMES[c]} is 0" for c in columns if fitted[c] == 0]
    item, interaction, rater, residual = map(float, fitted)
    return CampaignVariances(item, interaction, rater, residual, n, n_raters, "", "; ".join(notes))


def estimable(kinds: PairKinds) -> list[int] | None:
    """Return the columns of `COMPONENTS` that can be told apart: all, all but the residual's, or None."""
    design = COMPONENTS[kinds.counts > 0]
    if kinds.counts[0]:
        return [0, 1, 2, 3] if np.linalg.matrix_rank(design) == 4 else None
    return [0, 1, 2] if len(design) and np.linalg.matrix_rank(design[:, :3]) == 3 else None


def pair_kinds(ratings: list[CampaignScore]) -> PairKinds:
    """Return the pairs of each kind, from sums over groups: no pair is formed, so the time is linear in the scores.

    Kinds: two raters of one output; one rater, two systems, one item; the same with two raters; one rater, one system, two items;
    the same with two raters. `ratings` has at most one score per rater and output. Scores are centred per system; pairs of systems
    on one item are multiplied by n/(n − 1), n the items with two systems, for the estimation of the systems' means.
    """
    y = np.array([r.value for r in ratings])
    ids = group_ids([r.system for r in ratings])
    y = y - (np.bincount(ids, y) / np.bincount(ids))[ids] if len(y) else y

    def within(key: Callable[[CampaignScore], Hashable]) -> Floats:
        """Return the number of pairs within groups, and Σ (y − y′)²/2 = Σ_groups m·Σ(y − ȳ)²/2."""
        groups = group_ids([key(r) for r in ratings])
        m = np.bincount(groups)
        spread = np.bincount(groups, (y - (np.bincount(groups, y) / m)[groups]) ** 2)
        return np.array([(m * (m - 1) / 2).sum(), (m * spread).sum() / 2])

    output = within(lambda r: (r.system, r.item))
    item_rater = within(lambda r: (r.item, r.rater))
    item = within(lambda r: r.item)
    system_rater = within(lambda r: (r.system, r.rater))
    system = within(lambda r: r.system)
    kinds = np.stack([output, item_rater, item - output - item_rater, system_rater, system - output - system_rater])
    kinds[kinds[:, 0] < 0.5] = 0.0
    systems_per_item = Counter(i for i, _ in {(r.item, r.system) for r in ratings})
    n = sum(systems > 1 for systems in systems_per_item.values())
    kinds[1:3, 1] *= n / (n - 1) if n > 1 else 1.0
    return PairKinds(kinds[:, 0], np.maximum(kinds[:, 1], 0.0))
