"""Combinations of an NLI metric with others on a project's data (Chen and Eger 2023, sections 4.3, 5.1.3 and 6).

Existing scores are reused, missing ones are computed and stored. Scales are frozen ranges (`core.metrics.ranges`). A metric
without a range cannot be combined; its `command` fits one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from core.data import Dataset, OutputKey, Value
from core.formats.error_cases import AdversarialCase
from core.metrics import ranges, registry
from core.metrics.base import Metric, encoded
from core.metrics.entailment.menli import NAME, NLI_METRICS
from core.metrics.entailment.nli import BACKWARD, BOTH, FORWARD
from core.metrics.ranges import DECLARED, FITTED, NoRange, Range
from core.ports.projects import Project
from core.ports.store import Store
from core.scoring.dataset import for_dataset, score_dataset
from core.scoring.values import OnScoring
from core.services.calibrate.calibration import LambdaFitOptions
from core.services.robustness import nli_weights
from core.services.robustness.adversarial import Answered
from core.services.robustness.nli_weights import Attacked, LeftOut, OutputsOfBoth, Pooled
from core.stats.correlation.pairs import Floats

Tables = Mapping[str, Mapping[OutputKey, Value]]
"""Values by metric name and output."""

ORIGINS = {
    "own": "fitted here", "sample": "fitted on the sample project", "declared": "declared by the metric", "given": "given",
}  # fmt: skip
"""Descriptions of the origins of ranges."""


class ScaledMetric(NamedTuple):
    """A metric with its range, or None and the command that fits one."""

    metric: Metric
    scale: Range | None
    command: str = ""

    @property
    def name(self) -> str:
        return self.metric.spec.name

    @property
    def label(self) -> str:
        return self.metric.spec.label

    def scaled(self, values: Iterable[Value]) -> Floats:
        """Return values scaled to [0, 1] by the range; higher is better, NaN if undefined or without a range."""
        scale, higher = self.scale, self.metric.spec.higher_is_better
        scaled = (
            None if v.value is None or scale is None else scale.scaled(v.value, higher_is_better=higher) for v in values
        )
        return np.array(list(scaled), dtype=np.float64)


class CaseSuite(NamedTuple):
    """Adversarial cases of one dataset; `own` if they are made from the project (`of_project`)."""

    name: str
    cases: tuple[AdversarialCase, ...]
    own: bool = False


class MetricPairing(NamedTuple):
    """The NLI metric and another one, both scaled, on outputs with human scores and on adversarial cases.

    None if there are fewer than two of them.
    """

    other: ScaledMetric
    judged: OutputsOfBoth | None
    attacked: Attacked | None


class Strategies(NamedTuple):
    """The 15 strategies on one dataset: agreement with human scores (`quality`), or adversarial accuracy."""

    dataset: str
    quality: bool
    own: bool
    rows: tuple[Pooled, ...]

    def values(self) -> dict[tuple[str, str], float | None]:
        return {(r.direction, r.formula): r.quality if self.quality else r.robustness for r in self.rows}

    def finite(self) -> dict[tuple[str, str], float]:
        """Return the values with −∞ for those that are undefined, so that they never win."""
        return {way: -math.inf if value is None else value for way, value in self.values().items()}


def part(metric: Metric, dataset: Dataset | None = None) -> ScaledMetric:
    """Return a metric with the range that `menli` uses on this dataset: that of the formula for NLI metrics, else the frozen one."""
    nli = registry.split(metric.spec.name)[0] in NLI_METRICS
    bound = metric if dataset is None else for_dataset(metric, dataset)
    try:
        return ScaledMetric(metric, ranges.range_of(bound, DECLARED if nli else FITTED))
    except NoRange as error:
        return ScaledMetric(metric, None, error.command)


def of_project(cases: Iterable[AdversarialCase], dataset: Dataset) -> bool:
    """Return whether a case shares its source or a reference with the dataset, so that both are not independent."""
    texts = {text for s in dataset.segments for text in (s.source, *s.references) if text and text.strip()}
    return any(text in texts for case in cases for text in (case.good.source, *case.good.references))


def both_ways(nli: Metric) -> Metric:
    """Return the NLI metric in both directions, which the 15 strategies need."""
    name, option_texts = registry.split(nli.spec.name)
    return registry.load_metric(registry.expression(name, {**option_texts, "direction": BOTH}))


def expression(nli: str, other: str, w: float) -> str:
    """Return the combination as a metric expression."""
    return registry.expression(NAME, {"with": encoded(other), "w": round(w, 2), "nli": encoded(nli)})


def scores_of(
    store: Store,
    project: Project,
    sample: Dataset,
    keys: Collection[OutputKey],
    metrics: Sequence[Metric],
    on_scoring: OnScoring | None = None,
) -> dict[str, dict[OutputKey, Value]]:
    """Return the values of these outputs by metric name. Missing values are computed and stored.

    `sample` are texts of the project, on which metrics are fitted that depend on other outputs.
    Raises `Cancelled` when `on_scoring` does; values computed until then stay stored.
    """
    requested = set(keys)
    texts = store.projects.texts(project.id, list(dict.fromkeys(key.segment for key in keys)))
    few = Dataset(texts.segments, tuple(o for o in texts.outputs if o.key in requested))
    bound = {m.spec.name: for_dataset(m, sample) for m in metrics}
    score_dataset(few, list(bound.values()), store.scores, on_scoring)
    return {name: store.scores.column(project.id, m.signature()).picked(requested) for name, m in bound.items()}


def failed(tables: Tables) -> bool:
    """Return whether a metric raised an error for some output."""
    return any(v.status == "error" for table in tables.values() for v in table.values())


def fit(metric: Metric, values: Mapping[OutputKey, Value]) -> Range:
    """Fit and store the metric's range on these values. Raises `UserError` as `ranges.fit` does."""
    signed = metric.signature()
    numbers = [v.value for v in values.values() if v.value is not None]
    return ranges.fit({signed: numbers})[ranges.key(signed)]


