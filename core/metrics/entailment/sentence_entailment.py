"""Entailment: the probability that one text follows from another, by a natural language inference (NLI) model.

SMART calls this T5-ANLI; Q² uses it for consistency, with generated questions. With several references, the best one counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, Need, Option, Values, family
from core.metrics.learned.question_metrics import ModelAnswer, best_answers
from core.models import configs
from core.models.kinds import facts_of
from core.progress import Progress
from core.signature import signature

Pair = tuple[str, str]
FORWARD, BACKWARD, BOTH, SOURCE = "reference-output", "output-reference", "both", "source-output"

DIRECTION = Option(
    "direction", "choice", FORWARD, "which text must follow from which: the output from the reference, the reference from the "
    "output, both (mean), or the output from the source", "Direction", "{}",
    choices=(FORWARD, BACKWARD, BOTH, SOURCE),
)  # fmt: skip

SPEC = MetricSpec(
    name="entailment",
    label="Entailment",
    paper="Honovich et al. 2022",
    help="Probability that the output follows from the reference (or the source), by an NLI model. A low value points to claims that are not supported.",
    range=(0, 1),
    needs=frozenset({"reference", "nli"}),
    options=(DIRECTION,),
    perfect_on_copy=False,
)


def _make(values: Values) -> Metric:
    direction = values["direction"]

    def sign() -> str:
        model = configs.checked("nli")
        configs.labels(model)
        return signature(SPEC.name, {"v": 1, "direction": direction, "nrefs": "best"} | facts_of(model))

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        return best_answers(items, QUESTIONS[direction], _ask, progress, source=direction == SOURCE)

    needs: frozenset[Need] = frozenset({"source" if direction == SOURCE else "reference", "nli"})
    return Metric(replace(SPEC, needs=needs), sign, score)


def _there(item: Item, text: str) -> Pair:
    return text, item.hypothesis


def _back(item: Item, text: str) -> Pair:
    return item.hypothesis, text


QUESTIONS = {FORWARD: [_there], BACKWARD: [_back], BOTH: [_there, _back], SOURCE: [_there]}
"""The pairs (premise, hypothesis) of an output and its reference or source, per direction."""


def _ask(questions: list[Pair], progress: Progress) -> list[ModelAnswer]:
    from core.models.architectures import classifier

    given = classifier.nli().entailment(questions, progress)
    return [ModelAnswer(float(v), bool(cut)) for v, cut in zip(given.values[:, 0], given.truncated, strict=True)]


ENTAILMENT = family(SPEC, _make)
