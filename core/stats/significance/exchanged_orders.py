"""Differences in τ-b, ρ and pairwise accuracy of two metrics that exchange scores: over all outputs pooled, and over systems' means."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from core.stats.correlation.correlation import Measure, cells, evaluator, group_ids, rows_by
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, dense_ranks
from core.stats.means import SLACK, group_means
from core.stats.significance.exchanges import AT_ONCE, MOST, EachDraw, pair_weights, spread_of_ties
from core.stats.significance.random_signs import SignDraws

LARGEST_TABLE = 40_000_000
"""Most numbers of a table of outputs by different human scores, which takes 160 MB."""
KEPT = 8_000_000
"""Most means of systems that are kept for all metrics: 64 MB."""
SURELY = 100.0
"""A sum over pairs of signs is this many standard deviations from its mean with a probability below exp(−100/e) = 1e-16 (by
hypercontractivity; O'Donnell 2014, Analysis of Boolean functions, theorem 9.23)."""


class PooledOrder:
    """τ-b or ρ over all outputs: (N_u/√S_u − N_v/√S_v)/√S_human, where N sums over pairs and S is the spread without ties.

    N_u − N_v is linear in the signs, and S_u and S_v are counted. N_u + N_v varies so little that its mean is enough, except for
    differences very near to the observed one.
    """

    most = MOST
    at_once = AT_ONCE

    def __init__(self, measure: Measure, human: Floats, scores: Floats) -> None:
        n = len(human)
        self.each = EachDraw(scores, evaluator(measure, human), cells(measure, n, "pooled"))
        self.measure, self.scores = measure, scores
        self.ranks, self.levels = mid_ranks(human), dense_ranks(human)
        self.whole = float(spread_of_ties(measure, np.array(n)))
        self.spread = self.whole - float(spread_of_ties(measure, np.bincount(self.levels)).sum())
        if measure == "kendall":
            self.deviation = float(np.sqrt(self.spread))
        else:  # Σ over pairs of (rank difference / 2)² = n/4 × the sum of squares
            self.deviation = float(np.sqrt(n * self.spread / 4))
        self._tied = [_tied_rows(of) for of in scores]
        self.lost = np.zeros((len(scores), 2, 0))
        """What ties reduce the spread of each metric by, among the outputs with positive and with negative signs, in each draw."""

    def prepare(self, draws: SignDraws) -> None:
        self.lost = np.zeros((len(self.scores), 2, len(draws)))
        for block in draws.blocks():
            positive = draws.positive(block)
            for metric, (rows, starts) in enumerate(self._tied):
                if len(rows):
                    there = np.add.reduceat(positive[:, rows], starts, axis=1, dtype=np.int32)
                    sizes = np.diff(starts, append=len(rows))
                    for sign, count in enumerate((there, sizes - there)):
                        self.lost[metric, sign, block] = spread_of_ties(self.measure, count).sum(1)

    def pair(self, first: int, second: int) -> PooledOrderPair:
        return PooledOrderPair(self, first, second)

    def against(self, scores: Floats, others: Floats) -> Floats:
        """Return Σ_j w_ij sign(scores_i − others_j) of each output i: w is the sign of the human difference, or half that of the ranks."""
        order = np.argsort(others, kind="stable")
        ordered, n = others[order], len(others)
        below, upto = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
        if self.measure == "spearman":
            sums = np.concatenate([[0.0], np.cumsum(self.ranks[order])])
            found: Floats = 0.5 * (self.ranks * (below - (n - upto)) - (sums[below] - (sums[n] - sums[upto])))
            return found
        levels = self.levels[order]
        table = np.zeros((n + 1, int(levels.max(initial=0)) + 2), dtype=np.int32)
        table[np.arange(1, n + 1), levels + 1] = 1
        np.cumsum(np.cumsum(table, axis=0, out=table), axis=1, out=table)

        def first(length: Ints) -> Ints:  # Σ sign(h_i − h_j) over the first outputs j
            lower, not_higher = table[length, self.levels], table[length, self.levels + 1]
            return lower.astype(np.int64) - (length - not_higher)

        return (first(below) - (first(np.full(n, n)) - first(upto))).astype(np.float64)


class PooledOrderPair:
    def __init__(self, shared: PooledOrder, first: int, second: int) -> None:
        self._shared, self._pair = shared, (first, second)
        x, y = shared.scores[first], shared.scores[second]
        xx, yy, xy, yx = (shared.against(a, b) for a, b in ((x, x), (y, y), (x, y), (y, x)))
        self.linear: Floats = (xx - yy + xy - yx) / 2
        self._sum = float((xx + yy + xy + yx).sum()) / 4
        """The mean of N_u + N_v."""
        self._across = len(np.intersect1d(x, y)) > 0

    def differences(self, draws: SignDraws, sums: Floats, at: float) -> Floats:
        shared, (first, second) = self._shared, self._pair
        if self._across:
            return shared.each.of(first, second, draws, np.arange(len(draws)))
        of_u = shared.whole - shared.lost[first, 0] - shared.lost[second, 1]
        of_v = shared.whole - shared.lost[second, 0] - shared.lost[first, 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v = 1 / np.sqrt(of_u * shared.spread), 1 / np.sqrt(of_v * shared.spread)
            found: Floats = sums * (u + v) / 2 + self._sum * (u - v) / 2
            near = np.abs(np.abs(found) - abs(at)) <= SURELY * shared.deviation * np.abs(u - v) + 1e-9
        doubtful = np.flatnonzero(near | ~np.isfinite(found))
        found[doubtful] = shared.each.of(first, second, draws, doubtful)
        return found


def _tied_rows(scores: Floats) -> tuple[Ints, Ints]:
    """Return the rows of values that occur more than once, and where each value starts among them."""
    groups = [rows for rows in rows_by(dense_ranks(scores)) if len(rows) > 1]
    sizes = np.array([len(rows) for rows in groups], dtype=np.int64)
    return (np.concatenate(groups) if groups else np.zeros(0, dtype=np.int64)), np.cumsum(sizes) - sizes


class SystemMeans:
    """τ-b, ρ or pairwise accuracy of systems' means. Draws with tied means are computed with all rules for ties."""

    at_once = AT_ONCE

    def __init__(self, measure: Measure, human: Floats, scores: Floats, systems: Sequence[Hashable]) -> None:
        ids = group_ids(systems)
        self._rows, self._scores = rows_by(ids), scores
        self.sizes = np.bincount(ids).astype(np.float64)
        k = len(self._rows)
        self.most = max(1000, KEPT // max(1, k * len(scores)))
        self.each = EachDraw(scores, evaluator(measure, human, group="system", systems=systems), len(human))
        means = group_means(human, ids)
        self.i, self.j = np.triu_indices(k, 1)
        self.differ = np.zeros((k, len(self.i)))
        self.differ[self.i, np.arange(len(self.i))], self.differ[self.j, np.arange(len(self.i))] = 1.0, -1.0
        weights, spread = pair_weights("kendall" if measure == "acc_eq" else measure, means)
        if measure == "acc_eq":
            below = 2.0 * len(self.i)
        else:
            below = float(np.sqrt(spread_of_ties(measure, np.array(k)) * spread))
        self.weights = weights[self.i, self.j] / below if spread > 0 else np.full(len(self.i), np.nan)
        self.totals = np.array([[of[rows].sum() for rows in self._rows] for of in scores])
        self.largest = np.abs(scores).max(initial=0.0)
        self.positive = np.zeros((len(scores), 0, k))
        """The sums of each metric's scores with a positive sign, by draw and system."""

    def prepare(self, draws: SignDraws) -> None:
        self.positive = np.empty((len(self._scores), len(draws), len(self._rows)))
        for block in draws.blocks():
            signs = draws.positive(block)
            for k, rows in enumerate(self._rows):
                self.positive[:, block, k] = self._scores[:, rows] @ signs[:, rows].astype(np.float64).T

    def pair(self, first: int, second: int) -> SystemMeansPair:
        return SystemMeansPair(self, first, second)


class SystemMeansPair:
    linear = None

    def __init__(self, shared: SystemMeans, first: int, second: int) -> None:
        self._shared, self._pair = shared, (first, second)

    def differences(self, draws: SignDraws, sums: Floats, at: float) -> Floats:
        shared, (first, second) = self._shared, self._pair
        x, y = shared.positive[first], shared.positive[second]
        u = (x + (shared.totals[second] - y)) / shared.sizes
        v = (y + (shared.totals[first] - x)) / shared.sizes
        found, slack = np.zeros(len(draws)), 4 * SLACK * shared.largest
        close = np.zeros(len(draws), dtype=bool)
        for means, sign in ((u, 1.0), (v, -1.0)):
            apart = means @ shared.differ
            close |= np.abs(apart).min(axis=1, initial=np.inf) <= slack
            found += sign * (np.sign(apart) @ shared.weights)
        doubtful = np.flatnonzero(close | np.isnan(found))
        found[doubtful] = shared.each.of(first, second, draws, doubtful)
        return found
