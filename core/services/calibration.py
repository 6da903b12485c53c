"""Calibrating λ on a project: whom to agree with, the fit, and what is saved of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.calibration.calibrate import Calibration, Point, calibrate, plain
from core.calibration.drawn import Tell, quiet
from core.calibration.presets import Preset
from core.data import Dataset, Judgement, OutputKey, RatedOutput, Value
from core.errors import UserError
from core.mqm import own_schemes
from core.mqm.log import fold
from core.mqm.schemes import SCHEMES, Scheme
from core.mqm.schemes import scheme as scheme_of
from core.mqm.scores import rated_outputs, segment_scores
from core.ports import Project, SavedBatch, SavedLambda, Store
from core.services import judgements as numbers
from core.services.judgements import Way
from core.signature import signature
from core.stats.correlation import Group, Measure


@dataclass(frozen=True, slots=True)
class People:
    """The human side of a calibration: MQM labels of `raters` under a weight scheme, numbers they gave, or a score that came
    with the upload.

    `signature` says which; `scores` are by output, higher is better, with the number of raters where that is known. Labels
    come with the `scheme` they were weighed under. With `of_systems` all outputs of a system have its score, so that systems
    can be compared and nothing else.
    """

    signature: str
    scores: Mapping[OutputKey, tuple[float, int | None]]
    raters: tuple[str, ...] = ()
    scheme: Scheme | None = None
    of_systems: bool = False

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


def labelled(store: Store, project: Project) -> list[RatedOutput]:
    """All that was labelled and submitted, by anybody."""
    return rated_outputs(fold(store.labels.events(project.id)))


def from_labels(store: Store, project: Project, raters: Collection[str], scheme: str | Scheme) -> People:
    """The MQM segment scores of the labels these raters submitted. Raises `UserError` for an unknown scheme."""
    labels = {k: v for k, v in fold(store.labels.events(project.id)).items() if k[0] in raters}
    return from_rated(rated_outputs(labels), raters, scheme)


def from_rated(rated: Sequence[RatedOutput], raters: Collection[str], scheme: str | Scheme) -> People:
    """The MQM segment scores of what these raters marked. Raises `UserError` for an unknown scheme, or a severity it lacks."""
    weights = scheme_of(scheme) if isinstance(scheme, str) else scheme
    scores = {s.key: (s.score, s.n_raters) for s in segment_scores([r for r in rated if r.rater in raters], weights)}
    names = tuple(sorted(raters))
    return People(f"{weights.signature()}|raters:{len(names)}", scores, names, weights)


def from_score(dataset: Dataset, name: str, *, higher_is_better: bool) -> People:
    """A human score of the upload; one where lower is better is turned round."""
    sign = 1.0 if higher_is_better else -1.0
    scores = {
        OutputKey(h.system, h.doc_id, h.segment_id): (sign * h.value, None)
        for h in dataset.human_scores
        if h.name == name
    }
    return People(signature("human", {"name": name, "higher": higher_is_better}), scores)


def from_judgements(
    given: Sequence[Judgement], name: str, way: Way, dataset: Dataset, *, higher_is_better: bool = True
) -> People:
    """The score that follows from the raters' own numbers of one name; of ranks higher is always better.

    Strengths belong to systems: every output of the dataset has that of its system. Raises `UserError` where there are none.
    """
    of_name = numbers.named(given)[name]
    sign = 1.0 if higher_is_better or way in ("wins", "strengths") else -1.0
    scores: Mapping[OutputKey, tuple[float, int | None]]
    if way == "strengths":
        of_system = numbers.strengths(of_name)
        scores = {o.key: (of_system[o.system], None) for o in dataset.outputs if o.system in of_system}
    else:
        scores = {key: (sign * value, n) for key, (value, n) in numbers.scores(of_name, way).items()}
    raters = tuple(sorted({j.rater for j in of_name}))
    facts = {"name": name, "by": way, "raters": len(raters), "higher": sign > 0}
    return People(signature("judgements", facts), scores, raters, of_systems=way == "strengths")


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


def of_batch(data: Sequence[Point], batch: SavedBatch) -> tuple[Point, ...]:
    """The points of a batch's outputs, each with the weight 1/probability: it stands for so many outputs."""
    chance = {c.key: c.probability for c in batch.outputs}
    return tuple(p._replace(weight=1 / chance[p.key]) for p in data if p.key in chance)


