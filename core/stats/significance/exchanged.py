"""Differences of two metrics that exchange scores: τ-b, ρ, pairwise accuracy, and acc_eq with calibrated ties.

Each pair of outputs has four differences of scores: x_i − x_j, y_i − y_j, x_i − y_j and y_i − x_j. All of them are sorted once. A draw
selects one of the four for each pair, so the best ε of a draw is the largest running sum over the selected ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from core.stats.correlation.correlation import Measure, cells, evaluator, group_ids, rows_by
from core.stats.correlation.kernel import mid_ranks, tied_pairs
from core.stats.correlation.pairs import Floats, Ints, dense_ranks
from core.stats.means import SLACK, group_means
from core.stats.significance.exchanges import AT_ONCE, EachDraw, ExchangedPair, Exchanges, pair_weights, spread_of_ties
from core.stats.significance.random_signs import SignDraws

LARGEST_TABLE = 40_000_000
"""Most numbers of a table of outputs by different human scores, which takes 160 MB."""
ORDERS_KEPT = 8_000_000
"""Most means of systems that are kept for all metrics: 64 MB."""
SURELY = 100.0
"""A sum over pairs of signs is this many standard deviations from its mean with a probability below exp(−100/e) = 1e-16 (by
hypercontractivity; O'Donnell 2014, Analysis of Boolean functions, theorem 9.23)."""


class PooledOrder(Exchanges):
    """τ-b or ρ over all outputs: (N_u/√S_u − N_v/√S_v)/√S_human, where N sums over pairs and S is the spread without ties.

    N_u − N_v is linear in the signs, and S_u and S_v are counted. N_u + N_v varies so little that its mean is enough, except for
    differences very near to the observed one.
    """

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
                    n_positive = np.add.reduceat(positive[:, rows], starts, axis=1, dtype=np.int32)
                    sizes = np.diff(starts, append=len(rows))
                    for sign, count in enumerate((n_positive, sizes - n_positive)):
                        self.lost[metric, sign, block] = spread_of_ties(self.measure, count).sum(1)

    def pair(self, first: int, second: int) -> ExchangedPair:
        x, y = self.scores[first], self.scores[second]
        xx, yy, xy, yx = (self.against(a, b) for a, b in ((x, x), (y, y), (x, y), (y, x)))
        if len(np.intersect1d(x, y)):
            return ExchangedPair((xx - yy + xy - yx) / 2, self.each.pair(first, second).differences)
        mean = float((xx + yy + xy + yx).sum()) / 4  # of N_u + N_v
        return ExchangedPair((xx - yy + xy - yx) / 2, partial(self._differences, first, second, mean))

    def _differences(self, first: int, second: int, mean: float, draws: SignDraws, sums: Floats, at: float) -> Floats:
        of_u = self.whole - self.lost[first, 0] - self.lost[second, 1]
        of_v = self.whole - self.lost[second, 0] - self.lost[first, 1]
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v = 1 / np.sqrt(of_u * self.spread), 1 / np.sqrt(of_v * self.spread)
            differences: Floats = sums * (u + v) / 2 + mean * (u - v) / 2
            near = np.abs(np.abs(differences) - abs(at)) <= SURELY * self.deviation * np.abs(u - v) + 1e-9
        doubtful = np.flatnonzero(near | ~np.isfinite(differences))
        differences[doubtful] = self.each.of(first, second, draws, doubtful)
        return differences

    def against(self, scores: Floats, others: Floats) -> Floats:
        """Return Σ_j w_ij sign(scores_i − others_j) of each output i: w is the sign of the human difference, or half that of the ranks."""
        order = np.argsort(others, kind="stable")
        ordered, n = others[order], len(others)
        below, upto = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
        if self.measure == "spearman":
            sums = np.concatenate([[0.0], np.cumsum(self.ranks[order])])
            totals: Floats = 0.5 * (self.ranks * (below - (n - upto)) - (sums[below] - (sums[n] - sums[upto])))
            return totals
        levels = self.levels[order]
        table = np.zeros((n + 1, int(levels.max(initial=0)) + 2), dtype=np.int32)
        table[np.arange(1, n + 1), levels + 1] = 1
        np.cumsum(np.cumsum(table, axis=0, out=table), axis=1, out=table)

        def first(length: Ints) -> Ints:  # Σ sign(h_i − h_j) over the first outputs j
            lower, not_higher = table[length, self.levels], table[length, self.levels + 1]
            return lower.astype(np.int64) - (length - not_higher)

        return (first(below) - (first(np.full(n, n)) - first(upto))).astype(np.float64)


def _tied_rows(scores: Floats) -> tuple[Ints, Ints]:
    """Return the rows of values that occur more than once, and where each value starts among them."""
    groups = [rows for rows in rows_by(dense_ranks(scores)) if len(rows) > 1]
    sizes = np.array([len(rows) for rows in groups], dtype=np.int64)
    return (np.concatenate(groups) if groups else np.zeros(0, dtype=np.int64)), np.cumsum(sizes) - sizes


class SystemMeans(Exchanges):
    """τ-b, ρ or pairwise accuracy of systems' means. Draws with tied means are computed with all rules for ties."""

    def __init__(self, measure: Measure, human: Floats, scores: Floats, systems: Sequence[Hashable]) -> None:
        ids = group_ids(systems)
        self._rows, self._scores = rows_by(ids), scores
        self.sizes = np.bincount(ids).astype(np.float64)
        k = len(self._rows)
        self.most = max(1000, ORDERS_KEPT // max(1, k * len(scores)))
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

    def pair(self, first: int, second: int) -> ExchangedPair:
        return ExchangedPair(None, partial(self._differences, first, second))

    def _differences(self, first: int, second: int, draws: SignDraws, sums: Floats, at: float) -> Floats:
        x, y = self.positive[first], self.positive[second]
        u = (x + (self.totals[second] - y)) / self.sizes
        v = (y + (self.totals[first] - x)) / self.sizes
        differences, slack = np.zeros(len(draws)), 4 * SLACK * self.largest
        close = np.zeros(len(draws), dtype=bool)
        for means, sign in ((u, 1.0), (v, -1.0)):
            apart = means @ self.differ
            close |= np.abs(apart).min(axis=1, initial=np.inf) <= slack
            differences += sign * (np.sign(apart) @ self.weights)
        doubtful = np.flatnonzero(close | np.isnan(differences))
        differences[doubtful] = self.each.of(first, second, draws, doubtful)
        return differences


CHECKED = 50
"""Draws computed exactly in any case, to see how far their linear part is from the difference."""
MARGIN = 3.0
"""Other draws are computed exactly if their linear part is nearer to the observed difference than so many times the largest deviation of
those computed before."""


TIES_KEPT = 20_000_000
"""Differences of scores that a thread keeps, 10 bytes each."""


class CalibratedTies(Exchanges):
    """Pairs of outputs `i`, `j`, each counted `share` times: all shares sum to 1.

    With `rough`, only draws near to the observed difference are computed exactly.
    """

    def __init__(self, human: Floats, scores: Floats, i: Ints, j: Ints, share: Floats, *, rough: bool) -> None:
        self.n, self.scores, self.i, self.j, self.rough = len(human), scores, i, j, rough
        self.human = np.sign(human[i] - human[j]).astype(np.int8)
        equal = len(share) > 0 and share.min() == share.max()
        self.at_once = max(1, min(AT_ONCE, TIES_KEPT // max(1, 4 * len(i))))
        self.unit = float(share[0]) if equal else 1.0
        """What a difference of 1 in the sums is worth. With equal shares they are whole numbers."""
        self.share = None if equal else share

    def pair(self, first: int, second: int) -> ExchangedPair:
        ties = CalibratedTiesPair(self, self.scores[first], self.scores[second])
        return ExchangedPair(ties.linear, ties.differences)


class CalibratedTiesPair:
    def __init__(self, shared: CalibratedTies, first: Floats, second: Floats) -> None:
        self._shared = shared
        i, j = shared.i, shared.j
        # by kind: 0 if both scores are of the second metric, 1 if that of i is, 2 if that of j is, 3 if both are of the first
        apart = np.stack([a[i] - b[j] for a in (second, first) for b in (second, first)])
        tied = tied_pairs(apart.ravel(), np.tile(shared.human, len(apart)))
        n_changing = len(tied.gain)
        kind, self._which = np.divmod(tied.order[:n_changing], len(i))
        self._kind = kind.astype(np.uint8)
        self._gain: npt.NDArray[np.int8] | Floats = tied.gain
        if shared.share is not None:
            self._gain = tied.gain * shared.share[self._which]
        self._ends = None if len(tied.ends) == n_changing else tied.ends
        """Where ε can lie; None if everywhere."""
        self._right = np.empty(apart.shape, dtype=bool)
        self._right.ravel()[tied.order] = tied.right
        # the linear part, at the ε that is best on average over all draws
        reached = np.cumsum(self._gain)[tied.ends]
        upto = tied.ends[reached.argmax()] + 1 if len(reached) else 0
        of = self._right.astype(np.int8)
        of.ravel()[tied.order[:upto]] += tied.gain[:upto]
        worth = 0.5 * (np.full(len(i), shared.unit) if shared.share is None else shared.share)
        at_i, at_j = worth * (of[3] - of[0] + of[2] - of[1]), worth * (of[3] - of[0] - of[2] + of[1])
        self.linear: Floats = (np.bincount(i, at_i, shared.n) + np.bincount(j, at_j, shared.n)).astype(np.float64)

    def differences(self, draws: SignDraws, sums: Floats, at: float) -> Floats:
        differences, n = sums.copy(), len(draws)
        left, deviation = np.ones(n, dtype=bool), 0.0
        doubtful = np.arange(min(CHECKED, n) if self._shared.rough else n)
        while len(doubtful):
            differences[doubtful], left[doubtful] = self._exactly(draws, doubtful), False
            deviation = max(deviation, float(np.abs(differences - sums)[doubtful].max()))
            doubtful = np.flatnonzero(left & (np.abs(np.abs(sums) - abs(at)) <= MARGIN * deviation + 1e-9))
        return differences

    def _exactly(self, draws: SignDraws, which: Ints) -> Floats:
        i, j = self._shared.i, self._shared.j
        differences = np.empty(len(which))
        for start in range(0, len(which), 64):
            block = which[start : start + 64]
            for place, positive in enumerate(draws.positive(block).view(np.uint8), start=start):
                kinds = 2 * positive[i] + positive[j]
                differences[place] = self._best(kinds) - self._best(3 - kinds)
        return differences * self._shared.unit

    def _best(self, kinds: npt.NDArray[np.uint8]) -> float:
        """Return the best acc_eq over all ε, if each pair of outputs has the difference of this kind."""
        selected = kinds.take(self._which) == self._kind
        reached = np.cumsum(selected * self._gain, dtype=None if self._shared.share is not None else np.int32)
        if self._ends is not None:
            reached = reached[self._ends]
        right = self._right[kinds, np.arange(len(kinds))]
        start = np.count_nonzero(right) if self._shared.share is None else right @ self._shared.share
        return float(start + max(0, reached.max(initial=0)))
