"""What a judge and annotators say about the same outputs, as arrays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from core.columns import ABSENT, STATUSES, ScoreColumn
from core.data import Judgement, OutputKey, SegmentKey, in_natural_order
from core.errors import UserError
from core.judges.card_statistics import Position, position
from core.judges.endpoints import endpoints
from core.metrics.base import is_judge
from core.mqm.label_columns import LabelColumns
from core.mqm.schemes import GOOGLE, Scheme
from core.mqm.scores import rater_penalty
from core.mqm.typology import is_non_translation
from core.ports.store import Store
from core.progress import Progress, no_progress
from core.services.calibrate.calibration import HumanScores
from core.services.labels import judgements as numbers
from core.services.projects.view import Column, View
from core.signature import fields_of
from core.stats.correlation.pairs import Floats

Unit = Literal["mqm", "0–100", "0–1", "other"]
"""The scale of scores. Only scores on one scale can be subtracted from each other."""
_UNITS: Mapping[str, Unit] = {"judge-mqm": "mqm", "judge-da": "0–100", "judge-esa": "0–100", "judge-pairwise": "0–1"}
_PREFERRED = re.compile(r'"better"\s*:\s*"([AB])"')
COUNTED = ("calls", "tokens_in", "tokens_out", "seconds")


class HumanLabels(NamedTuple):
    """Scores by annotator, higher is better, and the worst severity (0 none, 1 minor, 2 major) where there are error spans."""

    words: str
    signature: str
    raters: tuple[str, ...]
    scores: Mapping[OutputKey, Mapping[str, float]]
    worst: Mapping[OutputKey, Mapping[str, int]]
    unit: Unit
    scheme: Scheme


class JudgeAnswer(NamedTuple):
    """What is stored with a value: the state, the worst severity of the named errors, the values of repeated calls, and, of a pairwise
    judge, how many single verdicts there are that are no tie, and how many of them prefer the first output."""

    state: str
    worst: int | None
    repeats: tuple[float, ...]
    decided: int = 0
    first: int = 0


@dataclass(frozen=True)
class JudgeComparison:
    """Outputs that the judge was asked about and that an annotator has labelled.

    `judge` has the shape (n,), NaN without an answer, `human` (n_raters, n), NaN without labels; higher is better: `sign` is −1 if the metric's
    own values were negated. `judge_worst` and `human_worst` are severities in the same shapes, None if that side marks no error spans. `repeats` has
    the shape (n, n_calls). `states` counts all outputs of the project by system and state, `counted` sums what the calls for `cost_outputs` outputs took.
    """

    label: str
    signature: str
    sign: float
    human_labels: HumanLabels
    keys: tuple[OutputKey, ...]
    judge: Floats
    human: Floats
    judge_worst: Floats | None
    human_worst: Floats | None
    lengths: Floats
    repeats: Floats
    unit: Unit
    states: Mapping[str, Mapping[str, int]]
    counted: Mapping[str, float]
    cost_outputs: int
    position: Position | None

    @property
    def documents(self) -> list[str]:
        return [k.doc_id for k in self.keys]

    @property
    def human_mean(self) -> Floats:
        means: Floats = np.nanmean(self.human, axis=0)
        return means


def human_labels(human: HumanScores, rated: LabelColumns | None, judgements: Sequence[Judgement]) -> HumanLabels:
    """Return the labels behind human scores, by annotator; an imported score counts as one annotator.

    Raises `UserError` for ranks, which have no scale.
    """
    facts = fields_of(human.signature)
    if human.of_systems or facts.get("by") == "wins":
        raise UserError(
            "ranks are on no scale on which a judge can be compared with each annotator",
            hint="Choose scores or MQM labels",
        )
    scores: dict[OutputKey, dict[str, float]] = {}
    worst: dict[OutputKey, dict[str, int]] = {}
    raters: Iterable[str] = human.raters
    if human.scheme is not None and rated is not None:
        for key, rater, errors in rated.each(rated.rows_by(human.raters)):
            scores.setdefault(key, {})[rater] = -rater_penalty(errors, human.scheme)
            found = ((e.severity, e.category) for e in errors)
            worst.setdefault(key, {})[rater] = worst_severity(found, human.scheme)
        unit: Unit = "mqm"
    elif human.raters:
        sign = -1.0 if facts.get("higher") == "no" else 1.0
        for j in numbers.named(judgements)[human.name]:
            scores.setdefault(j.key, {})[j.rater] = sign * j.value
        unit = _unit_of(v for of in scores.values() for v in of.values())
    else:
        raters = (human.name,)
        scores = {key: {human.name: value} for key, (value, _) in human.scores.items()}
        unit = _unit_of(value for value, _ in human.scores.values())
    return HumanLabels(human.words, human.signature, tuple(raters), scores, worst, unit, human.scheme or GOOGLE)


def _unit_of(values: Iterable[float]) -> Unit:
    known = np.fromiter(values, dtype=np.float64)
    if not len(known) or known.min() < 0 or known.max() > 100:
        return "other"
    return "0–1" if known.max() <= 1 else "0–100"


def worst_severity(errors: Iterable[tuple[str, str]], scheme: Scheme) -> int:
    """Return 2 if one of the errors (severity, category) is major or a non-translation, 1 if one is minor, else 0; errors of weight 0 do not count."""
    counted = [s for s, category in errors if scheme.weight(s, category) > 0 or is_non_translation(category)]
    return 0 if not counted else 1 if set(counted) <= {"Minor", "Neutral"} else 2


def judged_outputs(
    store: Store, project_id: int, view: View, column: Column, labels: HumanLabels, progress: Progress = no_progress
) -> JudgeComparison:
    """Read the values and replies of a judge, or the values of any metric, for the labelled outputs.

    Outputs whose call failed, or that the judge was not asked about, are left out.
    """
    table = view.table(column.name)
    keys = [k for k in in_natural_order(labels.scores) if (at := view.index.cell(k)) and table.has_result[at]]
    rows, columns = view.index.cells(keys)
    judging = is_judge(column.metric)
    not_ok = (table.states != ABSENT) & (table.states != STATUSES.index("ok"))
    segments = dict.fromkeys(
        [k.segment for k in keys] + [view.segments[i] for i in np.flatnonzero(not_ok.any(1)).tolist()]
    )
    answers = _answers(store, project_id, column.signature, list(segments), labels.scheme, progress) if judging else {}
    marks = any(a.worst is not None for a in answers.values())
    of_keys = [answers.get(k) for k in keys]
    worst = np.array([np.nan if a is None or a.worst is None else a.worst for a in of_keys], dtype=np.float64)
    sign = 1.0 if column.higher_is_better else -1.0
    parts = {name: values[view.index.present] for name, values in table.parts.items()}
    calls = parts.get("calls", np.zeros(0))
    judge = sign * table.numbers[rows, columns]
    return JudgeComparison(
        column.label, column.signature, sign, labels, tuple(keys), judge,
        _matrix(labels.raters, keys, labels.scores),
        np.where(np.isnan(judge), np.nan, worst) if marks else None,
        _matrix(labels.raters, keys, labels.worst) if labels.worst else None,
        view.index.lengths[rows, columns].astype(np.float64),
        sign * _repeats(of_keys),
        judge_unit(column, judge, marks=marks),
        _states(table, view, answers),
        {name: float(np.nansum(parts[name])) for name in COUNTED if name in parts},
        int((~np.isnan(calls)).sum()),
        _position(parts, answers.values()) if "inconsistent" in parts else None,
    )  # fmt: skip


def _position(parts: Mapping[str, Floats], answers: Iterable[JudgeAnswer]) -> Position:
    counts = {name: int(np.nansum(parts.get(name, 0))) for name in ("wins", "ties", "losses", "inconsistent")}
    single = np.array([(a.first, a.decided) for a in answers], dtype=np.int64).reshape(-1, 2).sum(0).tolist()
    return position(counts["inconsistent"], sum(counts.values()), *single)


def _answers(
    store: Store, project_id: int, signature: str, segments: Sequence[SegmentKey], scheme: Scheme, progress: Progress
) -> dict[OutputKey, JudgeAnswer]:
    answers = {}
    for done, segment in enumerate(segments):
        progress(done / len(segments))
        for system, value in store.scores.detail(project_id, signature, segment).items():
            if value.detail is not None:
                answers[OutputKey(system, *segment)] = answer_of(value.detail, scheme)
    return answers


def answer_of(detail: Mapping[str, Any], scheme: Scheme = GOOGLE) -> JudgeAnswer:
    """Return the part of a judge's stored detail that the card needs.

    Errors whose quote was not placed count as named errors. Of several calls, errors count that at least half of them name.
    """
    state, replies = str(detail.get("state", "")), detail.get("replies") or ()
    calls = len({r.get("repeat") for r in replies}) or 1
    unplaced = Counter((e["severity"], e["category"], e.get("quote")) for e in detail.get("unplaced") or ())
    errors = [(e["severity"], e["category"]) for e in detail.get("spans") or () if e.get("confidence", 1.0) >= 0.5]
    errors += [error[:2] for error, n in unplaced.items() if 2 * n >= calls]
    preferred = [
        m[1] for r in replies if "order" in r and r.get("state") == "ok" and (m := _PREFERRED.search(r["text"]))
    ]
    repeats = tuple(float(v) for v in detail.get("values") or () if v is not None)
    worst = worst_severity(errors, scheme) if "spans" in detail and state in ("ok", "no_error") else None
    return JudgeAnswer(state, worst, repeats, len(preferred), preferred.count("A"))


def judge_unit(column: Column, values: Floats, *, marks: bool = False) -> Unit:
    """Return the scale of a judge, from its name, or from its values. `marks`: it marks error spans. Scores of other metrics are on no common scale."""
    name = column.metric.partition("|")[0]
    if not is_judge(name) or column.facts.get("scale") == "expected":  # from 1 to 5
        return "other"
    if marks and name not in _UNITS:
        return "mqm"
    return _UNITS.get(name) or _unit_of(values[~np.isnan(values)])


def prices_of(column: Column) -> tuple[float, float] | None:
    """Return the configured prices of a million tokens that the judge reads and writes, as they are now; None without both."""
    try:
        judge = endpoints().get(column.facts.get("judge", ""))
    except UserError:  # the page Models shows what is wrong with the settings
        return None
    if judge is None or judge.form.price_in is None or judge.form.price_out is None:
        return None
    return judge.form.price_in, judge.form.price_out


def _states(table: ScoreColumn, view: View, answers: Mapping[OutputKey, JudgeAnswer]) -> dict[str, dict[str, int]]:
    """Count the outputs of each system: "answered", the state of those without an answer, and "not asked"."""
    by_system = {}
    for j, system in enumerate(view.systems):
        counts = Counter[str]()
        for i in np.flatnonzero(view.present[:, j]).tolist():
            code = int(table.states[i, j])
            status = "not asked" if code == ABSENT else STATUSES[code]
            answer = answers.get(OutputKey(system, *view.segments[i]))
            counts["answered" if status == "ok" else (answer and answer.state) or status] += 1
        by_system[system] = dict(counts)
    return by_system


def _repeats(answers: Sequence[JudgeAnswer | None]) -> Floats:
    calls = max((len(a.repeats) for a in answers if a), default=0)
    values = np.full((len(answers), calls), np.nan)
    for i, answer in enumerate(answers):
        if answer:
            values[i, : len(answer.repeats)] = answer.repeats
    return values


def _matrix(
    raters: Sequence[str], keys: Sequence[OutputKey], values: Mapping[OutputKey, Mapping[str, float]]
) -> Floats:
    return np.array([[values[k].get(r, np.nan) for k in keys] for r in raters], dtype=np.float64).reshape(
        len(raters), len(keys)
    )
