"""Meta-evaluation: how well metrics agree with people, beside sentinels that know nothing, each with its uncertainty.

All metrics are compared on the same outputs: those that people rated and every metric shown has scored. Scores are turned so
that higher is better. At system level only segments count that every system has, so that means are of the same texts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypedDict

import numpy as np

from core.data import Item, OutputKey
from core.metrics.sentinels import SENTINELS
from core.plots.calibration import lambda_text
from core.services.calibration import People
from core.services.compare import signature_at
from core.services.view import View
from core.stats.agreement_interval import agreement_interval
from core.stats.batch import cells
from core.stats.correlation import Group, Measure, too_few_groups
from core.stats.pairs import Floats
from core.stats.pairwise_accuracy import soft_pairwise_accuracy
from core.stats.perm_both import agreement_with_ties
from core.stats.table import Table, complete_table
from core.stats.ties import MAX_PAIRS, TieCalibration, TieCurve, calibrate_ties_by, tie_curve_by

Level = Literal["segment", "system"]
Unit = Literal["segment", "document"]
Name = Literal["kendall", "acc_eq", "spearman", "pearson", "soft_pairwise", "pairwise"]
STATISTICS: dict[Level, tuple[Name, ...]] = {
    "segment": ("kendall", "acc_eq", "spearman", "pearson"),
    "system": ("pairwise", "soft_pairwise", "kendall", "spearman", "pearson"),
}
LABELS: dict[Name, str] = {
    "kendall": "Kendall τ-b", "acc_eq": "acc_eq", "spearman": "Spearman ρ", "pearson": "Pearson r",
    "soft_pairwise": "soft pairwise accuracy", "pairwise": "pairwise accuracy",
}  # fmt: skip
SIGNS: dict[Name, str] = {
    "kendall": "τ-b", "acc_eq": "acc_eq", "spearman": "ρ", "pearson": "r", "soft_pairwise": "SPA", "pairwise": "PA",
}  # fmt: skip
PERMUTATIONS = 1000
NOT_SCORED = "no rated output has a score"
OF_SYSTEMS = "it compares p-values over segments, and people's scores are of whole systems"
NO_SEGMENTS = "at least two segments are needed that every system has"
Step = Callable[[int, int], None]
"""Called with the parts of the work done and all of them."""


class Contestant(NamedTuple):
    """A metric, or a sentinel, by the name its scores stand under in `Joined`. `undefined`: why it has none;
    `turned`: lower is better, and its sign was changed."""

    name: str
    label: str
    signature: str
    sentinel: bool = False
    undefined: str = ""
    turned: bool = False

    @property
    def axis(self) -> str:
        return f"{self.label}, sign changed ↑" if self.turned else f"{self.label} ↑"


class Choice(NamedTuple):
    """How agreement is measured. At segment level pairs are `pooled` or formed within each segment; the bootstrap
    resamples `unit`s."""

    level: Level = "segment"
    group: Literal["pooled", "segment"] = "pooled"
    unit: Unit = "segment"
    seed: int = 0
    draws: int = 300

    @property
    def of_pairs(self) -> Group:
        return "system" if self.level == "system" else self.group


@dataclass(frozen=True)
class Joined:
    """The outputs that people and all metrics judged: `human` and each of `scores` have shape (n_outputs,). With `of_systems`
    all outputs of a system have its human score."""

    keys: tuple[OutputKey, ...]
    human: Floats
    scores: Mapping[str, Floats]
    contestants: tuple[Contestant, ...]
    people: str
    human_signature: str
    excluded: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    of_systems: bool = False

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(k.system for k in self.keys))

    @property
    def human_axis(self) -> str:
        return f"MQM score, {self.people} ↑" if self.human_signature.startswith("mqm|") else "human score ↑"

    @property
    def n_segments(self) -> int:
        return len({k.segment for k in self.keys})

    @property
    def metrics(self) -> tuple[Contestant, ...]:
        return tuple(c for c in self.contestants if not c.sentinel)

    @property
    def too_few(self) -> bool:
        """Whether there is nothing to compare: fewer than two outputs, or no metric that scored any."""
        return len(self.keys) < 2 or all(m.undefined for m in self.metrics)

    @property
    def of_segment(self) -> list[tuple[str, str]]:
        return [k.segment for k in self.keys]

    @property
    def of_system(self) -> list[str]:
        return [k.system for k in self.keys]

    def units(self, unit: Unit) -> list[object]:
        return [k.doc_id if unit == "document" else k.segment for k in self.keys]

    def contestant(self, name: str) -> Contestant:
        return next(c for c in self.contestants if c.name == name)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of all that a result depends on."""
        text = repr((self.keys, self.contestants, self.human_signature, self.excluded))
        found = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
        for values in (self.human, *self.scores.values()):
            found.update(values.tobytes())
        return found.hexdigest()

    def only(self, keep: Sequence[bool] | np.typing.NDArray[np.bool_]) -> Joined:
        """The same with some of the outputs."""
        at = np.flatnonzero(keep)
        scores = {name: values[at] for name, values in self.scores.items()}
        return replace(self, keys=tuple(self.keys[i] for i in at), human=self.human[at], scores=scores)

    @cached_property
    def table(self) -> Table:
        return complete_table(self.of_system, self.of_segment)

    def whole(self) -> Joined:
        """Only segments that every system has."""
        keep = np.zeros(len(self.keys), dtype=bool)
        keep[self.table.rows.reshape(-1)] = True
        return self if keep.all() else self.only(keep)


