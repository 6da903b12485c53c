"""UniEval (Zhong et al. 2022): a model is asked a yes-or-no question about an aspect of the output, and P(yes) is the score.

Aspects of summaries (coherence, consistency, fluency, relevance; `overall` is their mean), of turns of a dialogue, and of
texts made from data, with the questions the models were trained on. Consistency and fluency of summaries are means over the
sentences of the output, found by the splitter of `sentences` (the paper: NLTK's). The aspects of dialogue that need facts
beside the history (engagingness, groundedness) are not here: a segment holds no facts. For dialogue the history is the source.
Of several references the best counts. The model must be the one for the task: unieval-sum for summaries and data, unieval-
dialog for dialogue, unieval-fact for consistency alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.data import Item, Value
from core.metrics.asked import NO_REFERENCE, TRUNCATED, Answer, Tick, answers, best, mean, source_of, written
from core.metrics.base import MetricSpec, Need, Option, Progress, Values, Work, family
from core.models import configs
from core.signature import signature
from core.text.sentences import DEFAULT, SPLITTERS, Splitter, facts, sentences, splitter

Parts = tuple[str, ...]
"""A question in the parts that the model's end sign separates."""

NOTHING = "the output has no sentence"


class Aspect(NamedTuple):
    """`question` is asked of the output, called `output`, beside another text, `other`, called `other_name`."""

    question: str
    output: str
    other: Need | None = None
    other_name: str = ""
    by_sentence: bool = False

    def parts(self, output: str, other: str) -> Parts:
        """The question about one output, as the models were trained to read it."""
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
        "aspect", "choice", OVERALL, "what is asked: an aspect of summaries, their mean (overall), or an aspect of dialogue or of "
        "texts from data", "Aspect", "{}", choices=(OVERALL, *ASPECTS),
    ),
    Option(
        "sentences", "choice", DEFAULT, "how the sentences of consistency and fluency are found: by the signs of all scripts but not after abbreviations (prose), or at every such sign (rule), "
        "after . ? ! before a space (point), or by pySBD for a language", "Sentences by", "sentences by {}",
        choices=SPLITTERS, when=_in_sentences,
    ),
)  # fmt: skip

SPEC = MetricSpec(
    name="unieval",
    label="UniEval",
    version=1,
    paper="Zhong et al. 2022",
    help="Probability of yes to a question about the output: coherent, consistent, fluent, relevant? The mean, or one aspect.",
    range=(0, 1),
    higher_is_better=True,
    needs=frozenset({"source", "reference", "unieval"}),
    options=OPTIONS,
    perfect_on_copy=False,
)


def _chosen(aspect: str) -> dict[str, Aspect]:
    return SUMMARY if aspect == OVERALL else {aspect: ASPECTS[aspect]}


def _needs(values: Values) -> frozenset[Need]:
    texts = {aspect.other for aspect in _chosen(values["aspect"]).values() if aspect.other}
    return frozenset({*texts, "unieval"})


def _make(values: Values) -> Work:
    aspects = _chosen(values["aspect"])

    def sign() -> str:
        split = facts(values["sentences"]) if _in_sentences(values) else {}
        nrefs = {"nrefs": "best"} if any(a.other == "reference" for a in aspects.values()) else {}
        return signature(SPEC.name, {"v": 1, "aspect": values["aspect"], **split, **nrefs, **configs.facts("unieval")})

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        split = splitter(values["sentences"])
        asked = [[_questions(aspect, item, split) for aspect in aspects.values()] for item in items]
        found = answers([[q for aspect in item for q in aspect] for item in asked], _ask, progress)
        return [
            _value(aspects, own, given, list(written(item.references)))
            for item, own, given in zip(items, asked, found, strict=True)
        ]

    return Work(sign, score)


def _questions(aspect: Aspect, item: Item, split: Splitter) -> list[Parts]:
    outputs = sentences(item.hypothesis, split) if aspect.by_sentence else [item.hypothesis]
    others = {"source": [source_of(item)], "reference": list(written(item.references).values())}.get(
        aspect.other or "", [""]
    )
    return [aspect.parts(output, other) for output in outputs for other in others]


def _value(
    aspects: dict[str, Aspect], asked: Sequence[Sequence[Parts]], given: Sequence[Answer], places: Sequence[int]
) -> Value:
    """Aspects by the number of their questions, in order: the mean over sentences, or the best reference, of which `places`
    are those asked about."""
    rest = iter(given)
    parts: dict[str, float] = {}
    found: list[Answer] = []
    for (name, aspect), questions in zip(aspects.items(), asked, strict=True):
        own = [next(rest) for _ in questions]
        if not own:
            return Value(None, "undefined", NOTHING if aspect.by_sentence else NO_REFERENCE)
        if aspect.by_sentence:
            found.append(mean(own))
        else:
            found.append(max(own, key=lambda answer: answer.value))
            parts |= best(own, places).parts if aspect.other == "reference" else {}
        parts[name] = found[-1].value
    whole = mean(found)
    return Value(whole.value, reason=TRUNCATED if whole.truncated else "", parts=parts)


def _ask(questions: list[Parts], tick: Tick) -> list[Answer]:
    from core.models import yes_no

    model = yes_no.load()
    read = [model.question(parts) for parts in questions]
    return [Answer(p, q.truncated) for p, q in zip(model.probabilities(read, tick), read, strict=True)]


UNIEVAL = family(SPEC, _make, _needs)
