"""The scores that a meta-evaluation compares: outputs with a human score and a score from every metric."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from core.columns import Mask
from core.data import OutputKey, SegmentKey
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
        """Return whose scores these are, and which: "human score “fluency” ↑"."""
        mqm = "MQM score, " if self.human_signature.startswith("mqm|") else ""
        return f"{mqm}{self.people.removeprefix('the ')} ↑"

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
        found = hashlib.sha256(
            repr((len(self.keys), self.scored_metrics, self.human_signature, self.excluded)).encode()
        )
        for start in range(0, len(self.keys), HASHED):
            found.update(repr(self.keys[start : start + HASHED]).encode())
        for values in (self.human, *self.scores.values()):
            found.update(values.tobytes())
        return found.hexdigest()

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