class Row(NamedTuple):
    """A metric under one statistic: a line of the files. `n` counts outputs (systems at system level), `groups` the segments in
    which the statistic is defined and over which it is averaged, of `all_groups`; where these are too few it is not `ranked`, which
    is neither named in headlines nor tested. `epsilon` and `chance` belong to acc_eq. `value` is None unless `status` is "ok"; then `reason` says why.
    Without `low` and `high` the `reason` says why there is no interval; with them, what it rests on where not on all pairs.
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
    """All rows, with what they were made of."""

    rows: tuple[Row, ...]
    joined: Joined
    choice: Choice

    def of(self, name: str, statistic: Name) -> Row:
        return next(r for r in self.rows if r.name == name and r.statistic == statistic)

    def order(self, statistic: Name) -> list[str]:
        """Metrics from the best to the worst, then those not ranked, undefined ones last; sentinels after all metrics."""

        def place(c: Contestant) -> tuple[bool, bool, bool, float]:
            row = self.of(c.name, statistic)
            return c.sentinel, row.value is None, not row.ranked, -(row.value or 0.0)

        return [c.name for c in sorted(self.joined.contestants, key=place)]

    def best(self, statistic: Name, *, sentinel: bool = False) -> Row | None:
        """The metric, or the sentinel, that agrees best; None where none is ranked."""
        return max(self.ranked(statistic, sentinel=sentinel), key=lambda r: r.value or 0.0, default=None)

    def ranked(self, statistic: Name, *, sentinel: bool = False) -> list[Row]:
        """The rows of metrics, or of sentinels, with a value that rests on enough segments."""
        kind = "sentinel" if sentinel else "metric"
        rows = [r for r in self.rows if r.statistic == statistic and r.kind == kind]
        return [r for r in rows if r.value is not None and r.ranked]


def looks_human(system: str) -> bool:
    """Whether a system's name is that of a human reference among the outputs: refA, Human-B, ref.1, …"""
    return bool(re.match(r"(?i)(ref|reference|human)([^a-z]|$|[a-z]$)", system))


def join(
    people: People,
    metrics: Sequence[Contestant],
    values: Mapping[str, Mapping[OutputKey, float]],
    *,
    items: Mapping[OutputKey, Item] | None = None,
    order: Sequence[OutputKey] = (),
    excluded: Sequence[str] = (),
    seed: int = 0,
) -> Joined:
    """Rated outputs that every metric has scored, in `order`; `values` are by metric, higher is better.

    A metric without any score on a rated output stays in, undefined, and takes nothing away. Sentinels are computed from the
    texts (`items`); without these there is none.
    """
    rated = [k for k in (order or people.scores) if k in people.scores and k.system not in excluded]
    there = [m for m in metrics if any(k in values[m.name] for k in rated)]
    contestants = [m if m in there else m._replace(undefined=NOT_SCORED) for m in metrics]
    keys = tuple(k for k in rated if all(k in values[m.name] for m in there) and (items is None or k in items))
    scores = {m.name: np.array([values[m.name][k] for k in keys], dtype=np.float64) for m in there}
    of_keys = [items[k] for k in keys] if items is not None else []
    for sentinel in SENTINELS if items is not None else ():
        name, found = f"sentinel:{sentinel.name}", sentinel.score(of_keys, seed)
        known = [v for v in found if v is not None]
        lacks = sentinel.undefined if len(known) < len(keys) else ""
        contestants.append(Contestant(name, sentinel.label, sentinel.signature(seed), True, lacks))
        if not lacks:
            scores[name] = np.array(known, dtype=np.float64)
    notes = [
        f"{m.label} has no score for {lost} of {len(rated)} rated outputs; these are left out for all."
        for m in there
        if (lost := sum(k not in values[m.name] for k in rated))
    ]
    human = np.array([people.scores[k][0] for k in keys], dtype=np.float64)
    gone = tuple(s for s in excluded if any(k.system == s for k in people.scores))
    return Joined(
        keys, human, scores, tuple(contestants), people.words, people.signature, gone, tuple(notes), people.of_systems
    )


