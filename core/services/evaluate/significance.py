"""Significance tests between metrics and between systems, and agreement on subsets of the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from core.formatting import format_number
from core.progress import Progress, no_progress
from core.services.evaluate.evaluate import (
    NO_SEGMENTS,
    AgreementOptions,
    Evaluation,
    StatisticName,
    evaluate,
    measure_of,
)
from core.services.evaluate.evaluation_data import EvaluationData, Unit
from core.stats.bootstrap import mean_interval, method_of
from core.stats.buckets import quantile_buckets
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats
from core.stats.means import group_means, row_means
from core.stats.significance.perm_both import CLEAR, ENOUGH, FEWEST, PermBoth, williams
from core.stats.significance.system_comparison import Comparison, Ended, compare_systems, holm, rank_ranges, wins_of
from core.stats.system_ranking import soft_pairwise_intervals

ALPHA = 0.05
HUMAN = "human"
LARGEST_K = 6
NAMED = 5
SOFT_DRAWS = 200
By = Literal["length", "quality"]
NO_TEST = "Soft pairwise accuracy has no test between metrics. Use pairwise accuracy."


class MetricComparison(NamedTuple):
    """Two metrics by name, the better one first: difference of their agreements, p, and p adjusted by Holm over all pairs.

    `draws` were made (0 for a test by formula). `ended` says why they are fewer than those of other pairs (`Comparison`).
    """

    first: str
    second: str
    difference: float | None
    p: float | None
    adjusted: float | None
    reason: str
    draws: int = 0
    ended: Ended = ""


class SignificanceMatrix(NamedTuple):
    """Tests between `names`, which are ordered best first: all pairs, or the best metric with each other one.

    `tied` are the best metric, first, and what is not significantly worse, which may be a baseline that is better.
    """

    statistic: StatisticName
    names: tuple[str, ...]
    pairs: tuple[MetricComparison, ...]
    test: str
    draws: int
    tied: tuple[str, ...]

    @property
    def all_pairs(self) -> bool:
        return len(self.pairs) == len(self.names) * (len(self.names) - 1) // 2

    @property
    def best(self) -> str:
        """Return the name of the best metric. A baseline may be better."""
        return self.tied[0]

    @property
    def of_best(self) -> list[MetricComparison]:
        """Return the tests of the best metric."""
        return [p for p in self.pairs if self.best in (p.first, p.second)]

    @property
    def significant(self) -> int:
        return sum(p.adjusted is not None and p.adjusted <= ALPHA for p in self.pairs)

    @property
    def ended_early(self) -> str:
        """Return how many tests made fewer draws, why, and what their p is; "" if none."""
        reached, clear = (sum(p.ended == why for p in self.pairs) for why in ("reached", "clear"))
        parts = []
        if reached:
            parts.append(
                f"{reached:,} when, after at least {FEWEST:,} draws, {ENOUGH} had reached the observed difference (p = {ENOUGH}/draws; "
                "Besag and Clifford 1991)"
            )
        if clear:
            parts.append(
                f"{clear:,} because the difference exceeds {CLEAR:g} standard deviations of the first draws (p = 1/{self.draws + 1:,}, the "
                "smallest that all draws can show)"
            )
        return (
            f"Draws ended early in {reached + clear:,} of {len(self.pairs):,} tests: {'; '.join(parts)}."
            if parts
            else ""
        )


class RankedSystem(NamedTuple):
    """A system's mean score with its 95 % CI (`Systems.method`), and the smallest and largest rank that the tests allow (1 is best)."""

    system: str
    mean: float
    low: float | None
    high: float | None
    n: int
    ranks: tuple[int, int]

    @property
    def rank_text(self) -> str:
        """The rank, or the range: 1 or 1–3."""
        first, last = self.ranks
        return str(first) if first == last else f"{first}–{last}"


class SystemTest(NamedTuple):
    """A test between two systems: difference of means with its bootstrap 95 % CI, p of approximate randomization, and
    p adjusted by Holm over all pairs. `detectable` is the difference found with 80 % power on as many segments."""

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
    """`means` are ordered best first; `segments` counts those that all systems have; `method` is how the CIs of means were made."""

    means: tuple[RankedSystem, ...]
    tests: tuple[SystemTest, ...]
    segments: int
    reason: str = ""
    method: str = ""


def first_systems(means: Sequence[RankedSystem]) -> str:
    """Return which systems may be the best one, in one sentence."""
    first = [m for m in means if m.ranks[0] == 1]
    if len(first) == 1:
        return f"{first[0].system} is significantly better than the {len(means) - 1} others."
    named = ", ".join(f"{m.system} ({m.rank_text})" for m in first[:NAMED])
    more = f" and {len(first) - NAMED} more" if len(first) > NAMED else ""
    return f"{len(first)} of {len(means)} systems may be the best: {named}{more}. In brackets: the ranks that the tests allow."


