"""Percentile bootstrap intervals over segments or documents, for the agreement statistics.

All outputs of a drawn unit are used. Copies of the same output form no pair, so that acc_eq does not grow with the number of
copies. The best ε of acc_eq is recomputed in each draw, as in `core.stats.correlation.ties`. The same seed gives the same draws.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.bootstrap import Interval, drawn_interval, draws_of
from core.stats.correlation.correlation import (
    Group,
    Measure,
    Statistic,
    agreement_of_systems,
    agreement_values,
    cells,
    group_ids,
    rows_by,
)
from core.stats.correlation.kernel import TiedPairs, tied_pairs
from core.stats.correlation.pairs import Floats, Ints, pairs_within, random_pairs_within, ratio, tables, vectors
from core.stats.means import equalized
from core.stats.significance.perm_both import agreement_with_ties
from core.stats.significance.random_signs import CELLS_AT_ONCE
from core.stats.system_ranking import complete_table

MAX_WORK = 400_000_000
"""Maximum of pairs × draws for acc_eq; above it, all draws use one random sample of the pairs."""
SAMPLED = 300_000
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
        values = np.concatenate([pairs.best(block, ids) for block in _weights(n, seed, draws, len(pairs.i))])
        if sampled:
            values = np.clip(values - float(pairs.best(np.ones((1, n)), ids)[0]) + seen.value, 0, 1)
            note = f"the interval uses a random sample of {len(pairs.i):,} of {total:,} pairs"
            return drawn_interval(seen.value, values, n, note=note)
    elif group == "system":
        table = complete_table(systems, segments)
        weights = unit_draws(ids[table.rows[0]].tolist(), seed, draws)
        values = agreement_on_draws(measure, table.of(m), table.of(h), weights)
    elif group == "segment":
        values = _by_segment(seen, group_ids(segments), ids, n, seed, draws)
    else:
        # τ-b sorts the scores once per block; for the others, small blocks fit into the cache of the processor
        blocks = _weights(n, seed, draws, (4 if measure == "kendall" else 16) * len(m))
        values = np.concatenate([agreement_values(measure, m, h, block[:, ids]) for block in blocks])
    return drawn_interval(seen.value, values, n)


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


def _by_segment(seen: Statistic, of: Ints, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    values = np.array(seen.by_group, dtype=np.float64)  # None becomes NaN
    unit = np.array([ids[rows[0]] for rows in rows_by(of)])
    out = []
    for block in _weights(n, seed, draws, len(values)):
        w = block[:, unit] * ~np.isnan(values)
        out.append(ratio(w @ np.nan_to_num(values), w.sum(1)))
    return np.concatenate(out)


def unit_draws(units: Sequence[Hashable], seed: int, draws: int) -> Floats:
    """Return how often each segment is drawn, (draws, n_segments); `units` names its segment or document, the resampled unit."""
    ids = group_ids(units)
    drawn = list(draws_of(int(ids.max(initial=-1)) + 1, seed, draws)) if draws else []
    return np.stack(drawn)[:, ids] if drawn else np.zeros((0, len(ids)))


def agreement_on_draws(measure: Measure, metric: npt.ArrayLike, human: npt.ArrayLike, weights: Floats) -> Floats:
    """Return the measure of the systems' weighted means per draw, NaN if all systems are equal on one side.

    `metric` and `human` have the shape (n_systems, n_segments), `weights` (draws, n_segments). acc_eq is pairwise accuracy.
    """
    shares = weights / weights.sum(1, keepdims=True)
    means = []
    for table in tables(metric, human):
        rows = shares @ table.T
        largest = np.abs(table).max(axis=1, initial=0.0)
        means.append(equalized(rows, np.broadcast_to(largest, rows.shape)))
    return agreement_of_systems(measure, *means)


class _Pairs(NamedTuple):
    """Pairs of outputs i, j in the order of `tied`; `share`: 1/(pairs of the segment), 1 if pooled."""

    i: Ints
    j: Ints
    share: Floats
    tied: TiedPairs
    pooled: bool

    @classmethod
    def of(cls, m: Floats, h: Floats, segments: Ints | None, *, sampled: bool, seed: int) -> _Pairs:
        """Return all pairs, or `SAMPLED` of them, drawn with replacement and equal probability."""
        groups = [np.arange(len(m))] if segments is None else [r for r in rows_by(segments) if len(r) > 1]
        i, j, share = random_pairs_within(groups, SAMPLED, seed) if sampled else pairs_within(groups)
        share = np.ones(len(i)) if segments is None else share
        tied = tied_pairs(m[i] - m[j], np.sign(h[i] - h[j]))
        return cls(i[tied.order], j[tied.order], share[tied.order], tied, segments is None)

    def best(self, block: Floats, ids: Ints) -> Floats:
        """Return the best acc_eq over all ε for each row of unit weights, (n_rows, n_units); NaN without pairs."""
        w = block.take(ids[self.i], axis=1)
        if self.pooled:
            w *= block.take(ids[self.j], axis=1)
        w *= self.share
        return self.tied.best(w)
