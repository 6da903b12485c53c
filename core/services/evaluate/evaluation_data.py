"""The data of a meta-evaluation: human scores joined with the scores of every metric."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.columns import Mask
from core.data import Item, OutputKey, SegmentKey, in_natural_order
from core.formatting import format_lambda
from core.metrics.lexical.baselines import BASELINES, baseline_scores
from core.services.calibrate.calibration import HumanScores
from core.services.compare.compare import signature_at
from core.services.projects.view import View
from core.stats.correlation.correlation import Group, Measure, Statistic
from core.stats.correlation.pairs import Floats
from core.stats.correlation.ties import TieCalibration, TieGroup, calibrate_ties_by
from core.stats.significance.perm_both import agreement_with_ties
from core.stats.system_ranking import SystemTable, complete_table

Level = Literal["segment", "system"]

Unit = Literal["segment", "document"]

HASHED = 10_000
"""Keys that are hashed at a time."""


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
    human_label: str
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
        """Return whose scores these are, and which: "human score “fluency” ↑"."""
        mqm = "MQM score, " if self.human_signature.startswith("mqm|") else ""
        return f"{mqm}{self.human_label.removeprefix('the ')} ↑"

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
        return f"Excluded (partly scored): {names}." if names else ""

    @property
    def too_few(self) -> bool:
        return len(self.keys) < 2 or all(m.undefined for m in self.metrics)

    @cached_property
    def of_segment(self) -> list[int]:
        """Return the id of each output's segment: every statistic groups by it, and names take longer to compare."""
        ids: dict[SegmentKey, int] = {}
        return [ids.setdefault(k.segment, len(ids)) for k in self.keys]

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
        checksum = hashlib.sha256(
            repr((len(self.keys), self.scored_metrics, self.human_signature, self.excluded)).encode()
        )
        for start in range(0, len(self.keys), HASHED):
            checksum.update(repr(self.keys[start : start + HASHED]).encode())
        for values in (self.human, *self.scores.values()):
            checksum.update(values.tobytes())
        return checksum.hexdigest()

    def only(self, keep: Sequence[bool] | Mask) -> EvaluationData:
        """Return the data of the outputs for which `keep` is true."""
        at = np.flatnonzero(keep)
        scores = {name: values[at] for name, values in self.scores.items()}
        return replace(self, keys=tuple(self.keys[i] for i in at), human=self.human[at], scores=scores)

    def without_outputs(self) -> EvaluationData:
        """Return the names and notes only, for results that are kept: the outputs take most of the memory."""
        return self.only(np.zeros(len(self.keys), dtype=bool))

    @cached_property
    def table(self) -> SystemTable:
        return complete_table(self.of_system, self.of_segment)

    def whole(self) -> EvaluationData:
        """Return the data of the segments that every system has."""
        keep = np.zeros(len(self.keys), dtype=bool)
        keep[self.table.rows.reshape(-1)] = True
        return self if keep.all() else self.only(keep)


Rows = npt.NDArray[np.int64]

NOT_SCORED = "no rated output has a score"

TOLERATED = 0.05
"""Share of the outputs with results that a metric may lack before it is excluded."""


def join(
    human_scores: HumanScores,
    metrics: Sequence[ScoredMetric],
    values: Mapping[str, Mapping[OutputKey, float]],
    *,
    items: Mapping[OutputKey, Item] | None = None,
    excluded: Sequence[str] = (),
    seed: int = 0,
    partly: bool = False,
) -> EvaluationData:
    """Return the outputs with a human score that every metric has scored, in natural order.

    `values` are by metric name, higher is better; NaN is a result without a number. A metric that lacks more than `TOLERATED`
    of the outputs with results of the most complete metric is excluded, unless `partly`. A metric without a number for any
    rated output is kept as undefined and excludes no outputs. Sentinels are computed from the texts (`items`), if given.
    """
    rated = in_natural_order(k for k in human_scores.scores if k.system not in excluded)
    results = {m.name: _Results.of(rated, values[m.name]) for m in metrics}
    texts = None if items is None else lambda keys: ((k, items[k]) for k in keys if k in items)
    return _joined(human_scores, metrics, rated, results, texts, excluded, seed, partly)


class _Results(NamedTuple):
    """What a metric has of the rated outputs: whether there is a result, and its number or NaN."""

    present: Mask
    numbers: Floats

    @classmethod
    def of(cls, rated: Sequence[OutputKey], values: Mapping[OutputKey, float]) -> _Results:
        present = np.fromiter((k in values for k in rated), dtype=np.bool_, count=len(rated))
        numbers = np.fromiter((values.get(k, np.nan) for k in rated), dtype=np.float64, count=len(rated))
        return cls(present, numbers)

    @property
    def scored(self) -> Mask:
        return self.present & ~np.isnan(self.numbers)


_Texts = Callable[[Sequence[OutputKey]], Iterable[tuple[OutputKey, Item]]]
"""Yields the texts of outputs in their order, and leaves out those without."""