def pair(
    nli: ScaledMetric,
    other: ScaledMetric,
    tables: Tables,
    human: Mapping[OutputKey, float],
    suites: Sequence[tuple[CaseSuite, Sequence[Answered]]],
) -> MetricPairing | None:
    """Return the data of both metrics; every phenomenon of every suite has the same weight. None if a range is missing."""
    if nli.scale is None or other.scale is None:
        return None
    phenomena = [f"{suite.name}: {case.phenomenon}" for suite, _ in suites for case in suite.cases]
    sides: list[Floats] = []
    for metric in (nli, other):
        mine = [a for _, answered in suites for a in answered if a.spec.name == metric.name]
        sides += [metric.scaled(v for a in mine for v in a.good), metric.scaled(v for a in mine for v in a.bad)]
    attacked = Attacked(tuple(phenomena), *sides) if suites else None
    return MetricPairing(other, _judged(nli, other, tables, human), attacked)


def _judged(
    nli: ScaledMetric, other: ScaledMetric, tables: Tables, human: Mapping[OutputKey, float]
) -> OutputsOfBoth | None:
    """Return the outputs with a value of both metrics and a human score; None if there are fewer than two."""
    nli_values, other_values = (tables.get(metric.name, {}) for metric in (nli, other))
    keys = [key for key in human if key in nli_values and key in other_values]
    n, m = nli.scaled(nli_values[key] for key in keys), other.scaled(other_values[key] for key in keys)
    known = np.isfinite(n) & np.isfinite(m)
    kept = tuple(keys[i] for i in np.flatnonzero(known))
    human_values = np.array([human[key] for key in kept], dtype=np.float64)
    return OutputsOfBoth(kept, n[known], m[known], human_values) if len(kept) > 1 else None


def shares(values: Sequence[Value]) -> Floats:
    """Return probabilities, shape (n, 2, 3), from values of an NLI metric in both directions; NaN if undefined.

    With several references, they are those of the best reference under the formula of the values.
    """
    names = [f"{k}_{way}" for way in (FORWARD, BACKWARD) for k in "enc"]
    rows = [[v.parts.get(name, np.nan) if v.status == "ok" else np.nan for name in names] for v in values]
    return np.array(rows, dtype=np.float64).reshape(len(values), 2, 3)


def strategies(
    nli: Metric,
    tables: Tables,
    human: Mapping[OutputKey, float],
    suites: Sequence[tuple[CaseSuite, Sequence[Answered]]],
    choice: LambdaFitOptions,
    human_name: str,
) -> list[Strategies]:
    """Return the 15 strategies on each dataset: outputs with human scores (named `human_name`), and each suite.

    `nli` is a metric in both directions (`both_ways`). Datasets on which no strategy is defined are left out.
    """
    of_datasets = []
    table = tables.get(nli.spec.name, {})
    if keys := [key for key in human if key in table]:
        probabilities, scores = shares([table[key] for key in keys]), [human[key] for key in keys]
        rows = nli_weights.grid(probabilities, scores, keys=keys, measure=choice.measure, group=choice.group)
        of_datasets.append(Strategies(human_name, True, True, tuple(rows)))
    for suite, answered in suites:
        (mine,) = (a for a in answered if a.spec.name == nli.spec.name)
        phenomena = [case.phenomenon for case in suite.cases]
        rows = nli_weights.grid(good=shares(mine.good), bad=shares(mine.bad), phenomena=phenomena)
        of_datasets.append(Strategies(suite.name, False, suite.own, tuple(rows)))
    return [s for s in of_datasets if any(v is not None for v in s.values().values())]


def held_out(tables: Sequence[Strategies]) -> list[LeftOut]:
    """Return each dataset under the strategy chosen on the other datasets (section 6), if there are others.

    A suite made from the project and the project's human scores count as one dataset: neither chooses for the other.
    """
    rows = []
    for one in tables:
        others = [s.finite() for s in tables if s is not one and not s.quality and not (one.own and s.own)]
        if others:
            rows.append(nli_weights.left_out(one.dataset, one.finite(), others))
    return rows
