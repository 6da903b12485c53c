"""Arrays of scores, and the pairs of outputs: counted by how two scores order them, or listed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
SMALL = 128
"""Up to so many outputs, each is compared with every other, and above they are sorted."""
CELLS = 1_000_000
"""Comparisons at a time, so that they fit into the cache of the processor."""
NUMBERS = 200_000
"""Weights at a time, for the same reason."""


class PairCounts(NamedTuple):
    """Concordant and discordant pairs, and those tied by the human scores only, by the metric only, and by both; one number per row."""

    concordant: Floats
    discordant: Floats
    human_only: Floats
    metric_only: Floats
    both: Floats

    @property
    def total(self) -> Floats:
        return sum(self, np.zeros(()))


def ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> Floats:
    """Return above/below, of one shape, with NaN where `below` is not positive."""
    quotient: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return quotient


def vectors(*scores: npt.ArrayLike) -> tuple[Floats, ...]:
    """Return float arrays of one shape (n,). Raises `ValueError` for other shapes and for values that are not finite."""
    return _same(scores, 1)


def tables(*scores: npt.ArrayLike) -> tuple[Floats, ...]:
    """Return float arrays of one shape (n_systems, n_segments). Raises `ValueError` as `vectors` does."""
    return _same(scores, 2)


def _same(scores: tuple[npt.ArrayLike, ...], dimensions: int) -> tuple[Floats, ...]:
    arrays = tuple(np.asarray(s, dtype=np.float64) for s in scores)
    if any(a.ndim != dimensions or a.shape != arrays[0].shape for a in arrays):
        raise ValueError(f"scores of different shape: {' and '.join(str(a.shape) for a in arrays)}")
    if not all(np.isfinite(a).all() for a in arrays):
        raise ValueError("scores must be finite numbers; leave missing ones out")
    return arrays


def changes(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return the rows that differ from the row before, and the first one; each column has the shape (n,)."""
    changed = np.zeros(len(columns[0]), dtype=bool)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def dense_ranks(values: npt.ArrayLike) -> Ints:
    """Return ranks 0, 1, … by ascending value; equal values share a rank."""
    return np.unique(np.asarray(values), return_inverse=True)[1].astype(np.int64).reshape(-1)


