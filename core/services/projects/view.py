"""One project as arrays, so that pages can read thousands of outputs at once.

Arrays have shape (n_segments, n_systems). NaN marks a missing value; tables and files contain status and reason instead.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Dataset, OutputKey, RatedOutput, Segment, SegmentKey, Value
from core.metrics import registry
from core.metrics.base import MetricSpec
from core.metrics.external import MARK, is_external
from core.metrics.generation.bartscore_pp import refinement_of
from core.ports.scores import ScoredBy
from core.refine.result import weighted
from core.signature import fields_of, signature

Array = npt.NDArray[np.float64]
Cell = tuple[int, int]
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
    """A project as arrays. Create it with `build`."""

    segments: tuple[Segment, ...]
    systems: tuple[str, ...]
    columns: tuple[Column, ...]
    texts: Mapping[OutputKey, str]
    tables: Mapping[str, Mapping[OutputKey, Value]]  # by column name
    plain: Mapping[str, Array] = field(repr=False)
    distances: Mapping[str, tuple[Array, Array]] = field(repr=False)  # refinement columns: explicit, implicit
    folded: tuple[str, ...] = field(repr=False)
    present: npt.NDArray[np.bool_] = field(repr=False)
    row: Mapping[SegmentKey, int] = field(repr=False)
    rated: Mapping[OutputKey, Sequence[RatedOutput]] = field(default_factory=dict, repr=False)  # labels, if given

    @property
    def documents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s.doc_id for s in self.segments))

    def column(self, name: str) -> Column:
        return next(c for c in self.columns if c.name == name)

    def refinements(self) -> tuple[Column, ...]:
        return tuple(c for c in self.columns if c.refinement)

    def values(self, name: str, lam: float) -> Array:
        """Return a column, shape (n_segments, n_systems); BARTScore++ at λ is computed from stored distances, without scoring."""
        if name not in self.distances:
            return self.plain[name]
        explicit, implicit = self.distances[name]
        return -(-weighted(1.0, 0.0, lam) * explicit - weighted(0.0, 1.0, lam) * implicit)

    def scored(self, name: str, keys: Iterable[OutputKey]) -> list[OutputKey]:
        """Return those of `keys` for which the metric has a result: a number, or a reason other than a failure."""
        table = self.tables[name]
        return [k for k in keys if k in table and table[k].status != "error"]

    def at(self, systems: Sequence[str]) -> list[int]:
        """Return the column indexes of the systems, of all if `systems` is empty."""
        return [i for i, s in enumerate(self.systems) if not systems or s in systems]


def fold(text: str) -> str:
    """Return the text in the form used for search: NFKC, case-folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def build(
    dataset: Dataset,
    scored: Sequence[ScoredBy],
    tables: Mapping[str, Mapping[OutputKey, Value]],
    specs: Mapping[str, MetricSpec],
) -> View:
    """Build the view of a project. `tables` are by signature.

    Columns are in the order of `specs`, metrics with options after their plain form, human scores last.
    """
    place_of = {name: i for i, name in enumerate(specs)}

    def place(entry: ScoredBy) -> tuple[int, bool, str, float]:
        name, _, options = entry.metric.partition("|")
        return place_of.get(name, len(place_of)), bool(options), entry.metric, -entry.newest.timestamp()

    row = {s.key: i for i, s in enumerate(dataset.segments)}
    at = {name: i for i, name in enumerate(dataset.systems)}
    shape = (len(row), len(at))
    texts = {o.key: o.text for o in dataset.outputs}
    cell = {k: (row[k.segment], at[k.system]) for k in texts}
    columns: list[Column] = []
    by_name: dict[str, Mapping[OutputKey, Value]] = {}
    plain: dict[str, Array] = {}
    distances: dict[str, tuple[Array, Array]] = {}
    for entry in sorted(scored, key=place):
        table = {k: v for k, v in tables[entry.signature].items() if k in cell}
        ok = [(k, v) for k, v in table.items() if v.value is not None]
        refinement = any("dist_exp" in v.parts and "dist_imp" in v.parts for _, v in ok)
        spec = specs.get(entry.metric) or registry.describe(entry.metric, entry.signature)
        same = [s.signature for s in scored if s.metric == entry.metric]
        newest = not any(c.name == entry.metric for c in columns)
        name = entry.metric if newest else entry.signature
        label = (spec.label if spec else entry.metric) + ("" if newest else f" ({_difference(entry.signature, same)})")
        by_name[name] = table
        plain[name] = _filled(shape, ((cell[k], v.value) for k, v in ok if v.value is not None))
        higher, note = (spec.higher_is_better, spec.help) if spec else (True, "")
        digits = 3 if refinement else _digits(plain[name])
        columns.append(Column(name, entry.metric, label, entry.signature, higher, refinement, note, digits=digits))
        if refinement:
            pairs = [(cell[k], v.parts) for k, v in ok if "dist_exp" in v.parts]
            explicit = _filled(shape, ((c, p["dist_exp"]) for c, p in pairs))
            distances[name] = (explicit, _filled(shape, ((c, p["dist_imp"]) for c, p in pairs)))
    for title in dict.fromkeys(h.name for h in dataset.human_scores):
        name = f"human:{title}"
        scores = {OutputKey(*h[:3]): h.value for h in dataset.human_scores if h.name == title}
        by_name[name] = {key: Value(value) for key, value in scores.items()}
        plain[name] = _filled(shape, ((cell[k], value) for k, value in scores.items() if k in cell))
        note, digits, sign = "imported with the data", _digits(plain[name]), signature("human", {"name": title})
        columns.append(Column(name, name, f"{title} ({HUMAN})", sign, True, False, note, True, digits))
    present = _filled(shape, ((at_cell, 1.0) for at_cell in cell.values())) == 1
    outputs = dataset.outputs_of()
    folded = tuple(
        fold("\n".join((s.source or "", *s.references, *(o.text for o in outputs[s.key]), s.doc_id, s.segment_id)))
        for s in dataset.segments
    )
    return View(
        dataset.segments, dataset.systems, tuple(columns), texts, by_name, plain, distances, folded, present, row
    )


def _filled(shape: Cell, cells: Iterable[tuple[Cell, float]]) -> Array:
    out = np.full(shape, np.nan)
    for place, value in cells:
        out[place] = value
    return out


def _digits(values: Array) -> int:
    there = values[~np.isnan(values)]
    if not len(there):
        return 3
    return 0 if bool((there == np.round(there)).all()) else 1 if float(np.abs(there).max()) > 20 else 3


def _difference(signed: str, others: Sequence[str]) -> str:
    """Return the fields in which a signature differs from the metric's others."""
    common = set.intersection(*(set(s.split("|")) for s in others))
    return ", ".join(p for p in signed.split("|") if p not in common) or "other"
