"""Join human scores with the scores of every metric, without holding the texts of the outputs."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.columns import Mask
from core.data import Item, OutputKey, in_natural_order
from core.formatting import format_lambda
from core.metrics.lexical.baselines import BASELINES, baseline_scores
from core.services.calibrate.calibration import HumanScores
from core.services.compare.compare import signature_at
from core.services.evaluate.evaluation_data import EvaluationData, PartlyScored, ScoredMetric
from core.services.projects.view import View
from core.stats.correlation.pairs import Floats

Rows = npt.NDArray[np.int64]

NOT_SCORED = "no rated output has a score"

TOLERATED = 0.05
"""Share of the outputs with results that a metric may lack before it is excluded."""


def join(
    people: HumanScores,
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
    rated = in_natural_order(k for k in people.scores if k.system not in excluded)
    results = {m.name: _Results.of(rated, values[m.name]) for m in metrics}
    texts = None if items is None else lambda keys: ((k, items[k]) for k in keys if k in items)
    return _joined(people, metrics, rated, results, texts, excluded, seed, partly)


class _Results(NamedTuple):
    """What a metric has of the rated outputs: whether there is a result, and its number or NaN."""

    there: Mask
    numbers: Floats

    @classmethod
    def of(cls, rated: Sequence[OutputKey], values: Mapping[OutputKey, float]) -> _Results:
        there = np.fromiter((k in values for k in rated), dtype=np.bool_, count=len(rated))
        numbers = np.fromiter((values.get(k, np.nan) for k in rated), dtype=np.float64, count=len(rated))
        return cls(there, numbers)

    @property
    def scored(self) -> Mask:
        return self.there & ~np.isnan(self.numbers)


_Texts = Callable[[Sequence[OutputKey]], Iterable[tuple[OutputKey, Item]]]
"""Yields the texts of outputs in their order, and leaves out those without."""


def _joined(
    people: HumanScores, metrics: Sequence[ScoredMetric], rated: Sequence[OutputKey], results: Mapping[str, _Results],
    texts: _Texts | None, excluded: Sequence[str], seed: int, partly: bool,
) -> EvaluationData:  # fmt: skip
    """Return what `join` returns for these results of the rated outputs."""
    most = max((results[m.name].there for m in metrics), key=np.count_nonzero, default=np.zeros(len(rated), dtype=bool))
    n_most = np.count_nonzero(most)
    aside = {
        m.name for m in metrics if not partly and np.count_nonzero(most & ~results[m.name].there) > TOLERATED * n_most
    }
    incomplete = tuple(
        PartlyScored(m.name, m.label, n, len(rated), m.name in aside)
        for m in metrics
        if (n := int(np.count_nonzero(results[m.name].there))) < len(rated)
    )
    metrics = [m for m in metrics if m.name not in aside]
    scored = {m.name: results[m.name].scored for m in metrics}
    there = [m for m in metrics if scored[m.name].any()]
    scored_metrics = [m if m in there else m._replace(undefined=NOT_SCORED) for m in metrics]
    rows = np.flatnonzero(np.logical_and.reduce([np.ones(len(rated), dtype=bool), *(scored[m.name] for m in there)]))
    baselines: dict[str, Floats] = {}
    if texts is not None:
        rows, baselines = _baselines(rated, rows, texts, seed)
    keys = tuple(rated[i] for i in rows.tolist())
    scores = {m.name: results[m.name].numbers[rows] for m in there}
    for sentinel in BASELINES if texts is not None else ():
        name, numbers = f"sentinel:{sentinel.name}", baselines[sentinel.name]
        lacks = sentinel.undefined if np.isnan(numbers).any() else ""
        scored_metrics.append(ScoredMetric(name, sentinel.label, sentinel.signature(seed), True, lacks))
        if not lacks:
            scores[name] = numbers
    reached = np.ones(len(rated), dtype=bool) if partly else most
    notes = [
        f"{m.label} has no score for {lost:,} of {np.count_nonzero(reached):,} rated outputs; they are left out for all metrics."
        for m in there
        if (lost := np.count_nonzero(reached & ~scored[m.name]))
    ]
    if left := len(rated) - np.count_nonzero(reached):
        notes.append(f"{left:,} of {len(rated):,} rated outputs have not been scored and are left out.")
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
    rated, cells = _rated(view, people, excluded)
    metrics: list[ScoredMetric] = []
    results: dict[str, _Results] = {}
    for column in view.columns:
        if column.human or (column.name not in names if names else column.name != column.metric):
            continue
        there = view.table(column.name).has_result[cells]
        for weight in dict.fromkeys((lam, 1.0)) if column.refinement else (1.0,):
            name = f"{column.name} @ {format_lambda(weight)}" if column.refinement else column.name
            label = f"{column.label} (λ = {format_lambda(weight)})" if column.refinement else column.label
            numbers = view.values(column.name, weight)[cells] * (1.0 if column.higher_is_better else -1.0)
            turned = not column.higher_is_better
            metrics.append(ScoredMetric(name, label, signature_at(column, weight), turned=turned))
            results[name] = _Results(there, numbers)

    def texts(keys: Sequence[OutputKey]) -> Iterator[tuple[OutputKey, Item]]:
        return (pair for part in view.texts.item_parts(keys) for pair in part.items())

    return _joined(people, metrics, rated, results, texts, excluded, seed, partly)


def _rated(view: View, people: HumanScores, excluded: Sequence[str]) -> tuple[list[OutputKey], tuple[Rows, Rows]]:
    """Return the rated outputs of the project in natural order, without excluded systems, and their rows and columns."""
    keys, n = in_natural_order(people.scores), len(view.systems)
    cells = (None if k.system in excluded else view.index.cell(k) for k in keys)
    flat = np.fromiter((-1 if at is None else at[0] * n + at[1] for at in cells), dtype=np.int64, count=len(keys))
    order = np.flatnonzero(flat >= 0)
    rows, columns = np.divmod(flat[order], max(1, n))
    return [keys[i] for i in order.tolist()], (rows, columns)
