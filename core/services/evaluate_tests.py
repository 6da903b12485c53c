"""What stands behind the table of agreements: tests between metrics, systems compared, and agreement on parts of the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from core.services.evaluate import (
    NO_SEGMENTS,
    Choice,
    Evaluation,
    Joined,
    Name,
    Step,
    Unit,
    evaluate,
    measure_of,
)
from core.stats.agreement_interval import soft_pairwise_intervals
from core.stats.bootstrap import mean_interval
from core.stats.buckets import quantile_buckets
from core.stats.clusters import rank_clusters, wins_of
from core.stats.correlation import group_ids
from core.stats.means import group_means, row_means
from core.stats.perm_both import perm_both
from core.stats.significance import Comparison, holm
from core.stats.system_comparison import compare_systems
from core.stats.williams import williams

ALPHA = 0.05
HUMAN = "human"
LARGEST_K = 6
By = Literal["length", "quality"]
NO_TEST = "There is no test between metrics for soft pairwise accuracy here; test by pairwise accuracy."


class Pair(NamedTuple):
    """Two metrics by name, the better one first: the difference of their agreements, p, and Holm's p over all pairs."""

    first: str
    second: str
    difference: float | None
    p: float | None
    adjusted: float | None
    reason: str


class Matrix(NamedTuple):
    """Pairs of `names`, which stand from best to worst: all, or the best with each other one. `tied`: the best and those not significantly worse than it."""

    statistic: Name
    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    test: str
    draws: int
    tied: tuple[str, ...]

    @property
    def all_pairs(self) -> bool:
        return len(self.pairs) == len(self.names) * (len(self.names) - 1) // 2

    @property
    def significant(self) -> int:
        return sum(p.adjusted is not None and p.adjusted <= ALPHA for p in self.pairs)


class SystemMean(NamedTuple):
    """A system's mean with its interval and its rank cluster, 1 the best."""

    system: str
    mean: float
    low: float | None
    high: float | None
    n: int
    cluster: int


class SystemTest(NamedTuple):
    """Two systems: difference of means with its bootstrap interval, p of approximate randomization, Holm's p over all pairs,
    and the difference that as many segments would show in 8 of 10 trials."""

    first: str
    second: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    detectable: float | None
    reason: str


class Systems(NamedTuple):
    """`means` from best to worst; `dropped` segments lack a system and are left out."""

    means: tuple[SystemMean, ...]
    tests: tuple[SystemTest, ...]
    segments: int
    dropped: int
    reason: str = ""


class Part(NamedTuple):
    """Agreement on a part of the outputs."""

    label: str
    outputs: int
    found: Evaluation


def draws_for(pairs: int) -> int:
    """So many draws that Holm's smallest p over these pairs is at most .025; at least 1,000."""
    return max(1000, 40 * pairs - 1)


def contenders(found: Evaluation, statistic: Name) -> list[str]:
    """Return who is tested: all ranked metrics, best first, and the strongest ranked sentinel."""
    strongest = found.best(statistic, sentinel=True)
    tested = {r.name for r in found.ranked(statistic)} | ({strongest.name} if strongest is not None else set())
    return [n for n in found.order(statistic) if n in tested]


def compare_metrics(found: Evaluation, statistic: Name, step: Step | None = None, *, all_pairs: bool = True) -> Matrix:
    """Williams's test for Pearson over single outputs or systems' means, PERM-BOTH otherwise; two-sided, Holm over all pairs
    that are tested: each with each, or the best with each other one.

    Raises `ValueError` for soft pairwise accuracy, `UserError` where there are too many pairs of outputs.
    """
    if statistic == "soft_pairwise":
        raise ValueError(NO_TEST)
    choice = found.choice
    data = found.joined.whole() if choice.level == "system" else found.joined
    value = {n: found.of(n, statistic).value or 0.0 for n in contenders(found, statistic)}
    names = sorted(value, key=lambda n: -value[n])
    by_formula = statistic == "pearson" and choice.of_pairs != "segment"
    pairs = [p for p in combinations(names, 2) if all_pairs or p[0] == names[0]]
    draws = 0 if by_formula else draws_for(len(pairs))
    tests = []
    for k, (first, second) in enumerate(pairs):
        tests.append(_test(data, first, second, statistic, choice, draws))
        if step is not None:
            step(k + 1, len(pairs))
    adjusted = holm([t.p for t in tests])
    rows = tuple(
        Pair(a, b, t.difference, t.p, q, t.reason) for (a, b), t, q in zip(pairs, tests, adjusted, strict=True)
    )
    tied = names[:1] + [r.second for r in rows if r.first == names[0] and (r.adjusted is None or r.adjusted > ALPHA)]
    test = "Williams’s test" if by_formula else f"PERM-BOTH, {draws:,} draws"
    return Matrix(statistic, tuple(names), rows, test, draws, tuple(tied))


def _test(data: Joined, first: str, second: str, statistic: Name, choice: Choice, draws: int) -> Comparison:
    x, y = data.scores[first], data.scores[second]
    if draws:
        return perm_both(
            measure_of(statistic), x, y, data.human, group=choice.of_pairs, segments=data.of_segment,
            systems=data.of_system, seed=choice.seed, draws=draws,
        )  # fmt: skip
    if choice.level == "system":
        table = data.table
        means = [row_means(table.of(v)) for v in (x, y, data.human)]
        return williams(means[0], means[1], means[2])
    return williams(x, y, data.human)


