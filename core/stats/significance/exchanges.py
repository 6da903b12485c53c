"""Differences in agreement of two metrics that exchange the scores of random outputs, for many draws of the same outputs.

For signs s, u has the scores of the first metric where s = +1 and those of the second elsewhere, v the others. Each draw has a
difference f(u) − f(v). f sums a function of pairs of outputs, f(u) = Σ w(u_i, u_j), so f(u) − f(v) is linear in s, unless ties
change what it is divided by. Hence most of the work is one matrix product for many pairs of metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.correlation.correlation import Many, Measure, blocks_by_size, cells, evaluator
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, ratio
from core.stats.significance.random_signs import SignDraws

LARGEST_GROUP = 14
"""Largest segment whose differences are computed for every pattern of signs; above, for every draw."""
MOST = 1 << 62
NUMBERS = 500_000
"""Numbers of score vectors whose agreement is computed at once, so that they fit into the cache of the processor."""
AT_ONCE = 64
"""Pairs of metrics that share a matrix product."""
SEGMENTS_AT_ONCE = 16
"""Segments whose patterns are computed at once, so that they fit into the cache of the processor."""
Flags = npt.NDArray[np.bool_]


class ExchangedPair(NamedTuple):
    """Two metrics. `differences` returns the difference in each draw, (n_draws,), NaN if undefined, from the draws, the sums of
    sign × `linear`, of shape (n_outputs,), in each draw (unless it is None), and the observed difference.

    A difference that is surely nearer or surely farther than the observed one may be a rough one.
    """

    linear: Floats | None
    differences: Callable[[SignDraws, Floats, float], Floats]


class Exchanges:
    """A measure, the human scores and the standardized scores of all metrics, (n_metrics, n_outputs).

    The shared numbers of at most `most` draws, and the numbers of `at_once` pairs of metrics fit in memory.
    """

    most: int = MOST
    at_once: int = AT_ONCE

    def prepare(self, draws: SignDraws) -> None:
        """Compute what all pairs of metrics share in these draws."""

    def pair(self, first: int, second: int) -> ExchangedPair:
        raise NotImplementedError


class EachDraw(Exchanges):
    """Compute the agreement anew in every draw. `value` does it for many score vectors, with `cells` numbers for each."""

    def __init__(self, scores: Floats, value: Many, cells: int) -> None:
        self.scores, self.value, self._step = scores, value, max(1, NUMBERS // max(1, cells))

    def pair(self, first: int, second: int) -> ExchangedPair:
        return ExchangedPair(None, lambda draws, sums, at: self.of(first, second, draws, np.arange(len(draws))))

    def of(self, first: int, second: int, draws: SignDraws, which: Ints) -> Floats:
        """Return the differences in some of the draws."""
        differences, x, y = np.empty(len(which)), self.scores[first], self.scores[second]
        for start in range(0, len(which), self._step):
            part = slice(start, start + self._step)
            positive = draws.positive(which[part])
            differences[part] = self.value(np.where(positive, x, y)) - self.value(np.where(positive, y, x))
        return differences


class InSegments(Exchanges):
    """τ-b, ρ or r averaged over segments.

    τ-b and ρ of a segment without ties among the scores of both metrics are linear in the signs. Other segments are computed
    once for every pattern of signs, and draws look the pattern up.
    """

    def __init__(self, measure: Measure, human: Floats, scores: Floats, segments: Sequence[Hashable]) -> None:
        blocks, self.n = blocks_by_size(segments, len(human)), len(human)
        value = evaluator(measure, human, group="segment", segments=segments)
        self.each = EachDraw(scores, value, cells(measure, self.n, "segment", segments))
        self.blocks = [_Correlated(b, human) if measure == "pearson" else _Ordered(b, human, measure) for b in blocks]
        self.defined = sum(int(np.count_nonzero(b.spread)) for b in self.blocks)

    def prepare(self, draws: SignDraws) -> None:
        for block in self.blocks:
            block.prepare(draws)

    def pair(self, first: int, second: int) -> ExchangedPair:
        x, y = self.each.scores[[first, second]]
        linear: Floats = np.zeros(self.n)
        by_pattern: list[Ints] = []
        for block in self.blocks:
            linear[block.rows], segments = block.linear(x[block.rows], y[block.rows])
            by_pattern.append(segments)
        return ExchangedPair(linear, partial(self._differences, first, second, by_pattern))

    def _differences(
        self, first: int, second: int, by_pattern: Sequence[Ints], draws: SignDraws, sums: Floats, at: float
    ) -> Floats:
        total, (scores, others) = sums.copy(), self.each.scores[[first, second]]
        undefined = np.zeros((2, len(draws)), dtype=np.int64)
        for block, which in zip(self.blocks, by_pattern, strict=True):
            if len(which) and block.size > LARGEST_GROUP:
                return self.each.of(first, second, draws, np.arange(len(draws)))
            x, y = scores[block.rows], others[block.rows]
            for start in range(0, len(which), SEGMENTS_AT_ONCE):
                some = which[start : start + SEGMENTS_AT_ONCE]
                for segment, of_u in zip(some, block.every_pattern(some, x[some], y[some]), strict=True):
                    pattern, of_v = block.patterns[segment].astype(np.intp), of_u[::-1]
                    if (gone := np.isnan(of_u)).any():
                        undefined += gone.take(pattern), gone[::-1].take(pattern)
                        of_u, of_v = np.nan_to_num(of_u), np.nan_to_num(of_v)
                    total += (of_u - of_v).take(pattern)
        total /= np.maximum(1, self.defined - undefined[0])
        if (uneven := np.flatnonzero((undefined[0] != undefined[1]) | (undefined[0] == self.defined))).size:
            total[uneven] = self.each.of(first, second, draws, uneven)
        return total


class _Segments:
    """Segments of one size: the rows of their outputs, (n_segments, size), and the `spread` of their human scores, 0 if these are equal."""

    spread: Floats

    def __init__(self, rows: Ints) -> None:
        self.rows, self.size = rows, rows.shape[1]
        self.patterns = np.zeros((len(rows), 0), dtype=np.uint16)

    def prepare(self, draws: SignDraws) -> None:
        if self.size <= LARGEST_GROUP:
            self.patterns = draws.patterns(self.rows)


class _Correlated(_Segments):
    """Segments whose Pearson's r is computed."""

    def __init__(self, rows: Ints, human: Floats) -> None:
        super().__init__(rows)
        of = human[rows]
        self._human = of - of.mean(1, keepdims=True)
        self.spread = np.where(of.max(1) > of.min(1), (self._human**2).sum(1), 0.0)

    def linear(self, first: Floats, second: Floats) -> tuple[Floats, Ints]:
        return np.zeros(first.shape), np.flatnonzero(self.spread)

    def every_pattern(self, which: Ints, first: Floats, second: Floats) -> Floats:
        """Return r of u for every pattern of signs, (n_which, n_patterns), NaN if undefined."""
        bits, size = _patterns(self.size).bits, self.size
        middle = (first + second).mean(1, keepdims=True) / 2
        x, y, human = first - middle, second - middle, self._human[which]

        def summed(of_first: Floats, of_second: Floats) -> Floats:
            sums: Floats = (of_first - of_second) @ bits + of_second.sum(1, keepdims=True)
            return sums

        spread = summed(x**2, y**2) - summed(x, y) ** 2 / size
        correlations = ratio(summed(x * human, y * human), np.sqrt(np.maximum(spread, 0) * self.spread[which][:, None]))
        for one in np.flatnonzero(_may_be_constant(first, second)):
            u = np.where(bits.T > 0, first[one], second[one])
            correlations[one, u.max(1) == u.min(1)] = np.nan
        return np.clip(correlations, -1, 1, out=correlations)


