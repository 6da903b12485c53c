"""Percentile bootstrap intervals over segments or documents, for all agreement statistics of the Evaluate page.

All outputs of a drawn unit are used. Copies of the same output form no pair, so that acc_eq does not grow with the number of
copies. The best ε of acc_eq is recomputed in each draw, as in `core.stats.correlation.ties`. The same seed gives the same draws.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.progress import Progress, no_progress
from core.stats.bootstrap import Interval, draws_of, percentiles
from core.stats.checks import tables, vectors
from core.stats.correlation.batch import cells
from core.stats.correlation.correlation import (
    FUNCTIONS,
    Group,
    Measure,
    Statistic,
    group_ids,
    rows_by,
    system_agreement,
)
from core.stats.correlation.pairs import (
    Floats,
    Ints,
    dense_ranks,
    pairs_within,
    random_pairs_within,
    ratio,
    tau_b_by_weights,
)
from core.stats.means import equalized
from core.stats.pairwise_accuracy import at_least
from core.stats.significance.perm_both import agreement_with_ties
from core.stats.significance.random_signs import CELLS_AT_ONCE, random_signs
from core.stats.table import complete_table
from core.stats.threads import in_threads

MAX_WORK = 400_000_000
"""Maximum of pairs × draws for acc_eq; above it, all draws use one random sample of the pairs."""
SAMPLED = 300_000
PERMUTATIONS = 500
"""Per draw, for soft pairwise accuracy."""
MAX_SQUARE = 2500
"""Maximum number of outputs whose table of pairs is kept in memory, and for which all draws are computed at once."""
TOO_FEW = "an interval needs at least two segments or documents"


def agreement_interval(
    measure: Measure,
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
    units: Sequence[Hashable],
    seed: int,
    draws: int = 300,
    known: Statistic | None = None,
) -> Interval:
    """Return the agreement with its interval.

    `units` names the segment or document of each output, and `n` counts them; `known` is the agreement if already computed. By
    system, the segments common to all systems are resampled. Draws on which the statistic is undefined are left out; if they
    are the majority, there is no interval. None, with a reason, if the agreement is undefined.
    """
    m, h = vectors(metric, human)
    seen = known or agreement_with_ties(measure, m, h, group=group, segments=segments, systems=systems)
    ids = group_ids(units)
    n = int(ids.max(initial=-1)) + 1
    if seen.value is None or n < 2 or draws < 1:
        return Interval(seen.value, None, None, n, seen.reason or ("" if draws < 1 else TOO_FEW))
    if measure == "acc_eq" and group != "system":
        of, total = group_ids(segments) if group == "segment" else None, cells("acc_eq", len(m), group, segments)
        sampled = total * draws > MAX_WORK
        pairs = _Pairs.of(m, h, of, sampled=sampled, seed=seed)
        values = np.concatenate([pairs.best(block, ids) for block in _weights(n, seed, draws, len(pairs.right))])
        if sampled:
            values = np.clip(values - float(pairs.best(np.ones((1, n)), ids)[0]) + seen.value, 0, 1)
            note = f"the interval uses a random sample of {len(pairs.right):,} of {total:,} pairs"
            return _interval(seen.value, values, n, draws, note)
    elif group == "system":
        values = _by_system(measure, m, h, systems, segments, ids, seed, draws)
    elif group == "segment":
        values = _by_segment(seen, group_ids(segments), ids, n, seed, draws)
    else:
        values = _pooled(measure, m, h, ids, n, seed, draws)
    return _interval(seen.value, values, n, draws)


def _interval(value: float, drawn: Floats, n: int, draws: int, note: str = "") -> Interval:
    there = drawn[~np.isnan(drawn)]
    if not len(there) or len(there) < draws / 2:
        return Interval(value, None, None, n, f"undefined on {draws - len(there)} of {draws} resamples")
    return Interval(value, *percentiles(there), n, note)


def _weights(n: int, seed: int, draws: int, cells: int) -> Iterator[Floats]:
    """Yield the draws in blocks of shape (some, n) that fit in memory at `cells` numbers per draw."""
    block: list[Floats] = []
    for one in draws_of(n, seed, draws):
        block.append(one)
        if len(block) * max(1, cells) >= CELLS_AT_ONCE:
            yield np.stack(block)
            block = []
    if block:
        yield np.stack(block)


def _pooled(measure: Measure, m: Floats, h: Floats, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    if len(m) <= MAX_SQUARE and measure == "kendall":
        return _kendall(m, h, ids, n, seed, draws)
    if len(m) <= MAX_SQUARE and measure in ("pearson", "spearman"):
        return _linear(measure, m, h, ids, n, seed, draws)
    if measure == "kendall":
        return np.concatenate([tau_b_by_weights(m, h, block[:, ids]) for block in _weights(n, seed, draws, 4 * len(m))])
    found = [FUNCTIONS[measure](m, h, weights[ids]).value for weights in draws_of(n, seed, draws)]
    return np.array(found, dtype=np.float64)  # None becomes NaN


def _kendall(m: Floats, h: Floats, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    """Return τ-b of each draw, (C−D)/√(pairs without human tie · pairs without metric tie), from the signs of all pairs."""
    sm, sh = np.sign(np.subtract.outer(m, m)), np.sign(np.subtract.outer(h, h))
    product, metric, human = sm * sh, np.abs(sm), np.abs(sh)
    out = []
    for block in _weights(n, seed, draws, len(m)):
        w = block[:, ids]
        above, a, b = (((w @ table) * w).sum(1) for table in (product, metric, human))
        out.append(ratio(above, np.sqrt(a * b)))
    return np.concatenate(out)


def _linear(measure: Measure, m: Floats, h: Floats, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    """Return Pearson's r, or Spearman's ρ, of each draw; NaN if one side of a draw is constant."""
    ranks = dense_ranks(m), dense_ranks(h)
    out = []
    for block in _weights(n, seed, draws, len(m)):
        w = block[:, ids]
        total = w.sum(1, keepdims=True)
        constant = np.zeros(len(w), dtype=bool)
        sides = []
        for values, rank in zip((m, h), ranks, strict=True):
            constant |= np.where(w > 0, rank, len(m)).min(1) == np.where(w > 0, rank, -1).max(1)
            x = _drawn_ranks(w, rank) if measure == "spearman" else values
            sides.append(x - (w * x).sum(1, keepdims=True) / total)
        x, y = sides
        found = ratio((w * x * y).sum(1), np.sqrt((w * x * x).sum(1) * (w * y * y).sum(1))).clip(-1, 1)
        out.append(np.where(constant, np.nan, found))
    return np.concatenate(out)


def _drawn_ranks(weights: Floats, rank: Ints) -> Floats:
    """Return the ranks in each draw, as `weighted_ranks` does; both of shape (n_draws, n_outputs)."""
    order = np.argsort(rank, kind="stable")
    last = np.flatnonzero(np.diff(rank[order], append=len(rank)))
    upto = np.cumsum(weights[:, order], axis=1)[:, last]
    size = np.diff(upto, prepend=0.0, axis=1)
    return (upto - (size - 1) / 2)[:, rank]


def _by_segment(seen: Statistic, of: Ints, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    values = np.array(seen.by_group, dtype=np.float64)  # None becomes NaN
    unit = np.array([ids[rows[0]] for rows in rows_by(of)])
    out = []
    for block in _weights(n, seed, draws, len(values)):
        w = block[:, unit] * ~np.isnan(values)
        out.append(ratio(w @ np.nan_to_num(values), w.sum(1)))
    return np.concatenate(out)


def _by_system(
    measure: Measure,
    m: Floats,
    h: Floats,
    systems: Sequence[Hashable],
    segments: Sequence[Hashable],
    ids: Ints,
    seed: int,
    draws: int,
) -> Floats:
    table = complete_table(systems, segments)
    units = group_ids(ids[table.rows[0]].tolist())
    metric, human = table.of(m), table.of(h)
    largest_m, largest_h = np.abs(metric).max(axis=1, initial=0.0), np.abs(human).max(axis=1, initial=0.0)
    out: list[float | None] = []
    for block in _weights(int(units.max(initial=-1)) + 1, seed, draws, len(units)):
        w = block[:, units]
        w /= w.sum(1, keepdims=True)
        rows = w @ metric.T, w @ human.T
        means = [equalized(x, np.broadcast_to(y, x.shape)) for x, y in zip(rows, (largest_m, largest_h), strict=True)]
        out += [system_agreement(measure, a, b).value for a, b in zip(*means, strict=True)]
    return np.array(out, dtype=np.float64)


class _Pairs(NamedTuple):
    """Pairs of outputs i, j sorted by |Δ metric|.

    `right`: correct at ε = 0; `share`: 1/(pairs of the segment), 1 if pooled. `changing`: the pairs whose correctness changes
    when they are tied, by `gain`; `whole`: those among them after which ε can lie, as pairs of equal |Δ| tie together.
    """

    i: Ints
    j: Ints
    right: Floats
    share: Floats
    changing: Ints
    gain: Floats
    whole: Ints
    pooled: bool

    @classmethod
    def of(cls, m: Floats, h: Floats, segments: Ints | None, *, sampled: bool, seed: int) -> _Pairs:
        """Return all pairs, or `SAMPLED` of them, drawn with replacement and equal probability."""
        groups = [np.arange(len(m))] if segments is None else [r for r in rows_by(segments) if len(r) > 1]
        i, j, share = random_pairs_within(groups, SAMPLED, seed) if sampled else pairs_within(groups)
        share = np.ones(len(i)) if segments is None else share
        dm, dh = m[i] - m[j], h[i] - h[j]
        order = np.argsort(np.abs(dm), kind="stable")
        right = (np.sign(dm) == np.sign(dh)).astype(np.float64)
        gain = np.where(dm == 0, 0.0, (dh == 0) - right)[order]
        changing = np.flatnonzero(gain)
        gap = np.abs(dm)[order][changing]
        whole = np.flatnonzero(np.diff(gap, append=np.inf))
        return cls(i[order], j[order], right[order], share[order], changing, gain[changing], whole, segments is None)

    def best(self, block: Floats, ids: Ints) -> Floats:
        """Return the best acc_eq over all ε for each row of unit weights, (n_rows, n_units); NaN without pairs."""
        w = block.take(ids[self.i], axis=1)
        if self.pooled:
            w *= block.take(ids[self.j], axis=1)
        w *= self.share
        # row by row: one row fits into the cache of the processor, a block does not
        rise = [np.cumsum(row[self.changing] * self.gain)[self.whole].max(initial=0.0) for row in w]
        return ratio(w @ self.right + rise, w.sum(1))


def soft_pairwise_intervals(
    metrics: Mapping[str, npt.ArrayLike],
    human: npt.ArrayLike,
    *,
    units: Sequence[Hashable] = (),
    seed: int,
    draws: int = 200,
    progress: Progress = no_progress,
) -> dict[str, tuple[float, float]]:
    """Return bootstrap intervals of soft pairwise accuracy by metric; empty below two systems or two units.

    Tables have the shape (n_systems, n_segments); `units` names the unit of each segment. Each draw repeats the permutation
    test on the drawn segments for the human scores and all metrics.
    """
    people, *of_metrics = tables(human, *metrics.values())
    groups = rows_by(group_ids(units) if len(units) else np.arange(people.shape[1]))
    pairs = np.triu_indices(len(people), 1)
    if len(people) < 2 or len(groups) < 2:
        return {}
    rng = np.random.default_rng(seed)
    resampled = [
        (np.concatenate([groups[g] for g in rng.integers(0, len(groups), len(groups))]), int(rng.integers(2**31)))
        for _ in range(draws)
    ]

    def once(resample: tuple[Ints, int]) -> Floats:
        drawn, of_signs = resample
        counts = np.zeros((1 + len(of_metrics), len(people), len(people)))
        for signs in random_signs(len(drawn), of_signs, PERMUTATIONS):
            counts += [at_least(table[:, drawn], signs) for table in (people, *of_metrics)]
        p = counts[:, *pairs] / PERMUTATIONS
        found: Floats = 1 - np.abs(p[1:] - p[0]).mean(1)
        return found

    found = np.stack(in_threads(once, resampled, progress))
    return {name: percentiles(found[:, i]) for i, name in enumerate(metrics)}
