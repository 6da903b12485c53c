"""Meta-evaluation: agreement of metrics and trivial baselines (sentinels) with human scores, with confidence intervals.

All metrics are compared on the same outputs: those with a human score and a score from every metric. Scores have their sign
changed if lower is better. At system level only segments that all systems have count, so that means are over the same texts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from core.data import OutputKey
from core.progress import Progress, no_progress
from core.services.evaluate.evaluation_data import EvaluationData, Level, ScoredMetric, Unit
from core.stats.correlation.agreement_interval import agreement_interval
from core.stats.correlation.correlation import Group, Measure, cells, too_few_groups
from core.stats.correlation.ties import (
    MAX_PAIRS,
    SORTED_PAIRS,
    TieCalibration,
    TieCurve,
    tie_curve_by,
)
from core.stats.system_ranking import soft_pairwise_accuracy
from core.stats.threads import in_threads

StatisticName = Literal["kendall", "acc_eq", "spearman", "pearson", "soft_pairwise", "pairwise"]
STATISTICS: dict[Level, tuple[StatisticName, ...]] = {
    "segment": ("kendall", "acc_eq", "spearman", "pearson"),
    "system": ("pairwise", "soft_pairwise", "kendall", "spearman", "pearson"),
}
LABELS: dict[StatisticName, str] = {
    "kendall": "Kendall τ-b", "acc_eq": "acc_eq", "spearman": "Spearman ρ", "pearson": "Pearson r",
    "soft_pairwise": "soft pairwise accuracy", "pairwise": "pairwise accuracy",
}  # fmt: skip
SIGNS: dict[StatisticName, str] = {
    "kendall": "τ-b", "acc_eq": "acc_eq", "spearman": "ρ", "pearson": "r", "soft_pairwise": "soft pairwise accuracy",
    "pairwise": "pairwise accuracy",
}  # fmt: skip
PERMUTATIONS = 1000
OF_SYSTEMS = "it compares p-values over segments, but the human scores are per system"
NO_SEGMENTS = "needs at least two segments that every system has"


class AgreementOptions(NamedTuple):
    """How agreement is measured.

    At segment level, pairs are `pooled` or formed within each segment. The bootstrap resamples `unit`s.
    """

    level: Level = "segment"
    group: Literal["pooled", "segment"] = "pooled"
    unit: Unit = "segment"
    seed: int = 0
    draws: int = 300

    @property
    def of_pairs(self) -> Group:
        return "system" if self.level == "system" else self.group


class AgreementRow(NamedTuple):
    """Agreement of one metric under one statistic; one line of the exported files.

    `n` counts outputs (systems at system level). `groups` of `all_groups` segments have a defined statistic and are averaged;
    if they are too few, the metric is not `ranked`: headlines and tests leave it out. `epsilon` and `chance` belong to acc_eq.
    If `status` is not "ok", `value` is None and `reason` says why. Without `low` and `high`, `reason` says why there is no
    interval; with them, which pairs it is based on if not all.
    """

    metric: str
    kind: str
    statistic: str
    level: str
    grouping: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    groups: int
    epsilon: float | None
    chance: float | None
    status: str
    reason: str
    name: str
    signature: str
    all_groups: int = 1
    ranked: bool = True


class Evaluation(NamedTuple):
    """All rows, with the data and options they were computed from.

    `as_given` are the rows of system scores as given in files (`system_scores`), beside those of means of segment scores.
    """

    rows: tuple[AgreementRow, ...]
    joined: EvaluationData
    choice: AgreementOptions
    as_given: tuple[AgreementRow, ...] = ()

    def of(self, name: str, statistic: StatisticName) -> AgreementRow:
        return next(r for r in self.rows if r.name == name and r.statistic == statistic)

    def order(self, statistic: StatisticName) -> list[str]:
        """Return metric names, best first, then those not ranked, then undefined ones; sentinels come after all metrics."""

        def place(c: ScoredMetric) -> tuple[bool, bool, bool, float]:
            row = self.of(c.name, statistic)
            return c.sentinel, row.value is None, not row.ranked, -(row.value or 0.0)

        return [c.name for c in sorted(self.joined.scored_metrics, key=place)]

    def best(self, statistic: StatisticName, *, sentinel: bool = False) -> AgreementRow | None:
        """Return the metric, or the sentinel, with the best agreement; None if none is ranked."""
        return max(self.ranked(statistic, sentinel=sentinel), key=lambda r: r.value or 0.0, default=None)

    def ranked(self, statistic: StatisticName, *, sentinel: bool = False) -> list[AgreementRow]:
        """Return the rows of metrics, or of sentinels, whose value is based on enough segments."""
        kind = "sentinel" if sentinel else "metric"
        rows = [r for r in self.rows if r.statistic == statistic and r.kind == kind]
        return [r for r in rows if r.value is not None and r.ranked]


def evaluate(
    joined: EvaluationData,
    choice: AgreementOptions,
    statistics: Sequence[StatisticName] = (),
    progress: Progress = no_progress,
) -> Evaluation:
    """Compute every metric's agreement under every statistic of the level.

    Soft pairwise accuracy comes without its interval, which is slow (`significance.with_soft_intervals`).
    """
    data = joined.whole() if choice.level == "system" else joined
    of_metrics = in_threads(lambda m: rows_of(data, m, choice, statistics), joined.scored_metrics, progress)
    return Evaluation(tuple(row for rows in of_metrics for row in rows), joined, choice)


def rows_of(
    data: EvaluationData,
    scored_metric: ScoredMetric,
    choice: AgreementOptions,
    statistics: Sequence[StatisticName] = (),
) -> tuple[AgreementRow, ...]:
    """Return one metric's rows, one per statistic. At system level `data` must have only segments that all systems have."""
    return tuple(_row(data, scored_metric, name, choice) for name in statistics or STATISTICS[choice.level])