class _Ordered(_Segments):
    """Segments whose τ-b or ρ is computed from the signs of the differences of all pairs of outputs, times `weights`."""

    def __init__(self, rows: Ints, human: Floats, measure: Measure) -> None:
        super().__init__(rows)
        self._weights, self.spread = pair_weights(measure, human[rows])
        self._tied = spread_of_ties(measure, np.arange(self.size + 1))
        self._whole = float(self._tied[-1])
        """The spread of a metric without ties, and what t tied outputs reduce it by, by t."""

    def linear(self, first: Floats, second: Floats) -> tuple[Floats, Ints]:
        """Return the coefficient of each sign, (n_segments, size), and the segments that are not linear, for which it is 0."""
        signs = _signs(first, second)
        tied = (np.abs(np.stack(signs)).min(0).sum((1, 2)) < self.size * (self.size - 1)) & (self.spread > 0)
        whole = ~tied & (self.spread > 0)
        terms = (self._weights * (signs[0] - signs[1] + signs[2] - signs[3])).sum(2) / 2
        below = np.sqrt(self._whole * np.where(whole, self.spread, 1.0))
        return np.where(whole[:, None], terms / below[:, None], 0.0), np.flatnonzero(tied)

    def every_pattern(self, which: Ints, first: Floats, second: Floats) -> Floats:
        """Return the statistic of u for every pattern of signs, (n_which, n_patterns), NaN if undefined."""
        of = _patterns(self.size)
        xx, yy, xy, yx = _signs(first, second)
        weights, (i, j) = self._weights[which] / 4, np.triu_indices(self.size, 1)
        constant = (weights * (xx + yy + xy + yx))[:, i, j].sum(1, keepdims=True)
        terms = (weights * (xx - yy + xy - yx)).sum(2)
        products = (weights * (xx + yy - xy - yx))[:, i, j]
        # exact in single precision: multiples of 1/8 below 2^12
        above = np.concatenate([constant, terms, products], axis=1).astype(np.float32) @ of.features
        spread = np.full(above.shape, self._whole)
        tied = self._tied[of.ones]
        for one in range(len(which)):
            for with_first, with_second in _tie_groups(first[one], second[one]):
                if with_second == 0 or with_first == 0:
                    at = of.numbers & with_first if with_first else ~of.numbers & with_second
                    spread[one] -= tied.take(at)
                else:
                    spread[one] -= self._tied[of.ones[of.numbers & with_first] + of.ones[~of.numbers & with_second]]
        return ratio(above.astype(np.float64), np.sqrt(spread * self.spread[which][:, None]))