def fit(data: Sequence[Point], choice: Choice, presets: Sequence[Preset] = (), tell: Tell = quiet) -> Calibration:
    """The λ that agrees best; `tell` hears which share is done. Raises `UserError` where agreement is undefined at every λ."""
    return calibrate(data, **choice._asdict(), presets=presets, tell=tell)


def save(
    store: Store,
    project: Project,
    name: str,
    found: Calibration,
    refinement: str,
    people: People,
    batch: str = "",
    *,
    lam: float | None = None,
) -> SavedLambda:
    """Store the best λ, or `lam`, the one recommended in its place, under a name with all it was fitted on.

    Raises `UserError` when the name is taken or empty.
    """
    value = found.lam if lam is None else lam
    result: dict[str, Any] = {
        **found.to_json(),
        "saved_lambda": plain(value),
        "people": people.signature,
        "raters": list(people.raters),
    }
    if batch:
        result["batch"] = batch
    if people.scheme is not None:
        result["scheme"] = own_schemes.to_json(people.scheme)
    full = f"{found.signature}|people:{people.signature.replace('|', ';')}"
    return store.calibrations.save(project.id, SavedLambda(name.strip(), value, full, refinement, result))


def saved_schemes(store: Store, project: Project) -> list[Scheme]:
    """The weight schemes of its own that saved λs of the project were fitted under."""
    found: dict[str, Scheme] = {}
    for item in store.calibrations.list(project.id):
        if (stored := item.result.get("scheme")) and stored.get("name") not in SCHEMES:
            with suppress(UserError, KeyError, TypeError, ValueError):
                scheme = own_schemes.from_json(stored)
                found[scheme.signature()] = scheme
    return list(found.values())


class Origin(NamedTuple):
    """What a saved λ was fitted on, in words; "" where the report does not say."""

    outputs: str
    people: str
    weights: str
    measure: str
    group: str
    model: str
    interval: tuple[float, float] | None


def saved_agreement(item: SavedLambda) -> float | None:
    """The agreement that a saved λ reached on what it was fitted on."""
    if item.result.get("saved_lambda") in (None, item.result.get("lambda")):
        return item.result.get("agreement")
    known = item.result.get("agreement_at") or {}
    return known.get("1") if item.value == 1 else None


def origin(item: SavedLambda) -> Origin:
    """Read from the report and the signatures of a saved λ; a report made elsewhere may say less."""
    report, facts, of = item.result, _facts(item.signature), _facts(item.refinement)
    counts = [
        (report.get(k), what) for k, what in (("n", "output"), ("n_segments", "segment"), ("n_systems", "system"))
    ]
    people = _facts(str(report.get("people", "")))
    raters = [str(r) for r in report.get("raters", ())]
    mean = report.get("n_raters")
    who = ", ".join(raters) or (f"score “{people['name']}” of the upload" if "name" in people else "")
    if "by" in people:
        how = next((words for way, words in numbers.WAYS.items() if way == people["by"]), people["by"])
        who = f"“{people.get('name', '')}”, {how}, by {who}"
    if who and people.get("higher") == "no":
        who += ", lower is better"
    if raters and mean is not None:
        who += f" ({mean:.3g} an output)"
    if report.get("batch"):
        who += f", batch “{report['batch']}”" + (", weighted" if "weights" in facts else "")
    ends = report.get("ci") if report.get("saved_lambda") in (None, report.get("lambda")) else None
    return Origin(
        ", ".join(f"{n} {what}{'s' if n != 1 else ''}" for n, what in counts if n is not None),
        who,
        f"{people['scheme']} v{people.get('v', '?')}" if "scheme" in people else "",
        facts.get("measure", "").partition("(")[0],
        facts.get("group", ""),
        ", ".join(t for t in (f"direction {of['variant']}" if "variant" in of else "", _model(of)) if t),
        (float(ends[0]), float(ends[1])) if ends else None,
    )


def _facts(signed: str) -> dict[str, str]:
    return dict(part.split(":", 1) for part in signed.split("|") if ":" in part)


def _model(facts: Mapping[str, str]) -> str:
    return " ".join(facts[k] for k in ("model", "rev") if k in facts)
