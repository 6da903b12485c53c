"""The agreement statistics of rows of scores: Kendall's τ-b, Spearman's ρ, Pearson's r, and acc_eq with a given or the best ε.

`metric` and `human` have shapes (…, n) that can be broadcast; a result has the shape (…), NaN where undefined. `weights`, of shape
(…, n) with scores of shape (n,), are multiplicities of the outputs, as in a bootstrap draw; those of weight 0 are left out.
Higher is better, if higher scores are better on both sides. τ-b, ρ and r lie in [−1, 1], acc_eq in [0, 1].
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.correlation.pairs import Floats, Ints, WeightByRank, dense_ranks, pair_counts, ratio

Scores = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]

CANCELLED = 1e-3
"""A sum of squares that is less than this share of the one it is the difference from has lost three digits."""
ROUNDING = 1e-16
"""A mean square above this share of the largest square does not come from rounding."""


def kendall(metric: Scores, human: Scores, weights: Floats | None = None) -> Floats:
    """Return τ-b = (C−D)/√((C+D+T_h)(C+D+T_m)), with exact ties."""
    c = pair_counts(metric, human, weights)
    ordered = c.concordant + c.discordant
    below = np.sqrt((ordered + c.human_only) * (ordered + c.metric_only))
    if weights is not None:  # sums of weights that are not whole numbers are rounded
        below = np.where(constant(metric, weights) | constant(human, weights), 0.0, below)
    return ratio(c.concordant - c.discordant, below)


def acc_eq(metric: Scores, human: Scores, weights: Floats | None = None) -> Floats:
    """Return (C + T_hm)/all pairs, where equal metric scores are a tie (ε = 0). Defined for constant scores too."""
    c = pair_counts(metric, human, weights)
    return ratio(c.concordant + c.both, c.total)


def spearman(metric: Scores, human: Scores, weights: Floats | None = None) -> Floats:
    """Return ρ, the r of the ranks, with mean ranks for ties."""
    return pearson(mid_ranks(metric, weights), mid_ranks(human, weights), weights)


def pearson(metric: Scores, human: Scores, weights: Floats | None = None) -> Floats:
    if weights is None or metric.ndim > 1 or human.ndim > 1 or not metric.size:
        return _pearson(metric, human, weights)
    x, y = metric - metric.mean(), human - human.mean()
    total, sums = weights.sum(-1), weights @ np.stack([x, y, x * x, y * y, x * y], axis=-1)
    sum_x, sum_y, squares_x, squares_y, products = np.moveaxis(sums, -1, 0)
    spread_x, spread_y = squares_x - ratio(sum_x**2, total), squares_y - ratio(sum_y**2, total)
    r = np.asarray(
        np.clip(ratio(products - ratio(sum_x * sum_y, total), np.sqrt(np.maximum(spread_x * spread_y, 0))), -1, 1)
    )
    imprecise = ~((spread_x > CANCELLED * squares_x) & (spread_y > CANCELLED * squares_y))
    if imprecise.any():
        r[imprecise] = _pearson(metric, human, weights[imprecise])
    return r


def _pearson(metric: Scores, human: Scores, weights: Floats | None) -> Floats:
    """Return r from the differences to the mean of each row, which lose no digits where a row is nearly constant."""
    dx, dy = _centred(metric, weights), _centred(human, weights)
    wx, wy = (dx, dy) if weights is None else (weights * dx, weights * dy)
    spread_x, spread_y = _dot(wx, dx), _dot(wy, dy)
    below = np.sqrt(spread_x * spread_y)
    if weights is None:
        flat = _flat(metric, spread_x) | _flat(human, spread_y)
    else:
        flat = constant(metric, weights) | constant(human, weights)
    return np.clip(ratio(_dot(wx, dy), np.where(flat, 0.0, below)), -1, 1)


def _flat(x: Scores, spread: Floats) -> Flags:
    """Return `constant(x)`, comparing scores only in rows whose sum of squares may come from rounding."""
    if not x.size:
        return constant(x)
    flat = np.zeros(x.shape[:-1], dtype=bool)
    doubtful = ~(spread > ROUNDING * x.shape[-1] * max(float(x.max()), -float(x.min())) ** 2)
    flat[doubtful] = constant(x[doubtful])
    return flat


def _dot(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.einsum("...n,...n->...", x, y))


def mid_ranks(values: Scores, weights: Floats | None = None) -> Floats:
    """Return ranks from 1, with mean ranks for ties, shape (…, n); an output of weight 3 takes three ranks."""
    if weights is None and values.ndim > 1:
        from scipy.stats import rankdata  # takes half a second to load, which the first page would wait for

        return np.asarray(rankdata(values, axis=-1), dtype=np.float64)
    rank = dense_ranks(values)
    size = WeightByRank(rank)(np.ones(len(rank)) if weights is None else weights)
    return np.asarray((np.cumsum(size, axis=-1) - (size - 1) / 2)[..., rank])


def _centred(x: Scores, weights: Floats | None) -> Floats:
    if weights is None:
        return np.asarray(x - x.mean(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    return np.asarray(x - ratio((weights * x).sum(-1, keepdims=True), total))


def constant(x: Scores, weights: Floats | None = None) -> Flags:
    """Return whether all scores of a row with a weight are equal, shape (…)."""
    if not x.shape[-1]:
        return np.ones(x.shape[:-1], dtype=bool)
    if weights is None:
        return np.asarray(x.max(-1) == x.min(-1))
    drawn = weights > 0
    first = np.take_along_axis(np.broadcast_to(x, drawn.shape), drawn.argmax(-1, keepdims=True), -1)
    return np.asarray(~(drawn & (x != first)).any(-1))


class TiedPairs(NamedTuple):
    """Pairs of outputs for the best ε of acc_eq, where a metric tie is |Δ metric| ≤ ε (Deutsch et al. 2023).

    `order` has all pairs: first the k that become correct (`gain` 1) or wrong (−1) when the metric ties them, by ascending
    |Δ metric|, then the others. `right` says, in this order, which are correct at ε = 0. `ends` are the places among
    the k where ε can lie: pairs of equal |Δ metric| tie together.
    """

    order: Ints
    right: Flags
    gain: npt.NDArray[np.int8]
    ends: Ints

    def best(self, weights: Floats | None = None) -> Floats:
        """Return the best acc_eq over all ε for each row of weights of the pairs in this order, shape (…, n_pairs)."""
        if weights is None:
            reached = np.cumsum(self.gain, dtype=np.int64)[self.ends].max(initial=0)
            return ratio(np.asarray(np.count_nonzero(self.right) + reached), np.asarray(len(self.right)))
        k = len(self.gain)
        # row by row: one row fits into the cache of the processor, a block does not
        rows = weights.reshape(math.prod(weights.shape[:-1]), weights.shape[-1])
        rise = [np.cumsum(row[:k] * self.gain)[self.ends].max(initial=0.0) for row in rows]
        return ratio(weights @ self.right + np.reshape(rise, weights.shape[:-1]), weights.sum(-1))


def tied_pairs(apart: Floats, human_sign: npt.NDArray[Any]) -> TiedPairs:
    """Sort pairs by their differences of metric scores, with the signs of the human differences, both of shape (n_pairs,)."""
    tied = human_sign == 0
    right = np.sign(apart) == human_sign
    gain = np.where(apart == 0, 0, tied.astype(np.int8) - right).astype(np.int8)
    changing, gap = np.flatnonzero(gain), np.abs(apart)
    changing = changing[np.argsort(gap[changing])]
    order = np.concatenate([changing, np.flatnonzero(gain == 0)])
    return TiedPairs(order, right[order], gain[changing], np.flatnonzero(np.diff(gap[changing], append=np.inf)))
