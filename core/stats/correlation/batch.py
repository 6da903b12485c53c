"""Compute an agreement statistic for many score vectors at once against the same human scores, for resampling.

The value of each row is that of `core.stats.correlation.correlation.agreement`, NaN where undefined. acc_eq is calibrated
(`core.stats.correlation.ties`) within segments and pooled, and has ε = 0 on systems' means.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from core.stats.correlation.correlation import Group, Measure, check_measure, group_ids, tau_b
from core.stats.correlation.pairs import SMALL, Floats, Ints, pair_counts, ratio
from core.stats.correlation.ties import blocks_by_size
from core.stats.means import equalized, group_means

Many = Callable[[Floats], Floats]
"""Scores of shape (n_vectors, n_outputs) in, values of shape (n_vectors,) out."""
OfGroups = Callable[[Floats, Floats], Floats]
"""Scores (n_vectors, n_groups, size) and human scores (n_groups, size) in, values (n_vectors, n_groups) out."""


def evaluator(
    measure: Measure,
    human: Floats,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> Many:
    """Return the function that computes the agreement of many score vectors with `human`, shape (n_outputs,)."""
    check_measure(measure, group)
    if group == "system":
        ids = group_ids(systems)
        inner = _grouped(measure, group_means(human, ids), blocks_by_size((), int(ids.max(initial=-1)) + 1), plain=True)
        return lambda scores: inner(_means(scores, ids))
    return _grouped(measure, human, blocks_by_size(segments if group == "segment" else (), len(human)), plain=False)


def acc_eq_of_pairs(human: Floats, i: Ints, j: Ints) -> Many:
    """Return the function that computes the calibrated acc_eq of many score vectors over these pairs of outputs."""

    def many(scores: Floats) -> Floats:
        return _best(*_gaps_and_gains(scores[:, i] - scores[:, j], np.sign(human[i] - human[j]), 1.0 / len(i)))

    return many


def cells(measure: Measure, n: int, group: Group, segments: Sequence[Hashable] = ()) -> int:
    """Return how many numbers a score vector of n outputs needs: its pairs, if the measure is computed from pairs."""
    if measure in ("pearson", "spearman") or group == "system":
        return n
    blocks = blocks_by_size(segments if group == "segment" else (), n)
    through = [b for b in blocks if measure == "acc_eq" or b.shape[1] <= SMALL]
    pairs: int = sum(int(b.size) * (b.shape[1] - 1) // 2 for b in through)
    return max(n, pairs)


def _grouped(measure: Measure, human: Floats, blocks: Sequence[Ints], *, plain: bool) -> Many:
    if measure == "acc_eq" and not plain:
        return partial(_calibrated, human=human, blocks=blocks)
    of_groups: OfGroups = {"kendall": _kendall, "spearman": _spearman, "pearson": _pearson, "acc_eq": _plain_acc_eq}[
        measure
    ]

    def many(scores: Floats) -> Floats:
        total, defined = np.zeros(len(scores)), np.zeros(len(scores))
        for rows in blocks:
            values = of_groups(scores[:, rows], human[rows])
            there = ~np.isnan(values)
            total += np.where(there, values, 0.0).sum(1)
            defined += there.sum(1)
        return ratio(total, defined)

    return many


def _means(scores: Floats, ids: Ints) -> Floats:
    order = np.argsort(ids, kind="stable")
    size = np.bincount(ids)
    ordered, starts = scores[:, order], np.cumsum(size) - size
    means: Floats = np.add.reduceat(ordered, starts, axis=1) / size
    return equalized(means, np.maximum.reduceat(np.abs(ordered), starts, axis=1))


def _pearson(scores: Floats, human: Floats) -> Floats:
    dm, dh = scores - scores.mean(-1, keepdims=True), human - human.mean(-1, keepdims=True)
    below = np.sqrt((dm**2).sum(-1) * (dh**2).sum(-1))
    return np.clip(ratio((dm * dh).sum(-1), np.where(_varies(scores, human), below, 0.0)), -1, 1)


def _spearman(scores: Floats, human: Floats) -> Floats:
    return _pearson(rankdata(scores, axis=-1), rankdata(human, axis=-1))


def _signs(scores: Floats) -> Floats:
    i, j = np.triu_indices(scores.shape[-1], 1)
    return np.sign(scores[..., i] - scores[..., j])


def _kendall(scores: Floats, human: Floats) -> Floats:
    if scores.shape[-1] > SMALL:
        values = [[tau_b(pair_counts(m, h)) for m, h in zip(one, human, strict=True)] for one in scores]
        return np.array(values, dtype=np.float64)
    metric_signs, human_signs = _signs(scores), _signs(human)
    below = np.sqrt(np.abs(metric_signs).sum(-1) * np.abs(human_signs).sum(-1))
    return ratio((metric_signs * human_signs).sum(-1), below)


def _plain_acc_eq(scores: Floats, human: Floats) -> Floats:
    return np.where(_varies(scores, human), (_signs(scores) == _signs(human)).mean(-1), np.nan)


def _varies(scores: Floats, human: Floats) -> npt.NDArray[np.bool_]:
    varies: npt.NDArray[np.bool_] = (scores.max(-1) > scores.min(-1)) & (human.max(-1) > human.min(-1))
    return varies


def _calibrated(scores: Floats, *, human: Floats, blocks: Sequence[Ints]) -> Floats:
    """Return the best acc_eq over all ε of each vector, from the pairs sorted by |Δ| and their gains when tied."""
    n_groups = sum(len(b) for b in blocks)
    if not n_groups:
        return np.full(len(scores), np.nan)
    parts = []
    for rows in blocks:
        i, j = np.triu_indices(rows.shape[1], 1)
        of_groups = scores[:, rows]
        dm = (of_groups[..., i] - of_groups[..., j]).reshape(len(scores), -1)
        parts.append(_gaps_and_gains(dm, _signs(human[rows]).reshape(-1), 1.0 / (len(i) * n_groups)))
    start, gaps, gains = zip(*parts, strict=True)
    return _best(np.sum(start, axis=0), np.concatenate(gaps, axis=1), np.concatenate(gains, axis=1))


def _gaps_and_gains(dm: Floats, human_sign: Floats, share: float) -> tuple[Floats, Floats, Floats]:
    """Return the value at ε = 0 (n_vectors,), |Δ metric| and the gain of each pair when tied, both (n_vectors, n_pairs)."""
    right = np.sign(dm) == human_sign
    gain = share * np.where(dm == 0, 0.0, (human_sign == 0) - right.astype(np.float64))
    return share * right.sum(1), np.abs(dm), gain


def _best(start: Floats, gap: Floats, gain: Floats) -> Floats:
    order = np.argsort(gap, axis=1)
    gap = np.take_along_axis(gap, order, 1)
    reached = start[:, None] + np.cumsum(np.take_along_axis(gain, order, 1), axis=1)
    reached[:, :-1][gap[:, 1:] == gap[:, :-1]] = -np.inf  # pairs of equal gap tie together
    best: Floats = np.maximum(start, reached.max(1))
    return best
