"""UniEval (Zhong et al. 2022): P(yes) of a model that is asked a yes-or-no question about one aspect of the output.

There are aspects of summaries (coherence, consistency, fluency, relevance; `overall` is their mean), dialogue turns and
data-to-text, with the questions the models were trained on. Consistency and fluency of summaries are averaged over the
sentences of the output (option `sentences`; the paper uses NLTK). For dialogue, the source is the history. Engagingness and
groundedness are missing, because they need facts that a segment does not have. With several references, the best one counts.
Configure the model for the task: unieval-sum for summaries and data-to-text, unieval-dialog for dialogue, unieval-fact for
consistency only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from core.data import Item, Value
from core.metrics.base import SENTENCE_SPLITTER, Metric, MetricSpec, Need, Option, Values, family
from core.metrics.learned.question_metrics import (
    NO_REFERENCE,
    TRUNCATED,
    ModelAnswer,
    answers,
    best,
    compared_with,
    mean,
)
from core.models import configs
from core.progress import Progress
from core.text.sentences import Splitter, facts, sentences, splitter

Parts = tuple[str, ...]
"""A question, split at the model's end token."""

NOTHING = "the output has no sentences"


class Aspect(NamedTuple):
    """A question about the output (named `output` in the prompt) and optionally another text (`other`, named `other_name`)."""

    question: str
    output: str
    other: Need | None = None
    other_name: str = ""
    by_sentence: bool = False

    def parts(self, output: str, other: str) -> Parts:
        """Return the question about one output in the format the models were trained on."""
        asked = (f"question: {self.question} ", f" {self.output}: {output}")
        return asked if self.other is None else (asked[0], f"{asked[1]} ", f" {self.other_name}: {other}")


SUMMARY = {
    "coherence": Aspect("Is this a coherent summary to the document?", "summary", "source", "document"),
    "consistency": Aspect("Is this claim consistent with the document?", "claim", "source", "document", True),
    "fluency": Aspect("Is this a fluent paragraph?", "paragraph", by_sentence=True),
    "relevance": Aspect("Is this summary relevant to the reference?", "summary", "reference", "reference"),
}
ASPECTS = SUMMARY | {
    "dialogue-naturalness": Aspect("Is this a natural response in the dialogue?", "response"),
    "dialogue-coherence": Aspect(
        "Is this a coherent response given the dialogue history?", "response", "source", "dialogue history"
    ),
    "dialogue-understandability": Aspect("Is this an understandable response in the dialogue?", "response"),
    "data-naturalness": Aspect("Is this a fluent utterance?", "utterance"),
    "data-informativeness": Aspect(
        "Is this sentence informative according to the reference?", "sentence", "reference", "reference"
    ),
}
OVERALL = "overall"


def _in_sentences(values: Values) -> bool:
    return any(aspect.by_sentence for aspect in _chosen(values["aspect"]).values())


OPTIONS = (
    Option(
        "aspect", "choice", OVERALL, "the aspect that is scored: one of summaries or their mean (overall), one of dialogue, or one of "
        "data-to-text", "Aspect", "{}", choices=(OVERALL, *ASPECTS),
    ),
    replace(
        SENTENCE_SPLITTER,
        help=SENTENCE_SPLITTER.help.replace("into sentences", "into sentences for consistency and fluency"),
        when=_in_sentences,
    ),
)  # fmt: skip

SPEC = MetricSpec(
    name="unieval",
    label="UniEval",
    paper="Zhong et al. 2022",
    help="Asks a trained model whether the output is coherent, consistent, fluent and relevant; the score is the mean probability of yes. Choose one aspect to see what is wrong.",
    range=(0, 1),
    needs=frozenset({"source", "reference", "unieval"}),
    options=OPTIONS,
)


def _chosen(aspect: str) -> dict[str, Aspect]:
    return SUMMARY if aspect == OVERALL else {aspect: ASPECTS[aspect]}


def _make(values: Values) -> Metric:
    aspects = _chosen(values["aspect"])

    def sign() -> str:
        split = facts(values["sentences"]) if _in_sentences(values) else {}
        nrefs = {"nrefs": "best"} if any(a.other == "reference" for a in aspects.values()) else {}
        return SPEC.signed({"aspect": values["aspect"], **split, **nrefs, **configs.checked_facts("unieval")})

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        split = splitter(values["sentences"])
        asked = [[_questions(aspect, item, split) for aspect in aspects.values()] for item in items]
        model_answers = answers([[q for aspect in item for q in aspect] for item in asked], _ask, progress)
        return [
            _value(aspects, own, item_answers, list(compared_with(item)))
            for item, own, item_answers in zip(items, asked, model_answers, strict=True)
        ]

    texts = {aspect.other for aspect in aspects.values() if aspect.other}
    return Metric(replace(SPEC, needs=frozenset({*texts, "unieval"})), sign, score)


def _questions(aspect: Aspect, item: Item, split: Splitter) -> list[Parts]:
    outputs = sentences(item.hypothesis, split) if aspect.by_sentence else [item.hypothesis]
    others = compared_with(item, aspect.other == "source").values() if aspect.other else [""]
    return [aspect.parts(output, other) for output in outputs for other in others]


def _value(
    aspects: dict[str, Aspect],
    asked: Sequence[Sequence[Parts]],
    item_answers: Sequence[ModelAnswer],
    places: Sequence[int],
) -> Value:
    """Return the mean over aspects. An aspect is the mean over its sentences, or the best of the references `places`."""
    rest = iter(item_answers)
    parts: dict[str, float] = {}
    aspect_answers: list[ModelAnswer] = []
    for (name, aspect), questions in zip(aspects.items(), asked, strict=True):
        own = [next(rest) for _ in questions]
        if not own:
            return Value(None, "undefined", NOTHING if aspect.by_sentence else NO_REFERENCE)
        if aspect.by_sentence:
            aspect_answers.append(mean(own))
        else:
            aspect_answers.append(max(own, key=lambda answer: answer.value))
            parts |= best(dict(zip(places, own, strict=True))).parts if aspect.other == "reference" else {}
        parts[name] = aspect_answers[-1].value
    whole = mean(aspect_answers)
    return Value(whole.value, reason=TRUNCATED if whole.truncated else "", parts=parts)


def _ask(questions: list[Parts], progress: Progress) -> list[ModelAnswer]:
    from core.models.architectures import seq2seq

    model = seq2seq.load_yes_no()
    read = [model.question(parts) for parts in questions]
    return [ModelAnswer(p, q.truncated) for p, q in zip(model.probabilities(read, progress), read, strict=True)]


UNIEVAL = family(SPEC, _make)
