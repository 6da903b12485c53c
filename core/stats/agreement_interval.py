"""How sure an agreement is: percentile bootstrap over segments or documents, for every statistic of the Evaluate page.

All outputs of a drawn unit come with it. A copy of an output makes no pair with itself, so that acc_eq does not grow with
the copies; ε of acc_eq is found anew in every draw, as in `core.stats.ties`. Metrics given the same seed share the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.batch import cells
from core.stats.bootstrap import Interval, draws_of, percentiles
from core.stats.checks import tables, vectors
from core.stats.correlation import FUNCTIONS, Group, Measure, Statistic, group_ids, rows_by, system_agreement
from core.stats.flips import CELLS_AT_ONCE, sign_flips
from core.stats.means import equalized
from core.stats.pairs import Floats, Ints, pairs_within, random_pairs_within
from core.stats.pairwise_accuracy import at_least
from core.stats.perm_both import agreement_with_ties
from core.stats.table import complete_table

MAX_WORK = 400_000_000
"""Pairs times draws of acc_eq; where there are more, all draws look at one random sample of the pairs."""
SAMPLED = 300_000
MAX_SQUARE = 2500
"""Outputs whose table of pairs fits in memory; more are counted draw by draw."""
TOO_FEW = "an interval needs at least two segments or documents"
Step = Callable[[int, int], None]
"""Called with the draws done and all of them."""


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
    level: float = 0.95,
    known: Statistic | None = None,
) -> Interval:
    """The agreement (`known`, where it has been computed already) with its interval; `units` names the segment or document of each output, `n` counts them.

    By system, the segments that every system has are resampled. Draws on which the statistic is undefined are left out;
    when they are most, there is no interval. None with the reason where the agreement itself is undefined.
    """
    m, h = vectors(metric, human)
    seen = known or agreement_with_ties(measure, m, h, group=group, segments=segments, systems=systems)
    ids = group_ids(units)
    n = int(ids.max(initial=-1)) + 1
    if seen.value is None or n < 2 or draws < 1:
        return Interval(seen.value, None, None, n, seen.reason or ("" if draws < 1 else TOO_FEW))
    if measure == "acc_eq" and group != "system":
        of, total = group_ids(segments) if group == "segment" else None, cells("acc_eq", len(m), group, segments)
        if total * draws > MAX_WORK:
            pairs = _Pairs.sampled(m, h, of, SAMPLED, seed)
            there = float(pairs.best(np.ones((1, n)), ids)[0])
            values = np.clip(_acc_eq(pairs, ids, n, seed, draws) - there + seen.value, 0, 1)
            told = f"the interval rests on a random sample of {len(pairs.gap):,} of {total:,} pairs"
            return _interval(seen.value, values, n, draws, level, told)
        values = _acc_eq(_Pairs.of(m, h, of), ids, n, seed, draws)
    elif group == "system":
        values = _by_system(measure, m, h, systems, segments, ids, seed, draws)
    elif group == "segment":
        values = _by_segment(measure, m, h, group_ids(segments), ids, n, seed, draws)
    else:
        values = _pooled(measure, m, h, ids, n, seed, draws)
    return _interval(seen.value, values, n, draws, level)


def _interval(value: float, drawn: Floats, n: int, draws: int, level: float, told: str = "") -> Interval:
    there = drawn[~np.isnan(drawn)]
    if not len(there) or len(there) < draws / 2:
        return Interval(value, None, None, n, f"undefined on {draws - len(there)} of {draws} resamples")
    return Interval(value, *percentiles(there, level), n, told)


def _weights(n: int, seed: int, draws: int, cells: int) -> Iterator[Floats]:
    """The draws in blocks of shape (some, n), so high that `cells` numbers a draw fit in memory."""
    block: list[Floats] = []
    for one in draws_of(n, seed, draws):
        block.append(one)
        if len(block) * max(1, cells) >= CELLS_AT_ONCE:
            yield np.stack(block)
            block = []
    if block:
        yield np.stack(block)


def _pooled(measure: Measure, m: Floats, h: Floats, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    if measure == "kendall" and len(m) <= MAX_SQUARE:
        return _kendall(m, h, ids, n, seed, draws)
    found = (FUNCTIONS[measure](m, h, weights[ids]).value for weights in draws_of(n, seed, draws))
    return np.array([np.nan if v is None else v for v in found])


def _kendall(m: Floats, h: Floats, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    """τ-b from the signs of all pairs, (C−D)/√(pairs not tied by people · pairs not tied by the metric)."""
    sm, sh = np.sign(np.subtract.outer(m, m)), np.sign(np.subtract.outer(h, h))
    product, metric, human = sm * sh, np.abs(sm), np.abs(sh)
    out = []
    for block in _weights(n, seed, draws, len(m)):
        w = block[:, ids]
        above, a, b = (((w @ table) * w).sum(1) for table in (product, metric, human))
        below = np.sqrt(a * b)
        out.append(np.divide(above, below, out=np.full(len(w), np.nan), where=below > 0))
    return np.concatenate(out)


def _by_segment(measure: Measure, m: Floats, h: Floats, of: Ints, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    """Each segment's value is computed once; a draw averages those of the segments drawn where it is defined."""
    groups = rows_by(of)
    found = [FUNCTIONS[measure](m[rows], h[rows]).value for rows in groups]
    unit = np.array([ids[rows[0]] for rows in groups])
    there = np.array([v is not None for v in found])
    values = np.array([0.0 if v is None else v for v in found])
    out = []
    for block in _weights(n, seed, draws, len(groups)):
        w = block[:, unit] * there
        total = w.sum(1)
        out.append(np.divide(w @ values, total, out=np.full(len(w), np.nan), where=total > 0))
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
    out = []
    for weights in draws_of(int(units.max(initial=-1)) + 1, seed, draws):
        w = weights[units] / weights[units].sum()
        value = system_agreement(measure, equalized(metric @ w, largest_m), equalized(human @ w, largest_h)).value
        out.append(np.nan if value is None else value)
    return np.array(out)


