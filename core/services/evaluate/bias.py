"""Metrics that favour some systems, and outputs on which a metric and the human scores disagree most.

Source: Amplayo et al. 2022, §7, Figure 4 and Table 4. Systems are ranked by their mean scores over the segments that all
systems have, for several human scores on the same outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata

from core.data import OutputKey, grouped
from core.formats.write import csv_text
from core.services.evaluate.evaluate import NO_SEGMENTS
from core.services.evaluate.evaluation_data import EvaluationData, ScoredMetric
from core.stats.correlation.pairs import Floats
from core.stats.means import row_means
from core.stats.system_ranking import rank_bias

MEAN = "mean"


class BiasRow(NamedTuple):
    """One metric against one human score, or the `mean` over all: Table 4 and the mean rank difference of a group of systems."""

    metric: str
    kind: str
    score: str
    systems: int
    segments: int
    deviation: float | None
    mean_absolute: float | None
    group_mean: float | None
    accuracy: float | None
    status: str
    reason: str
    name: str
    signature: str


class RankRow(NamedTuple):
    """The rank of one system by a metric and by humans (1 is best); a difference below 0 means the metric ranks it higher."""

    metric: str
    name: str
    score: str
    system: str
    human_rank: float
    metric_rank: float
    difference: float


class Bias(NamedTuple):
    """All rows; `systems` are ordered by their mean human rank, best first."""

    rows: tuple[BiasRow, ...]
    ranks: tuple[RankRow, ...]
    systems: tuple[str, ...]
    group: tuple[str, ...]

    def of(self, name: str, score: str = MEAN) -> BiasRow:
        return next(r for r in self.rows if r.name == name and r.score == score)


def bias(of: Mapping[str, EvaluationData], group: Sequence[str] = ()) -> Bias:
    """Return the ranks of the systems by humans and by every metric, with their differences.

    `of` is the result of `lengths.same_outputs`. `group` are systems of one kind (extractive, or built on one model): a
    mean difference below 0 means the metric ranks them higher than humans do. Over all systems the mean is 0.
    """
    first = next(iter(of.values()))
    rows: list[BiasRow] = []
    places: list[RankRow] = []
    for c in first.scored_metrics:
        mine, ranked = _bias_of(of, c, group)
        rows += mine
        places += ranked
    by_humans = {r.system: r.human_rank for r in places if r.score == MEAN}
    order = sorted(first.systems, key=lambda s: by_humans.get(s, 0.0))
    return Bias(tuple(rows), tuple(places), tuple(order), tuple(s for s in group if s in first.systems))


def _bias_of(
    of: Mapping[str, EvaluationData], c: ScoredMetric, group: Sequence[str]
) -> tuple[list[BiasRow], list[RankRow]]:
    rows, places = [], []
    for score, joined in of.items():
        empty = BiasRow(
            c.label, "sentinel" if c.sentinel else "metric", score, len(joined.systems), joined.n_segments,
            None, None, None, None, "undefined", c.undefined, c.name, c.signature,
        )  # fmt: skip
        if c.undefined or joined.n_segments < 2:
            rows.append(empty._replace(reason=c.undefined or NO_SEGMENTS))
            continue
        table = joined.table
        of_metric = rank_bias(row_means(table.of(joined.scores[c.name])), row_means(table.of(joined.human)))
        if of_metric.reason:
            rows.append(empty._replace(reason=of_metric.reason))
            continue
        names = [str(s) for s in table.systems]
        of_group = [d for s, d in zip(names, of_metric.differences, strict=True) if s in group]
        rows.append(
            empty._replace(
                deviation=of_metric.deviation,
                mean_absolute=of_metric.mean_absolute,
                accuracy=of_metric.accuracy,
                group_mean=float(np.mean(of_group)) if of_group else None,
                status="ok",
            )  # fmt: skip
        )
        places += [
            RankRow(c.label, c.name, score, *row)
            for row in zip(names, of_metric.human, of_metric.metric, of_metric.differences, strict=True)
        ]
    return [*rows, _mean_row(rows)], [*places, *_mean_ranks(places, rows)]


def _mean_row(rows: Sequence[BiasRow]) -> BiasRow:
    lacking = next((r for r in rows if r.status != "ok"), None)
    if lacking is not None:
        reason = lacking.reason if len(rows) == 1 else f"{lacking.score}: {lacking.reason}"
        return lacking._replace(score=MEAN, reason=reason)

    means: dict[str, Any] = {}
    for field in ("deviation", "mean_absolute", "group_mean", "accuracy"):
        values = [value for r in rows if (value := getattr(r, field)) is not None]
        means[field] = float(np.mean(values)) if values else None
    return rows[0]._replace(score=MEAN, **means)


def _mean_ranks(places: Sequence[RankRow], rows: Sequence[BiasRow]) -> list[RankRow]:
    """Average each system's differences over the human scores (Figure 4); empty unless all of them are defined."""
    if any(r.status != "ok" for r in rows):
        return []
    return [
        RankRow(of[0].metric, of[0].name, MEAN, system, *(float(v) for v in np.mean([p[4:] for p in of], axis=0)))
        for system, of in grouped((p.system, p) for p in places).items()
    ]


def bias_csv(biases: Bias) -> str:
    return csv_text(BiasRow._fields, biases.rows)


def ranks_csv(biases: Bias) -> str:
    return csv_text(RankRow._fields, biases.ranks)


class MetricDisagreement(NamedTuple):
    """An output with both scores (higher is better), and the share of all outputs that are worse by each; equal ones count half."""

    key: OutputKey
    metric: float
    human: float
    worse_by_metric: float
    worse_by_human: float

    @property
    def too_high(self) -> bool:
        """Whether the metric ranks the output higher than the human scores do."""
        return self.worse_by_metric > self.worse_by_human


def disagreements(keys: Sequence[OutputKey], metric: Floats, human: Floats) -> list[MetricDisagreement]:
    """Return all outputs, the largest difference between the two shares first."""
    by_metric, by_human = ((rankdata(scores) - 0.5) / max(1, len(scores)) for scores in (metric, human))
    order = np.argsort(-np.abs(by_metric - by_human), kind="stable")
    return [
        MetricDisagreement(keys[i], float(metric[i]), float(human[i]), float(by_metric[i]), float(by_human[i]))
        for i in order.tolist()
    ]