def pair_counts(metric: npt.ArrayLike, human: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> PairCounts:
    """Return the five counts over all pairs along the last axis: exact whole numbers stored as floats, one per row.

    `metric` and `human` have shapes (…, n) that can be broadcast. `weights`, shape (…, n) with scores of shape (n,), are
    multiplicities: an output of weight 3 counts as three equal ones (as in a bootstrap draw). Takes O(n²) per row up to
    `SMALL` outputs, and O(n log n) above and for each row of weights.
    """
    m, h = np.asarray(metric), np.asarray(human)
    w = None if weights is None else np.asarray(weights, dtype=np.float64)
    if m.ndim == h.ndim == 1 and (len(m) > SMALL or (w is not None and w.ndim > 1)):
        return _by_sorting(m, h, np.ones(len(m)) if w is None else w)
    shape = np.broadcast_shapes(m.shape, h.shape)
    n = shape[-1]
    if n > SMALL:
        metrics, humans = (np.broadcast_to(x, shape).reshape(-1, n) for x in (m, h))
        once = np.ones(n)
        counts = np.array([_by_sorting(a, b, once) for a, b in zip(metrics, humans, strict=True)], dtype=np.float64)
        return PairCounts(*counts.reshape(-1, 5).T.reshape(5, *shape[:-1]))
    step = max(1, CELLS // max(1, math.prod(shape[1:]) * n))
    if len(shape) == 1 or shape[0] <= step:
        return _by_comparing(m, h, w)

    def part(x: npt.NDArray[Any], k: int) -> npt.NDArray[Any]:
        return x[k : k + step] if x.shape[:1] == shape[:1] and x.ndim == len(shape) else x

    parts = [_by_comparing(part(m, k), part(h, k), w) for k in range(0, shape[0], step)]
    return PairCounts(*(np.concatenate(counts) for counts in zip(*parts, strict=True)))


def _by_comparing(metric: npt.NDArray[Any], human: npt.NDArray[Any], weights: Floats | None) -> PairCounts:
    """Count the pairs of scores of shapes (…, n) by comparing each output with every other."""
    n = metric.shape[-1]
    metric, human = np.ascontiguousarray(metric), np.ascontiguousarray(human)
    above = metric[..., :, None] > metric[..., None, :]
    higher, lower = human[..., :, None] > human[..., None, :], human[..., :, None] < human[..., None, :]

    def count(chosen: npt.NDArray[np.bool_]) -> Floats:
        if weights is not None:
            return np.asarray(chosen @ weights @ weights)
        chosen = chosen.reshape(*chosen.shape[:-2], n * n)
        return np.asarray(chosen.astype(np.float32) @ np.ones(n * n, dtype=np.float32), dtype=np.float64)

    concordant, discordant = count(above & higher), count(above & lower)
    ordered = concordant + discordant
    human_only, metric_only = count(above) - ordered, count(higher) - ordered
    size = float(n if weights is None else weights.sum())
    both = size * (size - 1) / 2 - ordered - human_only - metric_only
    return PairCounts(concordant, discordant, human_only, metric_only, both)


def _by_sorting(metric: npt.NDArray[Any], human: npt.NDArray[Any], weights: Floats) -> PairCounts:
    """Count the pairs of scores of shape (n,) for each row of weights, shape (…, n), by merge sort."""
    m, h = dense_ranks(metric), dense_ranks(human)
    common = dense_ranks(m * (int(h.max(initial=0)) + 1) + h)
    order = np.lexsort((h, m))
    steps, groups = _merge_steps(h[order]), [WeightByRank(ranks) for ranks in (m, h, common)]

    def counted(some: Floats) -> tuple[Floats, ...]:
        by_metric, by_human, both = ((size * (size - 1)).sum(-1) / 2 for size in (group(some) for group in groups))
        discordant = _inversions(steps, some[..., order])
        size = some.sum(-1)
        concordant = size * (size - 1) / 2 - by_metric - by_human + both - discordant
        return concordant, discordant, by_human - both, by_metric - both, both

    if weights.ndim == 1:
        return PairCounts(*counted(weights))
    step = max(1, NUMBERS // max(1, len(m)))
    parts = [counted(weights[k : k + step]) for k in range(0, max(1, len(weights)), step)]
    return PairCounts(*(np.concatenate(counts) for counts in zip(*parts, strict=True)))


class WeightByRank:
    """Sums weights, shape (…, n), by dense rank, shape (n,): the sums have the shape (…, n_ranks)."""

    def __init__(self, ranks: Ints) -> None:
        self._ranks = ranks
        self._order = np.argsort(ranks, kind="stable")
        self._start = np.flatnonzero(np.diff(ranks[self._order], prepend=-1))

    def __call__(self, weights: Floats) -> Floats:
        if weights.ndim == 1:
            return np.asarray(np.bincount(self._ranks, weights), dtype=np.float64)
        ordered = weights[..., self._order]
        return ordered if len(self._start) == len(self._order) else np.add.reduceat(ordered, self._start, axis=-1)


class _MergeStep(NamedTuple):
    """Merge of pairs of neighbouring blocks: which places are in the `right` block of a pair, from which to which of the other
    places are those of the left block with a greater rank (`low`, `high`), and the `order` after the merge."""

    right: npt.NDArray[np.bool_]
    low: Ints
    high: Ints
    order: Ints


def _merge_steps(ranks: Ints) -> list[_MergeStep]:
    """Return the steps of a merge sort of all blocks of a width at once."""
    n, span, width, steps = len(ranks), int(ranks.max(initial=0)) + 1, 1, list[_MergeStep]()
    where = np.arange(n)
    while width < n:
        block = where // (2 * width)
        right = (where // width) % 2 == 1
        keys = block * span + ranks
        left_keys = keys[~right]  # ascending, because each half is already sorted
        high = np.searchsorted(left_keys, (block[right] + 1) * span)
        low = np.searchsorted(left_keys, keys[right], "right")
        order = np.argsort(keys, kind="stable")
        steps.append(_MergeStep(right, low, high, order))
        ranks = ranks[order]
        width *= 2
    return steps


def _inversions(steps: Sequence[_MergeStep], weights: Floats) -> Floats:
    """Return the weight of the pairs i < j with ranks[i] > ranks[j], for whole numbers of shape (…, n); the result has the shape (…)."""
    inversions = np.zeros(weights.shape[:-1])
    for right, low, high, order in steps:
        left = weights[..., ~right]
        upto = np.zeros((*left.shape[:-1], left.shape[-1] + 1))
        np.cumsum(left, axis=-1, out=upto[..., 1:])
        inversions += (weights[..., right] * (upto[..., high] - upto[..., low])).sum(-1)
        weights = weights[..., order]
    return inversions


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