def _row(
    data: EvaluationData, scored_metric: ScoredMetric, statistic: StatisticName, choice: AgreementOptions
) -> AgreementRow:
    n = len(data.systems) if choice.level == "system" else len(data.keys)
    of_segments = choice.of_pairs == "segment"
    empty = AgreementRow(
        scored_metric.label, "sentinel" if scored_metric.sentinel else "metric", statistic, choice.level, choice.of_pairs,
        None, None, None, n, 0, None, None, "undefined", scored_metric.undefined, scored_metric.name, scored_metric.signature,
        all_groups=data.n_segments if of_segments else 1,
    )  # fmt: skip
    if scored_metric.undefined:
        return empty
    if choice.level == "system" and data.n_segments < 2:
        return empty._replace(reason=NO_SEGMENTS)
    metric, human = data.scores[scored_metric.name], data.human
    if statistic == "soft_pairwise":
        if data.of_systems:
            return empty._replace(reason=OF_SYSTEMS)
        table = data.table
        accuracy = soft_pairwise_accuracy(table.of(metric), table.of(human), seed=choice.seed, draws=PERMUTATIONS)
        if accuracy.value is None:
            return empty._replace(reason=accuracy.reason)
        return empty._replace(value=accuracy.value, status="ok", reason="its interval has not been computed")
    of_ties: TieCalibration | None = None
    if statistic == "acc_eq":
        if of_segments and cells("acc_eq", n, "segment", data.of_segment) > MAX_PAIRS:
            return empty._replace(reason=f"more than {MAX_PAIRS:,} pairs of outputs within segments")
        of_ties = data.tie_calibration(scored_metric.name, choice.of_pairs)
    measure = measure_of(statistic)
    seen = of_ties.statistic if of_ties else data.agreement(measure, scored_metric.name, choice.of_pairs)
    interval = agreement_interval(
        measure, metric, human, group=choice.of_pairs, segments=data.of_segment, systems=data.of_system,
        units=data.units(choice.unit), seed=choice.seed, draws=choice.draws, known=seen,
    )  # fmt: skip
    if interval.value is None:
        return empty._replace(reason=interval.reason)
    row = empty._replace(
        value=interval.value, low=interval.low, high=interval.high, status="ok", reason=interval.reason,
        groups=seen.groups,
    )  # fmt: skip
    if of_segments and too_few_groups(row.groups, row.all_groups):
        few = f"defined in {row.groups} of {row.all_groups} segments, too few to rank or test it"
        row = row._replace(ranked=False, reason="; ".join(r for r in (few, row.reason) if r))
    if of_ties is not None:
        row = row._replace(epsilon=of_ties.epsilon, chance=of_ties.chance)
    return row


def measure_of(statistic: StatisticName) -> Measure:
    """Return the measure of a statistic: pairwise accuracy is acc_eq (ε = 0) of the systems' means."""
    if statistic == "soft_pairwise":
        raise ValueError("soft pairwise accuracy is no statistic of single outputs")
    return "acc_eq" if statistic == "pairwise" else statistic


def usual_group(outputs: Collection[OutputKey]) -> Literal["pooled", "segment"]:
    """Return the usual pairs for these outputs: pooled, or within segments where there are millions of pooled pairs.

    Then the exact statistics take minutes and their intervals use a sample of the pairs; the WMT metrics task compares within
    segments too.
    """
    n, segments = len(outputs), len({key.segment for key in outputs})
    return "segment" if n * (n - 1) // 2 > SORTED_PAIRS and n >= 2 * segments else "pooled"


def ties(joined: EvaluationData, name: str, choice: AgreementOptions) -> TieCurve:
    return tie_curve_by(choice.of_pairs, joined.scores[name], joined.human, segments=joined.of_segment)
