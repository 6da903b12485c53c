"""BARTScore (Yuan et al. 2021): mean log probability per token, in the four directions of Table 6 of Lu et al. 2023; and Prism.

With prompts (their appendix A), the score is the mean over prompts; the best reference is chosen without prompts. Empty
references are ignored; if all are empty, the value is undefined.

Prism (Thompson and Post 2020) uses a multilingual translation model as a zero-shot paraphraser. Prism-ref is the mean of H(output | reference)
and H(reference | output), Prism-src is H(output | source). H is the mean natural log probability of a text's tokens and its end token; the
leading language token is not scored. The formula is that of BARTScore F, with another model: BARTScore uses a monolingual model for summaries
or paraphrases without language token, and scores BART's `<s>`. Prism needs the languages, and "translates" a text into its own. Prism's own
model is a pickle of another library, which Errorscope does not load; use M2M100 instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from core.data import Item, Value
from core.errors import PROGRAM
from core.metrics.base import Metric, MetricSpec, Need, Option, Values, family
from core.metrics.learned.question_metrics import ModelAnswer, best, best_answers, compared_with, mean
from core.models import configs
from core.models.checkpoint import PICKLED
from core.models.configs import configured_facts
from core.progress import Progress
from core.refine.prompts import questions
from core.refine.result import PromptSide, Variant, prompt_fact
from core.settings import load_settings

if TYPE_CHECKING:
    from core.models.architectures.seq2seq import MeanLogp, Question, Seq2SeqScorer

DIRECTIONS: dict[Variant, str] = {
    "precision": "reference → output",
    "recall": "output → reference",
    "f": "mean of reference → output and output → reference",
    "faithfulness": "source → output",
}
LIKELY: dict[Variant, str] = {
    "precision": "How likely is the output, given the reference?",
    "recall": "How likely is the reference, given the output?",
    "f": "How likely are output and reference, each given the other?",
    "faithfulness": "How likely is the output, given the source?",
}
PROMPT = Option(
    "prompt",
    "phrases",
    (),
    "phrases added to the texts before scoring; the score is the mean over all phrases",
    "Prompts",
)
SIDE = Option(
    "side", "choice", "encoder", "prompts are appended to the conditioning text (encoder) or prepended to the scored text (decoder)",
    "Prompt position", "on the {}", choices=("encoder", "decoder"), when=lambda values: bool(values["prompt"]),
)  # fmt: skip


def model_facts() -> dict[str, object]:
    """Return the signature fields of the model: name, revision, languages if configured, number format, library versions."""
    chosen = load_settings()
    languages = {"languages": chosen.languages} if chosen.languages else {}
    return configured_facts("seq2seq", **languages, dtype=chosen.dtype)


def needs_of(variant: Variant) -> frozenset[Need]:
    return frozenset({"seq2seq", "source" if variant == "faithfulness" else "reference"})


def scorer() -> Seq2SeqScorer:
    """Return the configured `seq2seq` model; loads torch."""
    from core.models.architectures.seq2seq import load_seq2seq

    chosen = load_settings()
    return load_seq2seq(chosen.seq2seq, chosen.device, chosen.dtype, chosen.languages)


def _metric(variant: Variant, name: str, label: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        paper="Yuan et al. 2021",
        help=f"{LIKELY[variant]} Mean log probability per token under the seq2seq model ({DIRECTIONS[variant]}); 0 is best. With several references, the best one counts.",
        range=(float("-inf"), 0),
        needs=needs_of(variant),
        options=(PROMPT, SIDE),
    )

    def make(values: Values) -> Metric:
        prompts, side = tuple(values["prompt"]), values["side"]
        how = {"variant": variant, "nrefs": "best", "prompt": prompt_fact(prompts, side)}

        def sign() -> str:
            return spec.signed(how | model_facts())

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            return _Scoring(scorer(), variant, prompts, side).values(items, progress)

        return Metric(spec, sign, score)

    return family(spec, make)


class _Scoring(NamedTuple):
    """The scorer and the options of a variant."""

    model: Seq2SeqScorer
    variant: Variant
    prompts: tuple[str, ...]
    side: PromptSide

    def values(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        """Return the values: first unprompted scores, if needed to choose a reference, then prompted ones."""
        conditions = [compared_with(item, self.variant == "faithfulness") for item in items]
        plain = [list(of.values()) if len(of) > 1 or not self.prompts else [] for of in conditions]
        first, second = sum(map(len, plain)), len(self.prompts) * sum(map(bool, conditions))
        total = max(1, first + second)
        scores = self._scored(items, plain, [""], lambda share: progress(share * first / total))
        chosen = [max(range(len(of)), key=lambda i: mean(of[i]).value, default=0) for of in scores]
        used = [of[at : at + 1] for of, at in zip(scores, chosen, strict=True)]
        if self.prompts:
            texts = [list(of.values())[at : at + 1] for of, at in zip(conditions, chosen, strict=True)]
            used = self._scored(items, texts, self.prompts, lambda share: progress((first + share * second) / total))
        return [
            _value([mean(direction) for direction in zip(*of_item, strict=True)], list(of)[at : at + 1])
            for of_item, of, at in zip(used, conditions, chosen, strict=True)
        ]

    def _scored(
        self, items: Sequence[Item], texts: Sequence[Sequence[str]], prompts: Sequence[str], progress: Progress
    ) -> list[list[list[MeanLogp]]]:
        """Return the answers per item, text and prompt, and direction: text → output first."""
        asked = [
            question
            for item, of in zip(items, texts, strict=True)
            for text in of
            for prompt in prompts
            for question in questions(text, item.hypothesis, prompt, self.variant, self.side)
        ]
        answers = iter(self.model.means(asked, progress))
        directions = range(2 if self.variant == "f" else 1)
        return [[[next(answers) for _ in directions] for _ in range(len(of) * len(prompts))] for of in texts]


def _value(directions: Sequence[ModelAnswer], place: Sequence[int]) -> Value:
    """Return the mean of the directions at the index of the chosen reference; both are empty if all references are."""
    value = best({at: mean(directions) for at in place})
    if len(directions) < 2:
        return value
    precision, recall = directions
    return replace(value, parts={**value.parts, "precision": precision.value, "recall": recall.value})


PRECISION = _metric("precision", "bartscore-p", "BARTScore P")
RECALL = _metric("recall", "bartscore-r", "BARTScore R")
F = _metric("f", "bartscore", "BARTScore F")
FAITHFULNESS = _metric("faithfulness", "bartscore-faithfulness", "BARTScore faithfulness")


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


def _prism(name: str, label: str, *, of_source: bool) -> Metric:
    variant: Variant = "faithfulness" if of_source else "f"
    spec = MetricSpec(
        name=name,
        label=label,
        paper="Thompson and Post 2020",
        help=f"{LIKELY[variant]} Mean log probability per token under a multilingual translation model; 0 is best. Works in all its languages without training on ratings.",
        range=(float("-inf"), 0),
        needs=needs_of(variant),
    )

    def sign() -> str:
        _multilingual()
        return spec.signed(({} if of_source else {"nrefs": "best"}) | model_facts())

    def asked(item: Item, text: str) -> list[Question]:
        return questions(text, item.hypothesis, "", variant, "encoder")

    def score(items: Sequence[Item], progress: Progress) -> list[Value]:
        return best_answers(items, asked, _ask, progress, source=of_source)

    return Metric(spec, sign, score)


def _ask(questions: list[Question], progress: Progress) -> list[MeanLogp]:
    _multilingual()
    return scorer().means(questions, progress)


PRISM = _prism("prism", "Prism-ref", of_source=False)
PRISM_SOURCE = _prism("prism-src", "Prism-src", of_source=True)