class SubsetAgreement(NamedTuple):
    label: str
    outputs: int
    evaluation: Evaluation


def draws_for(pairs: int) -> int:
    """Return the number of draws with which Holm's smallest p over these pairs is at most .025; at least 1,000."""
    return max(1000, 40 * pairs - 1)


def contenders(evaluation: Evaluation, statistic: StatisticName) -> list[str]:
    """Return the names to test: all ranked metrics and the strongest ranked sentinel, best first."""
    strongest = evaluation.best(statistic, sentinel=True)
    tested = {r.name for r in evaluation.ranked(statistic)} | ({strongest.name} if strongest is not None else set())
    return [n for n in evaluation.order(statistic) if n in tested]


def compare_metrics(
    evaluation: Evaluation, statistic: StatisticName, progress: Progress = no_progress, *, all_pairs: bool = True
) -> SignificanceMatrix:
    """Test the differences between metrics: all pairs, or the best metric against each other one and the best baseline.

    Uses Williams's test for Pearson over single outputs or systems' means, PERM-BOTH otherwise; two-sided, with Holm's
    correction over all tested pairs. Draws end early where the result is clear. Raises `ValueError` for soft pairwise accuracy, `UserError` for too many pairs of outputs.
    """
    if statistic == "soft_pairwise":
        raise ValueError(NO_TEST)
    choice = evaluation.choice
    data = evaluation.joined.whole() if choice.level == "system" else evaluation.joined
    value = {n: evaluation.of(n, statistic).value or 0.0 for n in contenders(evaluation, statistic)}
    names = sorted(value, key=lambda n: -value[n])
    best = next((n for n in names if not evaluation.joined.scored_metric(n).sentinel), "")
    by_formula = statistic == "pearson" and choice.of_pairs != "segment"
    pairs = [p for p in combinations(names, 2) if all_pairs or best in p]
    draws = 0 if by_formula else draws_for(len(pairs))
    tests = (
        _formula(data, pairs, choice) if by_formula else _permutations(data, pairs, statistic, choice, draws, progress)
    )
    progress(1.0)
    adjusted = holm([t.p for t in tests])
    rows = tuple(
        MetricComparison(a, b, t.difference, t.p, q, t.reason, t.draws, t.ended)
        for (a, b), t, q in zip(pairs, tests, adjusted, strict=True)
    )
    worse = {r.second for r in rows if r.first == best and r.adjusted is not None and r.adjusted <= ALPHA}
    tied = [best, *(n for n in names if n != best and n not in worse)] if best else []
    test = (
        "Williams’s test"
        if by_formula
        else f"PERM-BOTH, {'up to ' if any(t.ended for t in tests) else ''}{draws:,} draws"
    )
    return SignificanceMatrix(statistic, tuple(names), rows, test, draws, tuple(tied))


Pairs = Sequence[tuple[str, str]]


def _formula(data: EvaluationData, pairs: Pairs, choice: AgreementOptions) -> list[Comparison]:
    """Compare Pearson's r of pairs of metrics over single outputs or systems' means."""

    def of(values: Floats) -> Floats:
        return row_means(data.table.of(values)) if choice.level == "system" else values

    human, scores = of(data.human), {name: of(data.scores[name]) for name in dict.fromkeys(n for p in pairs for n in p)}
    return [williams(scores[first], scores[second], human) for first, second in pairs]


def _permutations(
    data: EvaluationData,
    pairs: Pairs,
    statistic: StatisticName,
    choice: AgreementOptions,
    draws: int,
    progress: Progress,
) -> list[Comparison]:
    if not pairs:
        return []
    names, measure, group = list(dict.fromkeys(n for p in pairs for n in p)), measure_of(statistic), choice.of_pairs
    of_ties = measure == "acc_eq" and group != "system"
    seen = [data.tie_calibration(n, group).statistic if of_ties else data.agreement(measure, n, group) for n in names]
    test = PermBoth(
        measure, data.human, np.stack([data.scores[n] for n in names]), seen, group=group, segments=data.of_segment,
        systems=data.of_system, seed=choice.seed, draws=draws, early=True,
    )  # fmt: skip
    at = {name: k for k, name in enumerate(names)}
    return test.compare([(at[first], at[second]) for first, second in pairs], progress)