def from_view(
    view: View,
    people: People,
    *,
    names: Sequence[str] = (),
    lam: float = 1.0,
    excluded: Sequence[str] = (),
    seed: int = 0,
) -> Joined:
    """The metrics of a project (the newest run of each, or those named), BARTScore++ both at λ and at 1."""
    metrics: list[Contestant] = []
    values: dict[str, dict[OutputKey, float]] = {}
    place = {name: i for i, name in enumerate(view.systems)}
    rated = [k for k in view.texts if k in people.scores]
    for column in view.columns:
        if column.human or (column.name not in names if names else column.name != column.metric):
            continue
        for weight in dict.fromkeys((lam, 1.0)) if column.refinement else (1.0,):
            name = f"{column.name} @ {lambda_text(weight)}" if column.refinement else column.name
            label = f"{column.label} (λ = {lambda_text(weight)})" if column.refinement else column.label
            array = view.values(column.name, weight) * (1.0 if column.higher_is_better else -1.0)
            cells = ((k, array[view.row[k.segment], place[k.system]]) for k in rated)
            turned = not column.higher_is_better
            metrics.append(Contestant(name, label, signature_at(column, weight), turned=turned))
            values[name] = {k: float(v) for k, v in cells if not np.isnan(v)}
    of = {s.key: s for s in view.segments}
    items = {k: Item(of[k.segment].source, view.texts[k], of[k.segment].references) for k in rated}
    return join(people, metrics, values, items=items, order=rated, excluded=excluded, seed=seed)


def evaluate(joined: Joined, choice: Choice, statistics: Sequence[Name] = (), step: Step | None = None) -> Evaluation:
    """Every metric under every statistic of the level. Soft pairwise accuracy comes without its interval, which is slow."""
    data = joined.whole() if choice.level == "system" else joined
    rows: list[Row] = []
    for k, contestant in enumerate(joined.contestants):
        rows += rows_of(data, contestant, choice, statistics)
        if step is not None:
            step(k + 1, len(joined.contestants))
    return Evaluation(tuple(rows), joined, choice)


def rows_of(data: Joined, contestant: Contestant, choice: Choice, statistics: Sequence[Name] = ()) -> tuple[Row, ...]:
    """One metric under every statistic; at system level `data` has whole segments only."""
    return tuple(_row(data, contestant, name, choice) for name in statistics or STATISTICS[choice.level])


def _row(data: Joined, contestant: Contestant, statistic: Name, choice: Choice) -> Row:
    n = len(data.systems) if choice.level == "system" else len(data.keys)
    empty = Row(
        contestant.label, "sentinel" if contestant.sentinel else "metric", statistic, choice.level, choice.of_pairs,
        None, None, None, n, 0, None, None, "undefined", contestant.undefined, contestant.name, contestant.signature,
    )  # fmt: skip
    of_segments = choice.of_pairs == "segment"
    if of_segments:
        empty = empty._replace(all_groups=data.n_segments)
    if contestant.undefined:
        return empty
    if choice.level == "system" and data.n_segments < 2:
        return empty._replace(reason=NO_SEGMENTS)
    metric, human = data.scores[contestant.name], data.human
    if statistic == "soft_pairwise":
        if data.of_systems:
            return empty._replace(reason=OF_SYSTEMS)
        table = data.table
        found = soft_pairwise_accuracy(table.of(metric), table.of(human), seed=choice.seed, draws=PERMUTATIONS)
        if found.value is None:
            return empty._replace(reason=found.reason)
        return empty._replace(value=found.value, status="ok", reason="its interval has not been computed")
    of_ties: TieCalibration | None = None
    if statistic == "acc_eq":
        if of_segments and cells("acc_eq", n, "segment", data.of_segment) > MAX_PAIRS:
            return empty._replace(reason=f"there are more than {MAX_PAIRS:,} pairs of outputs within segments")
        of_ties = calibrate_ties_by(choice.of_pairs, metric, human, segments=data.of_segment, systems=data.of_system)
    measure = measure_of(statistic)
    where: _Where = {"group": choice.of_pairs, "segments": data.of_segment, "systems": data.of_system}
    seen = of_ties.statistic if of_ties else agreement_with_ties(measure, metric, human, **where)
    interval = agreement_interval(
        measure, metric, human, **where, units=data.units(choice.unit), seed=choice.seed, draws=choice.draws, known=seen
    )
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


class _Where(TypedDict):
    group: Group
    segments: list[tuple[str, str]]
    systems: list[str]


def measure_of(statistic: Name) -> Measure:
    """The statistic that is computed: pairwise accuracy is acc_eq (ε = 0) of the systems' means."""
    if statistic == "soft_pairwise":
        raise ValueError("soft pairwise accuracy is no statistic of single outputs")
    return "acc_eq" if statistic == "pairwise" else statistic


def ties(joined: Joined, name: str, choice: Choice) -> TieCurve:
    """acc_eq by ε, at segment level."""
    return tie_curve_by(choice.of_pairs, joined.scores[name], joined.human, segments=joined.of_segment)
