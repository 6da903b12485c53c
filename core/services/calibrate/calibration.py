"""Calibrate λ on a project: choose human scores, fit λ, save the result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.calibration.calibrate import Calibration, CalibrationPoint, plain
from core.data import Judgement, OutputKey, Value
from core.errors import UserError
from core.formatting import format_count
from core.mqm.label_columns import LabelColumns
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.schemes import SCHEMES, Scheme, from_json, to_json
from core.mqm.schemes import scheme as scheme_of
from core.ports.calibration import SavedBatch, SavedLambda
from core.ports.projects import Project
from core.ports.store import Store
from core.services.labels import judgements as numbers
from core.services.labels.judgements import Way
from core.signature import fields_of, signature
from core.stats.correlation.correlation import Group, Measure


@dataclass(frozen=True, slots=True)
class HumanScores:
    """Human scores to agree with: MQM labels of `raters` under a weight scheme, numbers the raters gave, or an imported score.

    `signature` identifies them. `scores` maps outputs to (score, number of raters if known); higher is better. `scheme` is
    the weight scheme of labels, `name` that of imported or given numbers. With `of_systems` the scores are per system: all outputs of a system have the same one.
    """

    signature: str
    scores: Mapping[OutputKey, tuple[float, int | None]]
    raters: tuple[str, ...] = ()
    scheme: Scheme | None = None
    of_systems: bool = False
    name: str = ""

    @property
    def words(self) -> str:
        """Return whose score it is, and its name if it has one: "3 annotators (“fluency”)", "the human score “DA”"."""
        named = f"“{self.name}”" if self.name else ""
        if self.raters:
            return format_count(len(self.raters), "annotator") + (f" ({named})" if named else "")
        return f"the human score {named}".strip()


class LambdaFitOptions(NamedTuple):
    """How λ is fitted; every field is part of the signature."""

    measure: Measure = "kendall"
    group: Group = "pooled"
    seed: int = 0
    draws: int = 300


def from_rated(labels: LabelColumns, raters: Collection[str], scheme: str | Scheme) -> HumanScores:
    """Return the MQM segment scores of these raters' labels.

    Raises `UserError` for an unknown scheme, or a severity it does not have.
    """
    weights = scheme_of(scheme) if isinstance(scheme, str) else scheme
    of_raters = RatedByOutput(labels, labels.rows_by(raters))
    scores = {s.key: (s.score, s.n_raters) for s in of_raters.segment_scores(weights)}
    names = tuple(sorted(raters))
    return HumanScores(f"{weights.signature()}|raters:{len(names)}", scores, names, weights)


def from_score(values: Mapping[OutputKey, float], name: str, *, higher_is_better: bool) -> HumanScores:
    """Return an imported human score; its sign is changed if lower is better."""
    sign = 1.0 if higher_is_better else -1.0
    scores = {key: (sign * value, None) for key, value in values.items()}
    return HumanScores(signature("human", {"name": name, "higher": higher_is_better}), scores, name=name)


def from_judgements(
    judgements: Sequence[Judgement], name: str, way: Way, outputs: Iterable[OutputKey], *, higher_is_better: bool = True
) -> HumanScores:
    """Return the scores derived from the raters' numbers of one name; for ranks, higher is always better.

    Strengths are per system: each of `outputs` has the strength of its system. Raises `UserError` if they are undefined.
    """
    of_name = numbers.named(judgements)[name]
    sign = 1.0 if higher_is_better or way in ("wins", "strengths") else -1.0
    scores: Mapping[OutputKey, tuple[float, int | None]]
    if way == "strengths":
        of_system = numbers.strengths(of_name)
        scores = {key: (of_system[key.system], None) for key in outputs if key.system in of_system}
    else:
        scores = {key: (sign * value, n) for key, (value, n) in numbers.scores(of_name, way).items()}
    raters = tuple(sorted({j.rater for j in of_name}))
    facts = {"name": name, "by": way, "raters": len(raters), "higher": sign > 0}
    return HumanScores(signature("judgements", facts), scores, raters, of_systems=way == "strengths", name=name)


def points(table: Mapping[OutputKey, Value], human_scores: HumanScores) -> tuple[CalibrationPoint, ...]:
    """Return the outputs that have both distances and a human score."""
    return tuple(
        CalibrationPoint(
            key,
            v.parts["dist_exp"],
            v.parts["dist_imp"],
            *human_scores.scores[key][:1],
            v.parts["score_hyp"],
            human_scores.scores[key][1],
        )
        for key, v in table.items()
        if key in human_scores.scores and v.status == "ok"
    )


def of_batch(data: Sequence[CalibrationPoint], batch: SavedBatch) -> tuple[CalibrationPoint, ...]:
    """Return the points of a batch's outputs, weighted with 1/probability of being drawn."""
    chance = {c.key: c.probability for c in batch.outputs}
    return tuple(p._replace(weight=1 / chance[p.key]) for p in data if p.key in chance)