def with_soft_intervals(
    evaluation: Evaluation, progress: Progress = no_progress, *, draws: int = SOFT_DRAWS
) -> Evaluation:
    """Return the evaluation with the confidence intervals of soft pairwise accuracy."""
    data = evaluation.joined.whole()
    with_value = [r.name for r in evaluation.rows if r.statistic == "soft_pairwise" and r.value is not None]
    tables = {name: data.table.of(data.scores[name]) for name in with_value}
    units = _units(data, evaluation.choice.unit)
    known = soft_pairwise_intervals(
        tables, data.table.of(data.human), units=units, seed=evaluation.choice.seed, draws=draws, progress=progress
    )
    return evaluation._replace(
        rows=tuple(
            r._replace(low=known[r.name][0], high=known[r.name][1], reason="")
            if r.statistic == "soft_pairwise" and r.name in known
            else r
            for r in evaluation.rows
        )
    )


def _units(data: EvaluationData, unit: Unit) -> list[str]:
    """Return the document of each segment of the table; empty if segments are resampled."""
    return [str(data.keys[i].doc_id) for i in data.table.rows[0]] if unit == "document" else []


def compare_all_systems(joined: EvaluationData, name: str, *, unit: Unit = "segment", seed: int = 0) -> Systems:
    """Compare every pair of systems by human score (`HUMAN`) or by a metric, on the segments that all systems have."""
    data = joined.whole()
    segments = data.n_segments
    if segments < 2 or len(data.systems) < 2:
        reason = NO_SEGMENTS if segments < 2 else "needs at least two systems"
        return Systems((), (), segments, reason)
    table = data.table
    values = table.of(data.human if name == HUMAN else data.scores[name])
    units = _units(data, unit)
    tests = compare_systems(values, seed=seed, units=units)
    systems, means = data.systems, row_means(values).tolist()
    pairs = [(t.first, t.second) for t in tests]
    wins = wins_of(len(systems), pairs, [t.randomization.difference for t in tests], [t.adjusted for t in tests], ALPHA)
    ranks = rank_ranges(wins)
    intervals = [mean_interval(of_system, seed, units=units) for of_system in values]
    rows = [
        RankedSystem(system, means[i], intervals[i].low, intervals[i].high, segments, ranks[i])
        for i, system in enumerate(systems)
    ]
    system_tests = []
    for t in tests:
        i, j = (t.first, t.second) if means[t.first] >= means[t.second] else (t.second, t.first)
        low, high = t.bootstrap.low, t.bootstrap.high
        if i != t.first and low is not None and high is not None:
            low, high = 0.0 - high, 0.0 - low
        system_tests.append(
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
    system_tests.sort(key=lambda t: (place[t.first], place[t.second]))
    return Systems(tuple(rows), tuple(system_tests), segments, method=method_of(intervals))


def top_systems(joined: EvaluationData, choice: AgreementOptions, statistic: StatisticName) -> list[SubsetAgreement]:
    """Return the agreement on the K systems with the best mean human score, for up to six K from all systems down to two."""
    data = joined.whole() if choice.level == "system" else joined
    names = data.systems
    means = dict(zip(names, group_means(data.human, group_ids(data.of_system)).tolist(), strict=True))
    best = sorted(names, key=lambda s: -means[s])
    every = np.linspace(2, len(best), min(LARGEST_K, max(0, len(best) - 1))).round().astype(int)
    subsets = []
    for k in sorted(set(every.tolist()))[::-1]:
        part = data.only([key.system in best[:k] for key in data.keys])
        subsets.append(_on_subset(f"top {k}" if k < len(best) else f"all {k}", part, choice, statistic))
    return subsets


def buckets(
    joined: EvaluationData, choice: AgreementOptions, statistic: StatisticName, by: By, lengths: Sequence[float]
) -> list[SubsetAgreement]:
    """Return the agreement in three buckets of segments, by the mean length of their outputs or their mean human score.

    Buckets have whole segments, so that all pairs within a segment are kept. `lengths` are in characters, one per output.
    """
    values = np.asarray(lengths if by == "length" else joined.human, dtype=np.float64)
    ids = group_ids(joined.of_segment)
    if not len(ids):
        return []
    by_value = quantile_buckets(group_means(values, ids), 3)
    digits, unit = (0, " characters") if by == "length" else (1, "")
    subsets = []
    for k, bucket in enumerate(by_value.buckets):
        low, high = (format_number(end, digits, leading_zero=True) for end in (bucket.low, bucket.high))
        label = f"{low} to {high}{unit}"
        subsets.append(_on_subset(label, joined.only(by_value.of[ids] == k), choice, statistic))
    return subsets


def _on_subset(label: str, part: EvaluationData, choice: AgreementOptions, statistic: StatisticName) -> SubsetAgreement:
    return SubsetAgreement(label, len(part.keys), evaluate(part, choice, (statistic,)))
