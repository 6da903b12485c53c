"""The judge card: what a judge is worth beside people, and whether it may replace an annotator, by the rules in docs/judge_card.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from core.formatting import format_count, format_figure
from core.judges.annotator_test import (
    ALPHA,
    FEWEST_ANNOTATORS,
    FEWEST_ITEMS,
    PASSING,
    AnnotatorResult,
    AnnotatorTest,
    Labels,
    annotator_test,
    assumptions,
    constant_wins,
    curve,
    thresholds,
    wins,
)
from core.judges.card_statistics import (
    Ceiling,
    ClassAgreement,
    LengthPreference,
    OwnPreference,
    Position,
    Stability,
    ceiling,
    class_agreement,
    length_preference,
    majority,
    own_preference,
    score_agreement,
    stability,
)
from core.progress import Progress, no_progress
from core.services.evaluate.length_and_bias import MetricDisagreement, disagreements
from core.services.judges.judged_outputs import JudgeComparison
from core.stats.bootstrap import Interval
from core.stats.correlation.pairs import Floats

Kind = Literal["may", "not", "few", "untested"]
FEWEST_OUTPUTS = 100
"""Outputs from which a CI that includes 0 counts as evidence that a judge is no better than a constant answer (our decision)."""
POWER = 0.8
RULES = (
    f"Too few labels: fewer than {FEWEST_ANNOTATORS} annotators who each share {FEWEST_ITEMS} outputs with the judge and another annotator.",
    "Not: the judge gave no readable answer for more than half of the outputs.",
    f"Not: the 95 % CI of κ (scores: τ-b) does not lie above 0, so the judge is not shown to be better than a constant answer. With fewer than {FEWEST_OUTPUTS} outputs: too few labels.",
    f"May replace an annotator: ω ≥ {PASSING:g} in the alternative annotator test, also clustered by document, and a constant answer does not pass it.",
    f"Otherwise not, if the judge loses by more than ε against more than half of the annotators (p < {ALPHA:g}, clustered by document); else too few labels.",
)


class CardVerdict(NamedTuple):
    """`more`: labels (of one annotator for one output) that are missing, if known. `constant`: not shown to be better than a constant answer."""

    kind: Kind
    why: str
    more: int | None = None
    constant: bool = False


def verdict(
    test: AnnotatorTest, clustered: AnnotatorTest, constant: AnnotatorTest, agreement: Interval, outputs: int, unanswered: float,
    n_annotators: int,
) -> CardVerdict:  # fmt: skip
    """Apply `RULES` in their order. `agreement` is κ or τ-b with its CI on `outputs` outputs; `unanswered` is a share."""
    items: dict[str, int] = {}
    for row in test.rows:
        items[row.annotator] = max(items.get(row.annotator, 0), row.items)
    best = sorted(items.values(), reverse=True)[:FEWEST_ANNOTATORS]
    lacking = sum(max(0, FEWEST_ITEMS - n) for n in [*best, *[0] * (FEWEST_ANNOTATORS - len(best))])
    not_better = agreement.low is None or agreement.low <= 0
    if lacking:
        enough = sum(n >= FEWEST_ITEMS for n in items.values())
        return CardVerdict("few", f"{enough} of {FEWEST_ANNOTATORS} annotators share {FEWEST_ITEMS} outputs with the judge and another annotator", lacking, not_better)  # fmt: skip
    if unanswered > 0.5:
        return CardVerdict("not", "no readable answer for more than half of the outputs", None, not_better)
    if not_better:
        why = "not shown to be better than a constant answer"
        if outputs < FEWEST_OUTPUTS:
            return CardVerdict("few", why, (FEWEST_OUTPUTS - outputs) * n_annotators, True)
        return CardVerdict("not", why, None, True)
    if test.passes and clustered.passes:
        if not constant.passes:
            return CardVerdict("may", "passes the test, and a constant answer does not")
        return CardVerdict(
            "few", "a constant answer passes the test too: too few outputs of the rarer classes are labelled"
        )
    if clustered.omega is None:
        return CardVerdict("few", "all labelled outputs are in one document")
    losing = sum(r.p is not None and r.p > 1 - ALPHA for r in clustered.rows)
    if 2 * losing > len(clustered.rows):
        return CardVerdict(
            "not", f"loses by more than ε against {losing} of {format_count(len(test.rows), 'annotator')}"
        )
    why = f"ω = {min(test.omega or 0.0, clustered.omega):.2f}"
    return CardVerdict("few", why, missing_labels(clustered.rows, test.epsilon))


def missing_labels(rows: Sequence[AnnotatorResult], epsilon: float) -> int | None:
    """Return the labels with which half of the tests would reject in 80 % of all samples, at the strictest threshold, if differences and standard errors stay.

    n·((z_{1−α′} + z_{.8})·SE/(ε − d̄))² items per annotator (our decision); None if too few annotators differ by less than ε.
    """
    z = float(ndtri(1 - thresholds(len(rows))[0]) + ndtri(POWER))
    needs = []
    for r in rows:
        if r.difference is None or r.sd is None or r.difference >= epsilon:
            continue
        error = r.sd / math.sqrt(r.items)
        if r.test == "t" and r.statistic and math.isfinite(r.statistic):
            error = (r.difference - epsilon) / r.statistic
        needs.append(max(1, math.ceil(r.items * (z * error / (epsilon - r.difference)) ** 2) - r.items))
    half = math.ceil(PASSING * len(rows))
    return sum(sorted(needs)[:half]) if len(needs) >= half else None


def verdict_sentence(label: str, verdicts: Sequence[tuple[str, CardVerdict]]) -> str:
    """Return the verdicts of all questions as one sentence, and a second one that names where a constant answer is as good."""
    groups = []
    for kind, words in (("may", "may replace an annotator for {}"), ("not", "not for {}"), ("few", "too few labels to say for {}"), ("untested", "not tested for {}")):  # fmt: skip
        named = [q + (f" ({v.more:,} more)" if v.more else "") for q, v in verdicts if v.kind == kind]
        if named:
            groups.append(words.format(_listed(named)))
    text = f"{label}: {'; '.join(groups) or 'nothing can be compared'}."
    if same := [q for q, v in verdicts if v.constant]:
        text += f" It is not shown to be better than a constant answer for {_listed(same)}."
    return text


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


Question = Literal["error", "severity", "score"]
QUESTIONS: Mapping[Question, str] = {"error": "errors (yes or no)", "severity": "the worst severity", "score": "scores"}
CLASSES: Mapping[Question, tuple[str, ...]] = {
    "error": ("no error", "error"),
    "severity": ("none", "minor", "major"),
    "score": (),
}
NOTHING_SHARED = "no output has both an answer of the judge and labels"


class CardOptions(NamedTuple):
    """An output has an error if its score is below `judge_below` or `human_below`, for sides without error spans; None if no threshold is set.

    Thresholds are in the metric's own direction. `same_scale`: scores of both sides may be subtracted. `own` are the systems of the judge's model.
    `prices` are those of a million tokens, read and written.
    """

    epsilon: float = 0.15
    judge_below: float | None = None
    human_below: float | None = None
    same_scale: bool = True
    own: tuple[str, ...] = ()
    by_system: bool = False
    prices: tuple[float, float] | None = None
    seed: int = 0
    draws: int = 1000


class QuestionResult(NamedTuple):
    """One question. `by_class` or `by_score` is the agreement with the annotators; the tests are None if the scales differ.

    `no_majority` counts the outputs without a majority of the annotators, `unanswered` those without an answer of the judge.
    """

    question: Question
    outputs: int
    unanswered: int
    no_majority: int
    by_class: ClassAgreement | None
    by_score: Interval | None
    test: AnnotatorTest | None
    clustered: AnnotatorTest | None
    constant: AnnotatorTest | None
    constant_answer: str
    curves: tuple[tuple[float | None, ...], tuple[float | None, ...]]
    problems: tuple[str, ...]
    ceiling: Ceiling | None
    verdict: CardVerdict


class JudgeCard(NamedTuple):
    """All results; `costs` are per 1,000 outputs, by unit. `notes` say what was not computed, and why."""

    label: str
    signature: str
    human: str
    human_signature: str
    raters: tuple[str, ...]
    outputs: int
    documents: int
    options: CardOptions
    questions: tuple[QuestionResult, ...]
    stability: Stability
    position: Position | None
    length: LengthPreference
    own: OwnPreference | None
    states: Mapping[str, Mapping[str, int]]
    costs: Mapping[str, float]
    disagreements: tuple[MetricDisagreement, ...]
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return verdict_sentence(self.label, [(QUESTIONS[q.question], q.verdict) for q in self.questions])


def judge_card(data: JudgeComparison, options: CardOptions, progress: Progress = no_progress) -> JudgeCard:
    """Compute the card."""
    codes, notes = _codes(data, options)
    results = []
    for done, (question, (judge, human)) in enumerate(codes.items()):
        progress(done / (len(codes) + 1))
        results.append(_question(question, judge, human, data, options))
    progress(len(codes) / (len(codes) + 1))
    mean = data.human_mean if data.keys else np.zeros(0)
    segments, documents = [k.segment for k in data.keys], data.documents
    errors = codes.get("error")
    by_error = (None, None) if errors is None else (errors[0], majority(errors[1], 2))
    below = 0.0 if data.unit == "mqm" else None if options.judge_below is None else data.sign * options.judge_below
    repeats = data.repeats
    classes = np.full(repeats.shape, np.nan) if below is None else np.where(np.isnan(repeats), np.nan, repeats < below)
    own = None
    if options.own and data.keys:
        mine = [k.system in options.own for k in data.keys]
        own = own_preference(data.judge, mean, mine, segments, documents, options.seed, options.draws)
    answered = np.flatnonzero(~np.isnan(data.judge))
    return JudgeCard(
        data.label, data.signature, data.human_labels.words, data.human_labels.signature, data.human_labels.raters,
        len(data.keys), len(set(documents)), options, tuple(results),
        stability(repeats, classes, 2),
        data.position,
        length_preference(
            data.judge, mean, data.lengths, segments, documents, options.seed, by_error[0], by_error[1], options.draws
        ),
        own, data.states, _costs(data, options),
        tuple(disagreements([data.keys[i] for i in answered.tolist()], data.judge[answered], mean[answered])),
        tuple(notes),
    )  # fmt: skip


def _codes(data: JudgeComparison, options: CardOptions) -> tuple[dict[Question, tuple[Floats, Floats]], list[str]]:
    """Return the labels of the judge and of the annotators for each question that they allow, and why others are missing."""
    codes: dict[Question, tuple[Floats, Floats]] = {}
    notes = []

    def errors(worst: Floats | None, scores: Floats, below: float | None) -> Floats | None:
        if worst is not None:
            return np.where(np.isnan(worst), np.nan, worst > 0)
        return None if below is None else np.where(np.isnan(scores), np.nan, scores < below)

    judge_below = None if options.judge_below is None else data.sign * options.judge_below
    judge = errors(data.judge_worst, data.judge, judge_below)
    human = errors(data.human_worst, data.human, options.human_below)
    if judge is not None and human is not None:
        codes["error"] = judge, human
    else:
        side = "judge" if judge is None else "annotators"
        notes.append(
            f"Errors are not compared: the {side} marked no error spans, and no threshold is set for the scores."
        )
    if data.judge_worst is not None and data.human_worst is not None:
        codes["severity"] = data.judge_worst, data.human_worst
    else:
        notes.append("Severities are not compared: that needs error spans of the judge and of the annotators.")
    codes["score"] = data.judge, data.human
    return codes, notes


def _question(
    question: Question, judge: Floats, human: Floats, data: JudgeComparison, options: CardOptions
) -> QuestionResult:
    labels: Labels = "scores" if question == "score" else "classes"
    documents, names, n_classes = data.documents, data.human_labels.raters, len(CLASSES[question])
    unanswered = int(np.isnan(judge).sum())
    by_class, by_score, no_majority = None, None, 0
    agreement = Interval(None, None, None, 0, NOTHING_SHARED)
    if labels == "scores" and data.keys:
        by_score = agreement = score_agreement(judge, human, documents, options.seed)
    elif data.keys:
        reference = majority(human, n_classes)
        no_majority = int(np.isnan(reference).sum())
        by_class = class_agreement(judge, reference, n_classes, documents, options.seed, options.draws)
        agreement = agreement if by_class is None else by_class.kappa
    outputs = by_class.outputs if by_class else len(data.keys) - unanswered
    result = QuestionResult(
        question, outputs, unanswered, no_majority, by_class, by_score, None, None, None, "", ((), ()), (), None,
        CardVerdict("few", NOTHING_SHARED),
    )  # fmt: skip
    if not data.keys:
        return result
    compared = wins(judge, human, labels)
    result = result._replace(ceiling=ceiling(judge, human, compared, names, labels, n_classes, documents, options.seed))
    if labels == "scores" and not options.same_scale:
        why = "the scores of the judge and of the annotators have different scales; τ-b compares their order"
        return result._replace(verdict=CardVerdict("untested", why))
    domains = [k.system for k in data.keys] if options.by_system else []
    answer, constant = constant_wins(human, labels)
    test = annotator_test(compared, names, options.epsilon, domains=domains)
    clustered = annotator_test(compared, names, options.epsilon, domains=domains, documents=documents)
    of_constant = annotator_test(constant, names, options.epsilon, domains=domains)
    shown = (
        f"{format_figure(answer)}, the mean of all scores"
        if labels == "scores"
        else f"“{CLASSES[question][int(answer)]}”"
    )
    return result._replace(
        test=test, clustered=clustered, constant=of_constant, constant_answer=shown,
        curves=(tuple(curve(compared, names, domains=domains)), tuple(curve(constant, names, domains=domains))),
        problems=tuple(assumptions(test, len(set(documents)))),
        verdict=verdict(test, clustered, of_constant, agreement, outputs, unanswered / len(data.keys), len(names)),
    )  # fmt: skip


def _costs(data: JudgeComparison, options: CardOptions) -> dict[str, float]:
    """Return calls, tokens and seconds per 1,000 outputs, and money if there are prices."""
    if not data.cost_outputs:
        return {}
    costs = {name: 1000 * value / data.cost_outputs for name, value in data.counted.items()}
    if options.prices:
        tokens = costs.get("tokens_in", 0.0), costs.get("tokens_out", 0.0)
        costs["price"] = sum(p * n / 1e6 for p, n in zip(options.prices, tokens, strict=True))
    return costs