def save(
    store: Store,
    project: Project,
    name: str,
    calibration: Calibration,
    refinement: str,
    human: HumanScores,
    batch: str = "",
    *,
    lam: float | None = None,
) -> SavedLambda:
    """Store the best λ, or `lam` if given, under a name, with the data and options of the fit.

    Raises `UserError` if the name is taken or empty.
    """
    value = calibration.lam if lam is None else lam
    result: dict[str, Any] = {
        **calibration.to_json(),
        "saved_lambda": plain(value),
        "people": human.signature,
        "raters": list(human.raters),
    }
    if batch:
        result["batch"] = batch
    if human.scheme is not None:
        result["scheme"] = to_json(human.scheme)
    full = f"{calibration.signature}|people:{human.signature.replace('|', ';')}"
    return store.calibrations.save(project.id, SavedLambda(name.strip(), value, full, refinement, result))


def saved_schemes(store: Store, project: Project) -> list[Scheme]:
    """Return the custom weight schemes that saved λs of the project were fitted with."""
    schemes: dict[str, Scheme] = {}
    for item in store.calibrations.list(project.id):
        if (stored := item.result.get("scheme")) and stored.get("name") not in SCHEMES:
            with suppress(UserError, TypeError, ValueError):
                scheme = from_json(stored)
                schemes[scheme.signature()] = scheme
    return list(schemes.values())


class LambdaOrigin(NamedTuple):
    """A description of the data and options a saved λ was fitted with; "" for what the report does not contain."""

    outputs: str
    human_scores: str
    weights: str
    measure: str
    group: str
    model: str
    interval: tuple[float, float] | None


def saved_agreement(item: SavedLambda) -> float | None:
    """Return the agreement of a saved λ on the data it was fitted on."""
    if item.result.get("saved_lambda") in (None, item.result.get("lambda")):
        return item.result.get("agreement")
    known = item.result.get("agreement_at") or {}
    return known.get("1") if item.value == 1 else None


def origin(item: SavedLambda) -> LambdaOrigin:
    """Return the origin of a saved λ from its report and signatures; reports of other programs may lack parts."""
    report, facts, of = item.result, fields_of(item.signature), fields_of(item.refinement)
    counts = [("n", "output"), ("n_segments", "segment"), ("n_systems", "system")]
    human_fields = fields_of(str(report.get("people", "")))
    raters = [str(r) for r in report.get("raters", ())]
    mean = report.get("n_raters")
    who = ", ".join(raters) or (f"imported score “{human_fields['name']}”" if "name" in human_fields else "")
    if "by" in human_fields:
        how = next((words for way, words in numbers.WAYS.items() if way == human_fields["by"]), human_fields["by"])
        who = f"“{human_fields.get('name', '')}”, {how}, by {who}"
    if who and human_fields.get("higher") == "no":
        who += ", lower is better"
    if raters and mean is not None:
        who += f" ({mean:.3g} per output)"
    if report.get("batch"):
        who += f", calibration set “{report['batch']}”" + (", weighted" if "weights" in facts else "")
    model = " ".join(of[k] for k in ("model", "rev") if k in of)
    ends = report.get("ci") if report.get("saved_lambda") in (None, report.get("lambda")) else None
    return LambdaOrigin(
        ", ".join(format_count(report[field], what) for field, what in counts if report.get(field) is not None),
        who,
        f"{human_fields['scheme']} v{human_fields.get('v', '?')}" if "scheme" in human_fields else "",
        facts.get("measure", "").partition("(")[0],
        facts.get("group", ""),
        ", ".join(t for t in (f"direction {of['variant']}" if "variant" in of else "", model) if t),
        (float(ends[0]), float(ends[1])) if ends else None,
    )
