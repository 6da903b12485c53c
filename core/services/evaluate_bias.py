"""Whether metrics favour systems (Amplayo et al. 2022, §7, Figure 4 and Table 4): their ranking of systems beside that of people.

Systems' mean scores over the segments that every system has are ranked under several human scores, all on the same outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.formats.write import csv_text
from core.services.evaluate import NO_SEGMENTS, Contestant, Joined
from core.stats.bias import rank_bias
from core.stats.means import row_means

MEAN = "mean"


class BiasRow(NamedTuple):
    """A metric against one human score, or the `mean` over them: Table 4, and the mean rank difference of a group of systems."""

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
    """Where a metric and people rank one system, 1 the best; a difference below 0 means that the metric places it higher."""

    metric: str
    name: str
    score: str
    system: str
    human_rank: float
    metric_rank: float
    difference: float


class Bias(NamedTuple):
    """`systems` from the one people like best, by their mean rank."""

    rows: tuple[BiasRow, ...]
    ranks: tuple[RankRow, ...]
    systems: tuple[str, ...]
    group: tuple[str, ...]

    def of(self, name: str, score: str = MEAN) -> BiasRow:
        return next(r for r in self.rows if r.name == name and r.score == score)


def bias(of: Mapping[str, Joined], group: Sequence[str] = ()) -> Bias:
    """Ranks of the systems by people and by every metric, and how far they are apart; `of` from `evaluate_lengths.same_outputs`.

    `group` are systems of one kind (extractive ones, those built on one model): a mean below 0 says that the metric places
    them higher than people do. Over all systems that mean is 0.
    """
    first = next(iter(of.values()))
    rows: list[BiasRow] = []
    places: list[RankRow] = []
    for c in first.contestants:
        mine, ranked = _bias_of(of, c, group)
        rows += mine
        places += ranked
    by_people = {s: [r.human_rank for r in places if r.system == s and r.score == MEAN] for s in first.systems}
    order = sorted(first.systems, key=lambda s: by_people[s][0] if by_people[s] else 0.0)
    return Bias(tuple(rows), tuple(places), tuple(order), tuple(s for s in group if s in first.systems))


def _bias_of(of: Mapping[str, Joined], c: Contestant, group: Sequence[str]) -> tuple[list[BiasRow], list[RankRow]]:
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
        found = rank_bias(row_means(table.of(joined.scores[c.name])), row_means(table.of(joined.human)))
        if found.reason:
            rows.append(empty._replace(reason=found.reason))
            continue
        names = [str(s) for s in table.systems]
        of_group = [d for s, d in zip(names, found.differences, strict=True) if s in group]
        rows.append(
            empty._replace(
                deviation=found.deviation,
                mean_absolute=found.mean_absolute,
                accuracy=found.accuracy,
                group_mean=float(np.mean(of_group)) if of_group else None,
                status="ok",
            )  # fmt: skip
        )
        places += [
            RankRow(c.label, c.name, score, *row)
            for row in zip(names, found.human, found.metric, found.differences, strict=True)
        ]
    return [*rows, _mean_row(rows)], [*places, *_mean_ranks(places, rows)]


def _mean_row(rows: Sequence[BiasRow]) -> BiasRow:
    lacking = next((r for r in rows if r.status != "ok"), None)
    if lacking is not None:
        reason = lacking.reason if len(rows) == 1 else f"{lacking.score}: {lacking.reason}"
        return lacking._replace(score=MEAN, reason=reason)

    def mean(values: Sequence[float | None]) -> float | None:
        there = [v for v in values if v is not None]
        return float(np.mean(there)) if there else None

    return rows[0]._replace(
        score=MEAN,
        deviation=mean([r.deviation for r in rows]),
        mean_absolute=mean([r.mean_absolute for r in rows]),
        group_mean=mean([r.group_mean for r in rows]),
        accuracy=mean([r.accuracy for r in rows]),
    )


def _mean_ranks(places: Sequence[RankRow], rows: Sequence[BiasRow]) -> list[RankRow]:
    """Figure 4: the differences of every system averaged over the human scores, where all of these are defined."""
    if any(r.status != "ok" for r in rows):
        return []
    by_system: dict[str, list[RankRow]] = {}
    for p in places:
        by_system.setdefault(p.system, []).append(p)
    return [
        RankRow(of[0].metric, of[0].name, MEAN, system, *(float(v) for v in np.mean([p[4:] for p in of], axis=0)))
        for system, of in by_system.items()
    ]


def bias_csv(found: Bias) -> str:
    return csv_text(BiasRow._fields, found.rows)


def ranks_csv(found: Bias) -> str:
    return csv_text(RankRow._fields, found.ranks)
