"""Calibrating λ on a project: whom to agree with, the fit, and what is saved of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.calibration.calibrate import Calibration, Point, calibrate
from core.calibration.presets import Preset
from core.data import Dataset, OutputKey, Value
from core.mqm.log import fold
from core.mqm.schemes import scheme as scheme_of
from core.mqm.scores import rated_outputs, segment_scores
from core.ports import Project, SavedLambda, Store
from core.signature import signature
from core.stats.correlation import Group, Measure


@dataclass(frozen=True, slots=True)
class People:
    """The human side of a calibration: MQM labels of `raters` under a weight scheme, or a score that came with the upload.

    `signature` says which; `scores` are by output, higher is better, with the number of raters where that is known.
    """

    signature: str
    scores: Mapping[OutputKey, tuple[float, int | None]]
    raters: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """ "2 annotators", or the name of the score."""
        if self.raters:
            return f"{len(self.raters)} annotator{'s' if len(self.raters) != 1 else ''}"
        return "the human score"


class Choice(NamedTuple):
    """How λ is chosen; every field stands in the signature."""

    measure: Measure = "kendall"
    group: Group = "pooled"
    seed: int = 0
    draws: int = 300


def from_labels(store: Store, project: Project, raters: Collection[str], scheme: str) -> People:
    """The MQM segment scores of the labels these raters submitted. Raises `UserError` for an unknown scheme."""
    weights = scheme_of(scheme)
    labels = {k: v for k, v in fold(store.labels.events(project.id)).items() if k[0] in raters}
    scores = {s.key: (s.score, s.n_raters) for s in segment_scores(rated_outputs(labels), weights)}
    names = tuple(sorted(raters))
    return People(f"{weights.signature()}|raters:{len(names)}", scores, names)


def from_score(dataset: Dataset, name: str, *, higher_is_better: bool) -> People:
    """A human score of the upload; one where lower is better is turned round."""
    sign = 1.0 if higher_is_better else -1.0
    scores = {
        OutputKey(h.system, h.doc_id, h.segment_id): (sign * h.value, None)
        for h in dataset.human_scores
        if h.name == name
    }
    return People(signature("human", {"name": name, "higher": higher_is_better}), scores)


def points(table: Mapping[OutputKey, Value], people: People) -> tuple[Point, ...]:
    """The outputs that have both distances and a human score."""
    return tuple(
        Point(
            key,
            v.parts["dist_exp"],
            v.parts["dist_imp"],
            *people.scores[key][:1],
            v.parts["score_hyp"],
            people.scores[key][1],
        )
        for key, v in table.items()
        if key in people.scores and v.status == "ok"
    )


def fit(data: Sequence[Point], choice: Choice, presets: Sequence[Preset] = ()) -> Calibration:
    """The λ that agrees best. Raises `UserError` where agreement is undefined at every λ."""
    return calibrate(
        data, measure=choice.measure, group=choice.group, seed=choice.seed, draws=choice.draws, presets=presets
    )


def save(store: Store, project: Project, name: str, found: Calibration, refinement: str, people: People) -> SavedLambda:
    """Store a fitted λ under a name, with all it was fitted on. Raises `UserError` when the name is taken or empty."""
    result: dict[str, Any] = {**found.to_json(), "people": people.signature, "raters": list(people.raters)}
    full = f"{found.signature}|people:{people.signature.replace('|', ';')}"
    return store.calibrations.save(project.id, SavedLambda(name.strip(), found.lam, full, refinement, result))