def pair_weights(measure: Measure, human: Floats) -> tuple[Floats, Floats]:
    """Return what a pair of outputs adds to τ-b or ρ if the metric orders it, (…, n, n), and the spread of the human scores, (…).

    With the spread of the metric, N = Σ weight × sign of the metric difference becomes N/√(spread · spread of the metric).
    """
    if measure == "kendall":
        signs = np.sign(human[..., :, None] - human[..., None, :])
        return signs, np.abs(signs).sum((-1, -2)) / 2
    ranks = mid_ranks(human)
    weights = (ranks[..., :, None] - ranks[..., None, :]) / 2
    return weights, np.asarray(((ranks - (human.shape[-1] + 1) / 2) ** 2).sum(-1))


def spread_of_ties(measure: Measure, tied: Floats | Ints) -> Floats:
    """Return what `tied` equal values reduce the spread by: their pairs, or the sum of squares of as many ranks.

    The spread of n values without ties is that of n tied values.
    """
    t = np.asarray(tied, dtype=np.float64)
    return np.asarray(t * (t - 1) / 2 if measure == "kendall" else (t**3 - t) / 12)


class _Patterns(NamedTuple):
    """All patterns of signs of k outputs: their `numbers` 0 … 2^k − 1, `ones` (how many signs are +1), `bits` (k, n_patterns), and the
    `features` 1, s_i and s_i·s_j, (1 + k + k(k − 1)/2, n_patterns)."""

    numbers: Ints
    ones: Ints
    bits: Floats
    features: npt.NDArray[np.float32]


@cache
def _patterns(k: int) -> _Patterns:
    numbers = np.arange(1 << k)
    bits = ((numbers >> np.arange(k)[:, None]) & 1).astype(np.float64)
    signs, (i, j) = 2 * bits - 1, np.triu_indices(k, 1)
    features = np.concatenate([np.ones((1, len(numbers))), signs, signs[i] * signs[j]])
    return _Patterns(numbers, bits.sum(0).astype(np.int64), bits, features.astype(np.float32))


def _signs(first: Floats, second: Floats) -> list[Floats]:
    """Return the signs of x_i − x_j, y_i − y_j, x_i − y_j and y_i − x_j of each segment, (n_segments, size, size)."""
    pairs = ((first, first), (second, second), (first, second), (second, first))
    comparisons = [np.sign(a[:, :, None] - b[:, None, :]) for a, b in pairs]
    same = np.arange(first.shape[1])
    for signs in comparisons[2:]:
        signs[:, same, same] = 0  # an output forms no pair with itself
    return comparisons


def _tie_groups(first: Floats, second: Floats) -> Iterator[tuple[int, int]]:
    """Yield which outputs of a segment have the same value, at least two: those of the first and of the second metric, as bits."""
    groups: dict[float, list[int]] = {}
    for place, (x, y) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        groups.setdefault(x, [0, 0])[0] |= 1 << place
        groups.setdefault(y, [0, 0])[1] |= 1 << place
    yield from ((a, b) for a, b in groups.values() if a & (a - 1) or b & (b - 1) or (a and b))


def _may_be_constant(first: Floats, second: Floats) -> Flags:
    """Return in which segments u can have equal scores only, (n_segments,)."""
    constant = np.zeros(len(first), dtype=bool)
    for value in (first[:, :1], second[:, :1]):
        constant |= ((first == value) | (second == value)).all(1)
    return constant
