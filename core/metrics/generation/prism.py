"""Prism (Thompson and Post 2020): a multilingual translation model as a zero-shot paraphraser.

Prism-ref is the mean of H(output | reference) and H(reference | output), Prism-src is H(output | source). H is the mean natural
log probability of a text's tokens and its end token; the leading language token is not scored.

The formula is that of BARTScore F, with another model: BARTScore uses a monolingual model for summaries or paraphrases without
language token, and scores BART's `<s>`. Prism needs the languages, and "translates" a text into its own. Prism's own model is a
pickle of another library, which Errorscope does not load; use M2M100 instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.data import Item, Value
from core.errors import PROGRAM
from core.metrics.base import Metric, MetricSpec
from core.metrics.generation.bartscore import model_facts, scorer
from core.metrics.learned.question_metrics import ModelAnswer, best_answers
from core.models import configs
from core.models.checkpoint import PICKLED
from core.progress import Progress
from core.settings import load_settings
from core.signature import signature

if TYPE_CHECKING:
    from core.models.architectures.seq2seq import TextSide

Question = tuple[str, str, "TextSide"]
"""Conditioning text, scored text, and whether the former is in the source or the target language."""

SUGGESTED = "facebook/m2m100_418M"


def _multilingual() -> None:
    checkpoint, chosen = configs.checked("seq2seq"), load_settings()
    if not configs.multilingual(checkpoint):
        raise configs.WrongModel(
            "Prism needs a multilingual translation model, and the configured model is not one",
            "seq2seq",
            got=checkpoint.name,
            expected=f"M2M100, NLLB or SMaLL-100, such as {SUGGESTED} (1.9 GB, MIT)",
            command=f"hf download {SUGGESTED} --local-dir m2m100_418M\n{PROGRAM} models seq2seq m2m100_418M\n"
            "ERRORSCOPE_SEQ2SEQ=m2m100_418M ERRORSCOPE_LANGUAGES=de-en make run",
            note=f"the same setting chooses the model of BARTScore and BARTScore++, whose scores change with it; {PICKLED}",
        )
    if not chosen.languages:
        raise configs.missing_languages()


def _metric(name: str, label: str, *, of_source: bool) -> Metric:
    likely = (
        "How likely is the output, given the source?" if of_source
        else "How likely are output and reference, each given the other?"
    )  # fmt: skip
    spec = MetricSpec(
        name=name,
        label=label,
        paper="Thompson and Post 2020",
        help=f"{likely} Mean log probability per token under a multilingual translation model; 0 is best. Works in all its languages without training on ratings.",
        range=(float("-inf"), 0),
        needs=frozenset({"source" if of_source else "reference", "seq2seq"}),
        perfect_on_copy=False,
    )

    def sign() -> str:
        _multilingual()
        return signature(name, {"v": 1, **({} if of_source else {"nrefs": "best"}), **model_facts()})

    def forward(item: Item, text: str) -> Question:
        return text, item.hypothesis, "source" if of_source else "target"

    def back(item: Item, text: str) -> Question:
        return item.hypothesis, text, "target"

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        return best_answers(items, [forward] if of_source else [forward, back], _ask, progress, source=of_source)

    return Metric(spec, sign, score)


def _ask(questions: list[Question], progress: Progress) -> list[ModelAnswer]:
    _multilingual()
    return [ModelAnswer(*answer) for answer in scorer().means(questions, progress)]


REFERENCE = _metric("prism", "Prism-ref", of_source=False)
SOURCE = _metric("prism-src", "Prism-src", of_source=True)
