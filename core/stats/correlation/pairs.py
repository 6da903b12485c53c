"""Count pairs of outputs by how two scores order them, exactly and without listing all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SMALL = 128
CELLS = 2_000_000
"""Pairs whose signs `pair_counts_of` has in memory."""


class PairCounts(NamedTuple):
    """C, D, T_h, T_m and T_hm of METHODS section 5: concordant and discordant pairs, and human, metric and common ties.

    Whole numbers stored as floats.
    """

    concordant: float
    discordant: float
    human_only: float
    metric_only: float
    both: float

    @property
    def total(self) -> float:
        return sum(self)


def ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> Floats:
    """Return above/below, of one shape, with NaN where `below` is not positive."""
    quotient: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return quotient


def dense_ranks(values: npt.ArrayLike) -> Ints:
    """Return ranks 0, 1, … by ascending value; equal values share a rank."""
    return np.unique(np.asarray(values), return_inverse=True)[1].astype(np.int64).reshape(-1)


def pair_counts(metric: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> PairCounts:
    """Return the five counts over all pairs of `metric` and `human` (both of shape (n,)).

    `weights` are multiplicities: an output of weight 3 counts as three equal ones (as in a bootstrap draw).
    Uses the matrix of signs up to 128 outputs, else merge sort in O(n log² n); both are exact.
    """
    m, h = dense_ranks(metric), dense_ranks(human)
    w = np.ones(len(m)) if weights is None else np.asarray(weights, dtype=np.float64)
    metric_ties, human_ties = _tied(m, w), _tied(h, w)
    both = _tied(dense_ranks(m * (int(h.max(initial=0)) + 1) + h), w)
    total = float(w.sum() * (w.sum() - 1) / 2)
    if len(m) <= SMALL:
        product = np.sign(np.subtract.outer(m, m)) * np.sign(np.subtract.outer(h, h))
        discordant = float(w @ (product < 0) @ w / 2)
    else:
        order = np.lexsort((h, m))
        discordant = float(_inversions(h[order], w[order]))
    concordant = total - metric_ties - human_ties + both - discordant
    return PairCounts(concordant, discordant, human_ties - both, metric_ties - both, both)


def tau_b_by_weights(metric: Floats, human: Floats, weights: Floats) -> Floats:
    """Return τ-b for each row of weights, whole numbers of shape (n_rows, n); NaN if all pairs are tied on one side. O(n log² n) once,
    then O(n log n) per row."""
    m, h = dense_ranks(metric), dense_ranks(human)
    metric_ties, human_ties, both = (
        _tied_by_weights(r, weights) for r in (m, h, dense_ranks(m * (int(h.max(initial=0)) + 1) + h))
    )
    sums = weights.sum(1)
    order = np.lexsort((h, m))
    discordant = _inversions(h[order], weights[:, order])
    total = sums * (sums - 1) / 2
    concordant = total - metric_ties - human_ties + both - discordant
    untied = concordant + discordant
    return ratio(concordant - discordant, np.sqrt((untied + human_ties - both) * (untied + metric_ties - both)))


def _tied_by_weights(ranks: Ints, weights: Floats) -> Floats:
    order = np.argsort(ranks, kind="stable")
    sizes = np.add.reduceat(weights[:, order], np.flatnonzero(np.diff(ranks[order], prepend=-1)), axis=1)
    tied: Floats = (sizes * (sizes - 1)).sum(1) / 2
    return tied


def pair_counts_of(metric: Floats, human: Floats) -> list[PairCounts]:
    """Return `pair_counts` of many groups at once, both of shape (n_groups, n) with finite numbers."""
    found, at_once = list[PairCounts](), max(1, CELLS // max(1, metric.shape[1] ** 2))
    for begin in range(0, len(metric), at_once):
        m, h = metric[begin : begin + at_once], human[begin : begin + at_once]
        by_metric, by_human = _signs(m), _signs(h)
        product, n = by_metric * by_human, metric.shape[1]
        ties = [
            (by_human == 0) & (by_metric != 0),
            (by_metric == 0) & (by_human != 0),
            (by_metric == 0) & (by_human == 0),
        ]
        counted = [np.count_nonzero(which, axis=(1, 2)) / 2 for which in (product > 0, product < 0, *ties)]
        counted[-1] -= n / 2  # each output is tied with itself
        found += [PairCounts(*map(float, counts)) for counts in zip(*counted, strict=True)]
    return found


def _signs(of: Floats) -> npt.NDArray[np.int8]:
    """Return 1, 0 or −1 for each pair of a group, whether the first is greater: shape (n_groups, n, n)."""
    one, other = of[:, :, None], of[:, None, :]
    return (one > other).astype(np.int8) - (one < other).astype(np.int8)


def _tied(ranks: Ints, weights: Floats) -> float:
    size = np.bincount(ranks, weights) if len(ranks) else np.zeros(1)
    return float((size * (size - 1)).sum() / 2)


def _inversions(ranks: Ints, weights: Floats) -> Floats:
    """Return the weight of the pairs i < j with ranks[i] > ranks[j], by merge sort of all blocks of a width at once.

    `weights` are whole numbers of shape (…, n); the result has the shape (…).
    """
    n, span, found, width = len(ranks), int(ranks.max(initial=0)) + 1, np.zeros(weights.shape[:-1]), 1
    where = np.arange(n)
    while width < n:
        block = where // (2 * width)
        right = (where // width) % 2 == 1
        keys = block * span + ranks
        left_keys = keys[~right]  # ascending, because each half is already sorted
        heavier = np.zeros((*weights.shape[:-1], len(left_keys) + 1))
        np.cumsum(weights[..., ~right], axis=-1, out=heavier[..., 1:])
        end = np.searchsorted(left_keys, (block[right] + 1) * span)
        below = np.searchsorted(left_keys, keys[right], "right")
        found += (weights[..., right] * (heavier[..., end] - heavier[..., below])).sum(-1)
        order = np.argsort(keys, kind="stable")
        ranks, weights = ranks[order], weights[..., order]
        width *= 2
    return found


def pairs_within(groups: Sequence[Ints]) -> tuple[Ints, Ints, Floats]:
    """Return all pairs of rows i, j of each group, and 1/(pairs of the group)."""
    places = [(r[a], r[b], np.full(len(a), 1.0 / len(a))) for r in groups for a, b in [np.triu_indices(len(r), 1)]]
    if not places:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    i, j, share = (np.concatenate(column) for column in zip(*places, strict=True))
    return i, j, share


def random_pairs_within(groups: Sequence[Ints], size: int, seed: int) -> tuple[Ints, Ints, Floats]:
    """Return the same for `size` pairs drawn with replacement and equal probability from all groups."""
    sizes = np.array([len(r) for r in groups])
    pairs, rng = sizes * (sizes - 1) // 2, np.random.default_rng([seed, size])
    of = rng.choice(len(groups), size, p=pairs / pairs.sum()) if len(groups) > 1 else np.zeros(size, dtype=np.int64)
    first, other = rng.integers(0, sizes[of]), rng.integers(0, sizes[of] - 1)
    rows, start = np.concatenate(groups), (np.cumsum(sizes) - sizes)[of]
    return rows[start + first], rows[start + other + (other >= first)], 1.0 / pairs[of]


def weighted_ranks(values: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Floats:
    """Return ranks from 1, with mean ranks for ties; an output of weight 3 takes three ranks."""
    r = dense_ranks(values)
    w = np.ones(len(r)) if weights is None else np.asarray(weights, dtype=np.float64)
    size = np.bincount(r, w) if len(r) else np.zeros(1)
    return np.asarray(np.cumsum(size) - (size - 1) / 2, dtype=np.float64)[r]