def with_soft_intervals(found: Evaluation, step: Step | None = None, *, draws: int = 200) -> Evaluation:
    """The same with the intervals of soft pairwise accuracy."""
    data = found.joined.whole()
    there = [r.name for r in found.rows if r.statistic == "soft_pairwise" and r.value is not None]
    tables = {name: data.table.of(data.scores[name]) for name in there}
    units = _units(data, found.choice.unit)
    known = soft_pairwise_intervals(
        tables, data.table.of(data.human), units=units, seed=found.choice.seed, draws=draws, step=step
    )
    return found._replace(
        rows=tuple(
            r._replace(low=known[r.name][0], high=known[r.name][1], reason="")
            if r.statistic == "soft_pairwise" and r.name in known
            else r
            for r in found.rows
        )
    )


def _units(data: Joined, unit: Unit) -> list[str]:
    """The document of each segment of the table; nothing when segments are resampled."""
    return [str(data.keys[i].doc_id) for i in data.table.rows[0]] if unit == "document" else []


def compare_all_systems(joined: Joined, name: str, *, unit: Unit = "segment", seed: int = 0) -> Systems:
    """Every pair of systems by what people said (`HUMAN`) or by a metric, on the segments that all of them have."""
    data = joined.whole()
    segments, dropped = data.n_segments, joined.n_segments - data.n_segments
    if segments < 2 or len(data.systems) < 2:
        reason = NO_SEGMENTS if segments < 2 else "at least two systems are needed"
        return Systems((), (), segments, dropped, reason)
    table = data.table
    values = table.of(data.human if name == HUMAN else data.scores[name])
    units = _units(data, unit)
    tests = compare_systems(values, seed=seed, units=units)
    systems, means = data.systems, row_means(values).tolist()
    pairs = [(t.first, t.second) for t in tests]
    wins = wins_of(len(systems), pairs, [t.randomization.difference for t in tests], [t.adjusted for t in tests], ALPHA)
    clusters = rank_clusters(means, wins)
    rows = []
    for i, system in enumerate(systems):
        interval = mean_interval(values[i], seed, units=units)
        rows.append(SystemMean(system, means[i], interval.low, interval.high, segments, clusters[i]))
    found = []
    for t in tests:
        i, j = (t.first, t.second) if means[t.first] >= means[t.second] else (t.second, t.first)
        low, high = t.bootstrap.low, t.bootstrap.high
        if i != t.first and low is not None and high is not None:
            low, high = 0.0 - high, 0.0 - low
        found.append(
            SystemTest(
                systems[i],
                systems[j],
                means[i] - means[j],
                low,
                high,
                t.randomization.p,
                t.adjusted,
                t.detectable,
                t.randomization.reason or t.detectable_reason,
            )  # fmt: skip
        )
    rows.sort(key=lambda r: -r.mean)
    place = {r.system: k for k, r in enumerate(rows)}
    found.sort(key=lambda t: (place[t.first], place[t.second]))
    return Systems(tuple(rows), tuple(found), segments, dropped)


def top_systems(joined: Joined, choice: Choice, statistic: Name, step: Step | None = None) -> list[Part]:
    """Agreement on the K systems that people like best (by mean), for up to six values of K from all down to two."""
    data = joined.whole() if choice.level == "system" else joined
    names = data.systems
    means = dict(zip(names, group_means(data.human, group_ids(data.of_system)).tolist(), strict=True))
    best = sorted(names, key=lambda s: -means[s])
    every = np.linspace(2, len(best), min(LARGEST_K, max(0, len(best) - 1))).round().astype(int)
    parts = [(f"top {k}" if k < len(best) else f"all {k}", set(best[:k])) for k in sorted(set(every.tolist()))[::-1]]
    return _parts(
        data, [(label, [k.system in kept for k in data.keys]) for label, kept in parts], choice, statistic, step
    )


def buckets(
    joined: Joined, choice: Choice, statistic: Name, by: By, lengths: Sequence[float], step: Step | None = None
) -> list[Part]:
    """Agreement on segments in three buckets, by the mean length of their outputs or their mean human score; whole segments,
    so that every pair within one is kept. `lengths` in characters, one an output."""
    values = np.asarray(lengths if by == "length" else joined.human, dtype=np.float64)
    segments = list(dict.fromkeys(joined.of_segment))
    at = {s: i for i, s in enumerate(segments)}
    ids = np.array([at[s] for s in joined.of_segment], dtype=np.int64)
    if not len(ids):
        return []
    found = quantile_buckets(np.bincount(ids, values) / np.bincount(ids), 3)
    digits = 0 if by == "length" else 1
    unit = " characters" if by == "length" else ""
    parts = []
    for k, bucket in enumerate(found.buckets):
        label = f"{bucket.low:.{digits}f} to {bucket.high:.{digits}f}{unit}".replace("-", "−").replace("−0.0", "0.0")
        parts.append((label, (found.of[ids] == k).tolist()))
    return _parts(joined, parts, choice, statistic, step)


def _parts(
    data: Joined, parts: Sequence[tuple[str, list[bool]]], choice: Choice, statistic: Name, step: Step | None
) -> list[Part]:
    found = []
    for k, (label, keep) in enumerate(parts):
        part = data.only(keep)
        found.append(Part(label, len(part.keys), evaluate(part, choice, (statistic,))))
        if step is not None:
            step(k + 1, len(parts))
    return found
