"""One project as pages show it: its scores as arrays with names, and access to its texts.

Arrays have shape (n_segments, n_systems). NaN marks a missing value; tables and files contain status and reason instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from core.columns import Array, Mask, ProjectIndex, Scale, ScoreColumn
from core.data import OutputKey, SegmentKey
from core.formats.role_names import is_human_name
from core.metrics import registry
from core.metrics.base import MARK, MetricSpec, is_external
from core.metrics.generation.bartscore_pp import refinement_of
from core.mqm.rated_by_output import RatedByOutput
from core.ports.scores import ScoredBy
from core.refine.result import weighted
from core.services.projects.texts import StoredTexts
from core.signature import fields_of, signature

LOOK, FEWEST = 20, 5
"""Segments in which outputs are compared with references, and the fewest outputs of a system that must be references."""
HUMAN, LABELS = "human score", "labels"
"""Added in brackets to the labels of imported human scores, and of scores computed from error spans."""


class Column(NamedTuple):
    """One kind of score of a project: a metric with one signature, or an imported human score.

    `name` is unique within a view: the metric's name with options for its newest signature, else the signature. `digits` is
    the number of decimals to show. `labelled` scores are computed from error spans.
    """

    name: str
    metric: str
    label: str
    signature: str
    higher_is_better: bool
    refinement: bool = False
    help: str = ""
    human: bool = False
    digits: int = 3
    labelled: bool = False

    @property
    def origin(self) -> str:
        """Return what the label says in brackets of scores that are not those of a metric computed here, else ""."""
        return LABELS if self.labelled else HUMAN if self.human else MARK if is_external(self.metric) else ""

    @property
    def arrow(self) -> str:
        if self.human:
            return ""
        return "↑" if self.higher_is_better else "↓"

    @property
    def direction(self) -> str:
        if self.human:
            return "the import does not say whether higher is better"
        return f"{self.arrow} {'higher' if self.higher_is_better else 'lower'} is better"

    @property
    def refinement_signature(self) -> str:
        """Return the signature without λ, on which the distances depend."""
        return refinement_of(self.signature)

    @property
    def facts(self) -> dict[str, str]:
        return fields_of(self.signature)


@dataclass(frozen=True)
class View:
    """A project as arrays, without its texts. Create it with `build`.

    `read` returns a column by its name; columns that nobody asks for are not loaded. `scored_by` are the metrics and runs with which the
    view was made.
    """

    index: ProjectIndex
    columns: tuple[Column, ...]
    texts: StoredTexts = field(repr=False)
    read: Callable[[str], ScoreColumn] = field(repr=False)
    rated: RatedByOutput | None = field(default=None, repr=False)  # labels, if given
    scored_by: tuple[ScoredBy, ...] = ()

    @property
    def segments(self) -> tuple[SegmentKey, ...]:
        return self.index.segments

    @property
    def systems(self) -> tuple[str, ...]:
        return self.index.systems

    @property
    def present(self) -> Mask:
        return self.index.present

    @property
    def row(self) -> Mapping[SegmentKey, int]:
        return self.index.row

    @property
    def documents(self) -> tuple[str, ...]:
        return tuple(self.index.documents)

    @cached_property
    def reference_systems(self) -> tuple[str, ...]:
        """The systems that are references, by their names or because all their outputs in the first segments are references there."""
        equal, n = Counter[str](), Counter[str]()
        for segment, outputs in self.texts.each(self.segments[:LOOK]):
            with_text = {system: text for system, text in outputs.items() if text.strip()}
            n.update(with_text.keys())
            equal.update(system for system, text in with_text.items() if text in segment.references)
        return tuple(s for s in self.systems if is_human_name(s) or (n[s] >= FEWEST and equal[s] == n[s]))

    @property
    def human_first(self) -> tuple[Column, ...]:
        """The columns, human scores and those of labels before metrics."""
        return tuple(sorted(self.columns, key=lambda c: not (c.human or c.labelled)))

    def compared_with(self, name: str) -> str:
        """Return the score that this one is compared with at first: a human score if there is one, else another, else itself."""
        return next((c.name for c in self.human_first if c.name != name), name)

    def column(self, name: str) -> Column:
        return next(c for c in self.columns if c.name == name)

    def refinements(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.refinement)

    def table(self, name: str) -> ScoreColumn:
        """Return the values of a column with their states and reasons."""
        column = self.read(name)
        if column.index.version == self.index.version:
            return column
        return ScoreColumn.of(self.index, column)  # something was imported after the page was opened

    def values(self, name: str, lam: float) -> Array:
        """Return a column, shape (n_segments, n_systems); BARTScore++ at λ is computed from stored distances, without scoring."""
        column = self.table(name)
        if not self.column(name).refinement:
            return column.numbers
        none = np.full(column.numbers.shape, np.nan)  # an import after the page was opened may leave no scores
        explicit, implicit = column.parts.get("dist_exp", none), column.parts.get("dist_imp", none)
        return -(-weighted(1.0, 0.0, lam) * explicit - weighted(0.0, 1.0, lam) * implicit)

    def scored(self, name: str, keys: Iterable[OutputKey]) -> list[OutputKey]:
        """Return those of `keys` for which the metric has a result: a number, or a reason other than a failure."""
        has_result, cell = self.table(name).has_result, self.index.cell
        return [key for key in keys if (at := cell(key)) is not None and has_result[at]]

    def at(self, systems: Sequence[str]) -> list[int]:
        """Return the column indexes of the systems, of all if `systems` is empty."""
        return [i for i, s in enumerate(self.systems) if not systems or s in systems]


def build(
    index: ProjectIndex,
    texts: StoredTexts,
    scored: Sequence[ScoredBy],
    human: Sequence[str],
    read: Callable[[ScoredBy | str], ScoreColumn],
    specs: Mapping[str, MetricSpec],
) -> View:
    """Build the view of a project. `read` returns the scores of a metric, or of a name in `human`.

    Columns are in the order of `specs`, metrics with options after their plain form, human scores last.
    """
    place_of = {name: i for i, name in enumerate(specs)}

    def place(entry: ScoredBy) -> tuple[int, bool, str, float]:
        name, _, options = entry.metric.partition("|")
        return place_of.get(name, len(place_of)), bool(options), entry.metric, -entry.newest.timestamp()

    columns: list[Column] = []
    sources: dict[str, ScoredBy | str] = {}
    for entry in sorted(scored, key=place):
        scale = read(entry).scale
        spec = specs.get(entry.metric) or registry.describe(entry.metric, entry.signature)
        same = [s.signature for s in scored if s.metric == entry.metric]
        newest = not any(c.name == entry.metric for c in columns)
        name = entry.metric if newest else entry.signature
        label = (spec.label if spec else entry.metric) + ("" if newest else f" ({_difference(entry.signature, same)})")
        refinement = {"dist_exp", "dist_imp"} <= set(scale.parts)
        higher, note = (spec.higher_is_better, spec.help) if spec else (True, "")
        digits = 3 if refinement else _digits(scale)
        columns.append(Column(name, entry.metric, label, entry.signature, higher, refinement, note, digits=digits))
        sources[name] = entry
    for title in human:
        name, sign, note = f"human:{title}", signature("human", {"name": title}), "imported with the data"
        digits = _digits(read(title).scale)
        columns.append(Column(name, name, f"{title} ({HUMAN})", sign, True, False, note, True, digits))
        sources[name] = title
    held: WeakValueDictionary[str, ScoreColumn] = WeakValueDictionary()  # storage decides what stays in memory

    def of_name(name: str) -> ScoreColumn:
        if (column := held.get(name)) is None:
            column = held[name] = read(sources[name])
        return column

    return View(index, tuple(columns), texts, of_name, scored_by=tuple(scored))


def _digits(scale: Scale) -> int:
    if scale.largest is None:
        return 3
    return 0 if scale.whole else 1 if scale.largest > 20 else 3


def _difference(signed: str, others: Sequence[str]) -> str:
    """Return the fields in which a signature differs from the metric's others."""
    common = set.intersection(*(set(s.split("|")) for s in others))
    return ", ".join(p for p in signed.split("|") if p not in common) or "other"
