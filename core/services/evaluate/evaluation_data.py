"""The scores that a meta-evaluation compares: outputs with a human score and a score from every metric."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from core.data import Item, OutputKey
from core.formatting import format_lambda
from core.metrics.lexical.baselines import BASELINES, baseline_scores
from core.services.calibrate.calibration import HumanScores
from core.services.compare.compare import signature_at
from core.services.projects.view import View
from core.stats.correlation.correlation import Group, Measure, Statistic, group_ids
from core.stats.correlation.pairs import Floats
from core.stats.correlation.ties import TieCalibration, TieGroup, calibrate_ties_by
from core.stats.significance.perm_both import agreement_with_ties
from core.stats.table import SystemTable, complete_table

Level = Literal["segment", "system"]

Unit = Literal["segment", "document"]

NOT_SCORED = "no rated output has a score"

TOLERATED = 0.05
"""Share of the outputs with results that a metric may lack before it is set aside."""


class ScoredMetric(NamedTuple):
    """A metric or baseline (`sentinel`), by the name of its scores in `EvaluationData`.

    `undefined` is the reason why it has no scores. With `turned`, lower is better and the sign was changed.
    """

    name: str
    label: str
    signature: str
    sentinel: bool = False
    undefined: str = ""
    turned: bool = False

    @property
    def axis(self) -> str:
        return f"{self.label}, sign changed ↑" if self.turned else f"{self.label} ↑"


class PartlyScored(NamedTuple):
    """A metric with results for `scored` of `rated` outputs; with `aside` it is not in the evaluation."""

    name: str
    label: str
    scored: int
    rated: int
    aside: bool

    def __str__(self) -> str:
        return f"{self.label} ({self.scored:,} of {self.rated:,} rated outputs)"


@dataclass(frozen=True)
class EvaluationData:
    """Outputs with a human score and a score from every metric; `human` and each of `scores` have shape (n_outputs,).

    With `of_systems` the human scores are per system, and all outputs of a system have the same one. `partly` lists the
    metrics that have not scored every rated output.
    """

    keys: tuple[OutputKey, ...]
    human: Floats
    scores: Mapping[str, Floats]
    scored_metrics: tuple[ScoredMetric, ...]
    people: str
    human_signature: str
    excluded: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    of_systems: bool = False
    partly: tuple[PartlyScored, ...] = ()

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(k.system for k in self.keys))

    @property
    def human_axis(self) -> str:
        return f"MQM score, {self.people} ↑" if self.human_signature.startswith("mqm|") else "human score ↑"

    @property
    def n_segments(self) -> int:
        return len(set(self.of_segment))

    @property
    def metrics(self) -> tuple[ScoredMetric, ...]:
        return tuple(c for c in self.scored_metrics if not c.sentinel)

    @property
    def set_aside(self) -> str:
        """Return a sentence that names the metrics not compared because they are only partly scored, or ""."""
        names = ", ".join(str(p) for p in self.partly if p.aside)
        return f"Set aside, because only partly scored: {names}." if names else ""

    @property
    def too_few(self) -> bool:
        return len(self.keys) < 2 or all(m.undefined for m in self.metrics)

    @cached_property
    def of_segment(self) -> list[int]:
        """Return the id of each output's segment: every statistic groups by it, and names take longer to compare."""
        return [int(i) for i in group_ids([k.segment for k in self.keys])]

    @cached_property
    def of_system(self) -> list[str]:
        return [k.system for k in self.keys]

    @cached_property
    def _agreements(self) -> dict[tuple[Measure, str, Group], Statistic]:
        return {}

    @cached_property
    def _tie_calibrations(self) -> dict[tuple[str, TieGroup], TieCalibration]:
        return {}

    def agreement(self, measure: Measure, name: str, group: Group) -> Statistic:
        """Return the agreement of a metric; it is computed once."""
        key = measure, name, group
        if key not in self._agreements:
            self._agreements[key] = agreement_with_ties(
                measure, self.scores[name], self.human, group=group, segments=self.of_segment, systems=self.of_system
            )
        return self._agreements[key]

    def tie_calibration(self, name: str, group: TieGroup) -> TieCalibration:
        """Return acc_eq of a metric with its best ε; it is computed once."""
        if (key := (name, group)) not in self._tie_calibrations:
            self._tie_calibrations[key] = calibrate_ties_by(
                group, self.scores[name], self.human, segments=self.of_segment, systems=self.of_system
            )
        return self._tie_calibrations[key]

    def units(self, unit: Unit) -> Sequence[Hashable]:
        return [k.doc_id for k in self.keys] if unit == "document" else self.of_segment

    def scored_metric(self, name: str) -> ScoredMetric:
        return next(c for c in self.scored_metrics if c.name == name)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 (hex) of everything a result depends on."""
        text = repr((self.keys, self.scored_metrics, self.human_signature, self.excluded))
        values = b"".join(values.tobytes() for values in (self.human, *self.scores.values()))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass") + values).hexdigest()

    def only(self, keep: Sequence[bool] | np.typing.NDArray[np.bool_]) -> EvaluationData:
        """Return the data of the outputs for which `keep` is true."""
        at = np.flatnonzero(keep)
        scores = {name: values[at] for name, values in self.scores.items()}
        return replace(self, keys=tuple(self.keys[i] for i in at), human=self.human[at], scores=scores)

    @cached_property
    def table(self) -> SystemTable:
        return complete_table(self.of_system, self.of_segment)

    def whole(self) -> EvaluationData:
        """Return the data of the segments that every system has."""
        keep = np.zeros(len(self.keys), dtype=bool)
        keep[self.table.rows.reshape(-1)] = True
        return self if keep.all() else self.only(keep)


def looks_human(system: str) -> bool:
    """Return whether a system name looks like that of a human reference: refA, Human-B, ref.1, …"""
    return bool(re.match(r"(?i)(ref|reference|human)([^a-z]|$|[a-z]$)", system))


def join(
    people: HumanScores,
    metrics: Sequence[ScoredMetric],
    values: Mapping[str, Mapping[OutputKey, float]],
    *,
    items: Mapping[OutputKey, Item] | None = None,
    order: Sequence[OutputKey] = (),
    excluded: Sequence[str] = (),
    seed: int = 0,
    partly: bool = False,
) -> EvaluationData:
    """Return the outputs with a human score that every metric has scored, in `order`.

    `values` are by metric name, higher is better; NaN is a result without a number. A metric that lacks more than `TOLERATED`
    of the outputs with results of the most complete metric is set aside, unless `partly`. A metric without a number for any
    rated output is kept as undefined and excludes no outputs. Sentinels are computed from the texts (`items`), if given.
    """
    rated = [k for k in (order or people.scores) if k in people.scores and k.system not in excluded]
    with_result = {m.name: {k for k in rated if k in values[m.name]} for m in metrics}
    most = max(with_result.values(), key=len, default=set())
    aside = {m.name for m in metrics if not partly and len(most - with_result[m.name]) > TOLERATED * len(most)}
    incomplete = tuple(
        PartlyScored(m.name, m.label, n, len(rated), m.name in aside)
        for m in metrics
        if (n := len(with_result[m.name])) < len(rated)
    )
    metrics = [m for m in metrics if m.name not in aside]
    scored = {m.name: {k for k in with_result[m.name] if not np.isnan(values[m.name][k])} for m in metrics}
    there = [m for m in metrics if scored[m.name]]
    scored_metrics = [m if m in there else m._replace(undefined=NOT_SCORED) for m in metrics]
    keys = tuple(k for k in rated if all(k in scored[m.name] for m in there) and (items is None or k in items))
    scores = {m.name: np.array([values[m.name][k] for k in keys], dtype=np.float64) for m in there}
    baselines = baseline_scores([items[k] for k in keys], seed) if items is not None else {}
    for sentinel in BASELINES if items is not None else ():
        name = f"sentinel:{sentinel.name}"
        known = [v for v in baselines[sentinel.name] if v is not None]
        lacks = sentinel.undefined if len(known) < len(keys) else ""
        scored_metrics.append(ScoredMetric(name, sentinel.label, sentinel.signature(seed), True, lacks))
        if not lacks:
            scores[name] = np.array(known, dtype=np.float64)
    reached = rated if partly else [k for k in rated if k in most]
    notes = [
        f"{m.label} has no score for {lost:,} of {len(reached):,} rated outputs; they are left out for all metrics."
        for m in there
        if (lost := sum(k not in scored[m.name] for k in reached))
    ]
    if len(reached) < len(rated):
        notes.append(
            f"{len(rated) - len(reached):,} of {len(rated):,} rated outputs have not been scored and are left out."
        )
    human = np.array([people.scores[k][0] for k in keys], dtype=np.float64)
    gone = tuple(s for s in excluded if any(k.system == s for k in people.scores))
    return EvaluationData(
        keys,
        human,
        scores,
        tuple(scored_metrics),
        people.words,
        people.signature,
        gone,
        tuple(notes),
        people.of_systems,
        incomplete,
    )


def from_view(
    view: View,
    people: HumanScores,
    *,
    names: Sequence[str] = (),
    lam: float = 1.0,
    excluded: Sequence[str] = (),
    seed: int = 0,
    partly: bool = False,
) -> EvaluationData:
    """Return the evaluation data of a project: the newest run of each metric, or the metrics in `names`.

    BARTScore++ is included both at λ = `lam` and at λ = 1. Failed outputs count as not scored. With `partly`, metrics that
    are only partly scored are compared too, on the outputs that all metrics have scored.
    """
    metrics: list[ScoredMetric] = []
    values: dict[str, dict[OutputKey, float]] = {}
    known = [(at, k) for k in people.scores if (at := view.index.cell(k)) is not None]
    rated = [key for _, key in sorted(known)]
    for column in view.columns:
        if column.human or (column.name not in names if names else column.name != column.metric):
            continue
        for weight in dict.fromkeys((lam, 1.0)) if column.refinement else (1.0,):
            name = f"{column.name} @ {format_lambda(weight)}" if column.refinement else column.name
            label = f"{column.label} (λ = {format_lambda(weight)})" if column.refinement else column.label
            array = view.values(column.name, weight) * (1.0 if column.higher_is_better else -1.0)
            turned = not column.higher_is_better
            metrics.append(ScoredMetric(name, label, signature_at(column, weight), turned=turned))
            values[name] = {
                k: float(array[view.row[k.segment], view.index.column[k.system]])
                for k in view.scored(column.name, rated)
            }
    items = view.texts.items(rated)
    return join(people, metrics, values, items=items, order=rated, excluded=excluded, seed=seed, partly=partly)