def _joined(
    human_scores: HumanScores, metrics: Sequence[ScoredMetric], rated: Sequence[OutputKey], results: Mapping[str, _Results],
    texts: _Texts | None, excluded: Sequence[str], seed: int, partly: bool,
) -> EvaluationData:  # fmt: skip
    """Return what `join` returns for these results of the rated outputs."""
    most = max(
        (results[m.name].present for m in metrics), key=np.count_nonzero, default=np.zeros(len(rated), dtype=bool)
    )
    n_most = np.count_nonzero(most)
    aside = {
        m.name for m in metrics if not partly and np.count_nonzero(most & ~results[m.name].present) > TOLERATED * n_most
    }
    incomplete = tuple(
        PartlyScored(m.name, m.label, n, len(rated), m.name in aside)
        for m in metrics
        if (n := int(np.count_nonzero(results[m.name].present))) < len(rated)
    )
    metrics = [m for m in metrics if m.name not in aside]
    scored = {m.name: results[m.name].scored for m in metrics}
    with_scores = [m for m in metrics if scored[m.name].any()]
    scored_metrics = [m if m in with_scores else m._replace(undefined=NOT_SCORED) for m in metrics]
    rows = np.flatnonzero(
        np.logical_and.reduce([np.ones(len(rated), dtype=bool), *(scored[m.name] for m in with_scores)])
    )
    baselines: dict[str, Floats] = {}
    if texts is not None:
        rows, baselines = _baselines(rated, rows, texts, seed)
    keys = tuple(rated[i] for i in rows.tolist())
    scores = {m.name: results[m.name].numbers[rows] for m in with_scores}
    for sentinel in BASELINES if texts is not None else ():
        name, numbers = f"sentinel:{sentinel.name}", baselines[sentinel.name]
        lacks = sentinel.undefined if np.isnan(numbers).any() else ""
        scored_metrics.append(ScoredMetric(name, sentinel.label, sentinel.signature(seed), True, lacks))
        if not lacks:
            scores[name] = numbers
    reached = np.ones(len(rated), dtype=bool) if partly else most
    notes = [
        f"{m.label} has no score for {lost:,} of {np.count_nonzero(reached):,} rated outputs; they are left out for all metrics."
        for m in with_scores
        if (lost := np.count_nonzero(reached & ~scored[m.name]))
    ]
    if left := len(rated) - np.count_nonzero(reached):
        notes.append(f"{left:,} of {len(rated):,} rated outputs have not been scored and are left out.")
    human = np.array([human_scores.scores[k][0] for k in keys], dtype=np.float64)
    gone = tuple(s for s in excluded if any(k.system == s for k in human_scores.scores))
    return EvaluationData(
        keys,
        human,
        scores,
        tuple(scored_metrics),
        human_scores.words,
        human_scores.signature,
        gone,
        tuple(notes),
        human_scores.of_systems,
        incomplete,
    )


def _baselines(rated: Sequence[OutputKey], rows: Rows, texts: _Texts, seed: int) -> tuple[Rows, dict[str, Floats]]:
    """Return those of the rows whose outputs have texts, and their trivial baselines. Texts are read one after another."""
    with_text = array("q")

    def items() -> Iterator[Item]:
        left = iter(rows.tolist())
        for key, item in texts([rated[i] for i in rows.tolist()]):
            with_text.append(next(i for i in left if rated[i] == key))
            yield item

    baselines = baseline_scores(items(), seed)
    return np.array(with_text, dtype=np.int64), baselines


def from_view(
    view: View,
    human_scores: HumanScores,
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
    rated, cells = _rated(view, human_scores, excluded)
    metrics: list[ScoredMetric] = []
    results: dict[str, _Results] = {}
    for column in view.columns:
        if column.human or (column.name not in names if names else column.name != column.metric):
            continue
        present = view.table(column.name).has_result[cells]
        for weight in dict.fromkeys((lam, 1.0)) if column.refinement else (1.0,):
            name = f"{column.name} @ {format_lambda(weight)}" if column.refinement else column.name
            label = f"{column.label} (λ = {format_lambda(weight)})" if column.refinement else column.label
            numbers = view.values(column.name, weight)[cells] * (1.0 if column.higher_is_better else -1.0)
            turned = not column.higher_is_better
            metrics.append(ScoredMetric(name, label, signature_at(column, weight), turned=turned))
            results[name] = _Results(present, numbers)

    def texts(keys: Sequence[OutputKey]) -> Iterator[tuple[OutputKey, Item]]:
        return (pair for part in view.texts.item_parts(keys) for pair in part.items())

    return _joined(human_scores, metrics, rated, results, texts, excluded, seed, partly)


def _rated(view: View, human_scores: HumanScores, excluded: Sequence[str]) -> tuple[list[OutputKey], tuple[Rows, Rows]]:
    """Return the rated outputs of the project in natural order, without excluded systems, and their rows and columns."""
    keys, n = in_natural_order(human_scores.scores), len(view.systems)
    cells = (None if k.system in excluded else view.index.cell(k) for k in keys)
    flat = np.fromiter((-1 if at is None else at[0] * n + at[1] for at in cells), dtype=np.int64, count=len(keys))
    order = np.flatnonzero(flat >= 0)
    rows, columns = np.divmod(flat[order], max(1, n))
    return [keys[i] for i in order.tolist()], (rows, columns)