def _groups(m: Floats, segments: Ints | None) -> list[Ints]:
    return [np.arange(len(m))] if segments is None else [r for r in rows_by(segments) if len(r) > 1]


class _Pairs(NamedTuple):
    """Pairs of outputs i, j in order of |Δ metric| (`gap`): whether ε = 0 has them right, what tying them adds, and the
    share each has of its segment's pairs (1 when pooled)."""

    i: Ints
    j: Ints
    gap: Floats
    right: Floats
    gain: Floats
    share: Floats
    pooled: bool

    @classmethod
    def of(cls, m: Floats, h: Floats, segments: Ints | None) -> _Pairs:
        i, j, share = pairs_within(_groups(m, segments))
        return cls._of(m, h, i, j, np.ones(len(i)) if segments is None else share, segments is None)

    @classmethod
    def sampled(cls, m: Floats, h: Floats, segments: Ints | None, size: int, seed: int) -> _Pairs:
        """`size` of the pairs, drawn with replacement, each as likely as any other."""
        i, j, share = random_pairs_within(_groups(m, segments), size, seed)
        return cls._of(m, h, i, j, np.ones(size) if segments is None else share, segments is None)

    @classmethod
    def _of(cls, m: Floats, h: Floats, i: Ints, j: Ints, share: Floats, pooled: bool) -> _Pairs:
        dm, dh = m[i] - m[j], h[i] - h[j]
        order = np.argsort(np.abs(dm), kind="stable")
        right = (np.sign(dm) == np.sign(dh)).astype(np.float64)
        gain = np.where(dm == 0, 0.0, (dh == 0) - right)
        gap = np.abs(dm)[order]
        return cls(i[order], j[order], gap, right[order], gain[order], share[order], pooled)

    def best(self, block: Floats, ids: Ints) -> Floats:
        """The best acc_eq over all ε under each row of weights of the units, (n_rows, n_units); NaN without any pair."""
        whole = np.append(self.gap[1:] != self.gap[:-1], True)  # an ε ties all pairs of one gap, or none
        left, right = ids[self.i], ids[self.j]
        w = (block[:, left] * block[:, right] if self.pooled else block[:, left]) * self.share
        start, total = w @ self.right, w.sum(1)
        reached = start[:, None] + np.cumsum(w * self.gain, axis=1)[:, whole]
        most = np.maximum(start, reached.max(1))
        found: Floats = np.divide(most, total, out=np.full(len(w), np.nan), where=total > 0)
        return found


def _acc_eq(pairs: _Pairs, ids: Ints, n: int, seed: int, draws: int) -> Floats:
    return np.concatenate([pairs.best(block, ids) for block in _weights(n, seed, draws, len(pairs.gap))])


def soft_pairwise_intervals(
    metrics: Mapping[str, npt.ArrayLike],
    human: npt.ArrayLike,
    *,
    units: Sequence[Hashable] = (),
    seed: int,
    draws: int = 200,
    permutations: int = 500,
    level: float = 0.95,
    step: Step | None = None,
) -> dict[str, tuple[float, float]]:
    """Bootstrap intervals of soft pairwise accuracy; tables of shape (n_systems, n_segments), `units` as above by segment.

    Every draw runs the permutation test again on the segments drawn, for people and metrics at once. Nothing below two
    systems or two units.
    """
    people, *of_metrics = tables(human, *metrics.values())
    groups = rows_by(group_ids(units) if len(units) else np.arange(people.shape[1]))
    pairs = np.triu_indices(len(people), 1)
    if len(people) < 2 or len(groups) < 2:
        return {}
    rng = np.random.default_rng(seed)
    found = np.zeros((draws, len(of_metrics)))
    for k in range(draws):
        drawn = np.concatenate([groups[g] for g in rng.integers(0, len(groups), len(groups))])
        counts = np.zeros((1 + len(of_metrics), len(people), len(people)))
        for signs in sign_flips(len(drawn), int(rng.integers(2**31)), permutations):
            counts += [at_least(table[:, drawn], signs) for table in (people, *of_metrics)]
        p = counts[:, *pairs] / permutations
        found[k] = 1 - np.abs(p[1:] - p[0]).mean(1)
        if step is not None:
            step(k + 1, draws)
    return {name: percentiles(found[:, i], level) for i, name in enumerate(metrics)}
