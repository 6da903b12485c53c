"""An NLI metric and others, put together on the data of a project (Chen and Eger 2023, sections 4.3, 5.1.3 and 6).

What is scored already is taken from storage, what is missing is scored and stored. Scales are frozen ranges
(`core.metrics.ranges`); a metric without one takes no part, and the command that fits one is told.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, OutputKey, Value
from core.formats.adversarial import Case
from core.metrics import ranges, registry
from core.metrics.base import Metric
from core.metrics.menli import NAME, NLI_METRICS
from core.metrics.nli import BOTH, STRATEGIES
from core.metrics.options import encoded
from core.metrics.ranges import DECLARED, FITTED, NoRange, Range
from core.ports import Project, Store
from core.services import menli, menli_scores
from core.services.adversarial import Answered
from core.services.calibration import Choice
from core.services.menli import Attacked, Judged, LeftOut, Pooled
from core.services.scoring import OnProgress, in_company, keep_going, score_dataset

ORIGINS = {
    "own": "fitted here", "sample": "fitted on the sample project", "declared": "declared by the metric", "given": "given",
}  # fmt: skip
"""Where a range comes from, in words."""


class Part(NamedTuple):
    """A metric that may take part: its range, or None and the command that fits one."""

    metric: Metric
    scale: Range | None
    command: str = ""

    @property
    def name(self) -> str:
        return self.metric.spec.name

    @property
    def label(self) -> str:
        return self.metric.spec.label


class Suite(NamedTuple):
    """Adversarial cases of one dataset; `own`: of the project itself (`of_project`)."""

    name: str
    cases: tuple[Case, ...]
    own: bool = False


class Pair(NamedTuple):
    """The NLI metric and another one, both scaled: on outputs that people judged, and on adversarial cases; None where
    there are fewer than two of them."""

    other: Part
    judged: Judged | None
    attacked: Attacked | None


class Strategies(NamedTuple):
    """The 15 strategies on one dataset: agreement with people (`quality`), or accuracy on adversarial cases."""

    dataset: str
    quality: bool
    own: bool
    rows: tuple[Pooled, ...]

    def values(self) -> dict[tuple[str, str], float | None]:
        return {(r.direction, r.formula): r.quality if self.quality else r.robustness for r in self.rows}


def part(metric: Metric, dataset: Dataset | None = None) -> Part:
    """A metric with the range `menli` would scale it by, on this dataset: of an NLI metric that of its formula, of others the
    frozen one."""
    nli = registry.split(metric.spec.name)[0] in NLI_METRICS
    bound = metric if dataset is None else in_company(metric, dataset)
    try:
        return Part(metric, ranges.of(bound, DECLARED if nli else FITTED))
    except NoRange as error:
        return Part(metric, None, error.command)


def of_project(cases: Iterable[Case], dataset: Dataset) -> bool:
    """Whether a case shares its source or a reference with the dataset: what is chosen on one is then not new to the other."""
    texts = {text for s in dataset.segments for text in (s.source, *s.references) if text and text.strip()}
    return any(text in texts for case in cases for text in (case.good.source, *case.good.references))


def both_ways(nli: Metric) -> Metric:
    """The NLI metric that asks in both directions, as the 15 strategies need it: itself where it does."""
    name, given = registry.split(nli.spec.name)
    return registry.load(registry.expression(name, {**given, "direction": BOTH}))


def expression(nli: str, other: str, w: float) -> str:
    """The combination as a metric expression, to be scored, compared and signed like any other."""
    return registry.expression(NAME, {"with": encoded(other), "w": round(w, 2), "nli": encoded(nli)})


def scores_of(
    store: Store,
    project: Project,
    dataset: Dataset,
    keys: Collection[OutputKey],
    metrics: Sequence[Metric],
    on_progress: OnProgress = keep_going,
) -> dict[str, dict[OutputKey, Value]]:
    """The values of these outputs by metric name. What is not stored yet is scored, and stored for the whole installation.

    Raises `Cancelled` when `on_progress` returns False; what was scored until then stays.
    """
    wanted = set(keys)
    few = Dataset(dataset.segments, tuple(o for o in dataset.outputs if o.key in wanted))
    bound = {m.spec.name: in_company(m, dataset) for m in metrics}
    score_dataset(few, list(bound.values()), store.scores, on_progress)
    tables = {name: store.scores.table(project.id, m.signature()) for name, m in bound.items()}
    return {name: {k: v for k, v in table.items() if k in wanted} for name, table in tables.items()}


def failed(tables: Mapping[str, Mapping[OutputKey, Value]]) -> bool:
    """Whether a metric broke down on some output."""
    return any(v.status == "error" for table in tables.values() for v in table.values())


def fit(metric: Metric, values: Mapping[OutputKey, Value]) -> Range:
    """Freeze the range of these values as that of the metric, here and from now on. Raises UserError as `ranges.fit` does."""
    signed = metric.signature()
    there = [v.value for v in values.values() if v.status == "ok" and v.value is not None]
    return ranges.fit({signed: there})[ranges.key(signed)]


def pair(
    nli: Part,
    other: Part,
    tables: Mapping[str, Mapping[OutputKey, Value]],
    human: Mapping[OutputKey, float],
    suites: Sequence[tuple[Suite, Sequence[Answered]]],
) -> Pair | None:
    """What is known of both; of several suites every phenomenon of each counts alike. None where a range is missing."""
    if nli.scale is None or other.scale is None:
        return None
    scales = nli.scale, other.scale
    judged = None
    if human and {nli.name, other.name} <= tables.keys():
        specs = nli.metric.spec, other.metric.spec
        judged = menli_scores.judged(tables[nli.name], tables[other.name], human, specs, scales)
    parts = []
    for suite, answered in suites:
        by_name = {a.spec.name: a for a in answered}
        named = [case._replace(phenomenon=f"{suite.name}: {case.phenomenon}") for case in suite.cases]
        parts.append(menli_scores.attacked(named, by_name[nli.name], by_name[other.name], scales))
    attacked = menli_scores.joined(parts) if parts else None
    return Pair(other, judged if judged and len(judged.keys) > 1 else None, attacked)


def strategies(
    nli: Metric,
    tables: Mapping[str, Mapping[OutputKey, Value]],
    human: Mapping[OutputKey, float],
    suites: Sequence[tuple[Suite, Sequence[Answered]]],
    choice: Choice,
    people: str,
) -> list[Strategies]:
    """The 15 strategies on each dataset: on the outputs that people judged, named `people`, and on each suite.

    `nli` asks both ways (`both_ways`). A dataset on which no strategy is defined is left out.
    """
    found = []
    table = tables.get(nli.spec.name, {})
    if keys := [key for key in human if key in table]:
        shares = menli_scores.shares([table[key] for key in keys])
        said = [human[key] for key in keys]
        rows = menli.grid(shares, said, keys=keys, measure=choice.measure, group=choice.group)
        found.append(Strategies(people, True, True, tuple(rows)))
    for suite, answered in suites:
        (mine,) = (a for a in answered if a.spec.name == nli.spec.name)
        phenomena = [case.phenomenon for case in suite.cases]
        rows = menli.grid(good=menli_scores.shares(mine.good), bad=menli_scores.shares(mine.bad), phenomena=phenomena)
        found.append(Strategies(suite.name, False, suite.own, tuple(rows)))
    return [s for s in found if any(v is not None for v in s.values().values())]


def held_out(found: Sequence[Strategies]) -> list[LeftOut]:
    """Each dataset under the strategy that the other datasets choose (section 6), as far as there are others.

    A suite of the project and what people said of its outputs are one dataset: neither chooses for the other. An
    undefined value is −∞: it never wins.
    """
    rows = []
    for one in found:
        others = [s for s in found if s is not one and not s.quality and not (one.own and s.own)]
        if others:
            values = {s.dataset: _defined(s) for s in (one, *others)}
            rows.append(menli.leave_one_out(values)[0])
    return rows


def _defined(found: Strategies) -> dict[tuple[str, str], float]:
    values = found.values()
    return {s: -math.inf if (value := values[s]) is None else value for s in STRATEGIES}
