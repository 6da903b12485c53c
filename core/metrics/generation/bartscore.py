"""BARTScore (Yuan et al. 2021): mean log probability per token, in the four directions of Table 6 of Lu et al. 2023.

With prompts (their appendix A), the score is the mean over prompts; the best reference is chosen without prompts. Empty
references are ignored; if all are empty, the value is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from core.data import Item, Value
from core.metrics.base import Metric, MetricSpec, Need, family
from core.metrics.learned.question_metrics import ModelAnswer, best, compared_with, mean
from core.metrics.options import Option, Values
from core.models.configs import configured_facts
from core.progress import Progress
from core.refine.prompts import conditioned, scored
from core.refine.result import PromptSide, Variant, prompt_fact
from core.settings import load_settings
from core.signature import signature

if TYPE_CHECKING:
    from core.models.architectures.seq2seq import Seq2SeqScorer, TextSide

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
        perfect_on_copy=False,
    )

    def make(values: Values) -> Metric:
        prompts, side = tuple(values["prompt"]), values["side"]
        how = {"v": 1, "variant": variant, "nrefs": "best", "prompt": prompt_fact(prompts, side)}

        def sign() -> str:
            return signature(name, how | model_facts())

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
    ) -> list[list[list[ModelAnswer]]]:
        """Return the answers per item, text and prompt, and direction: text → output first."""
        pairs = [(t, item.hypothesis, p) for item, of in zip(items, texts, strict=True) for t in of for p in prompts]
        condition: TextSide = "source" if self.variant == "faithfulness" else "target"
        forward = pairs if self.variant != "recall" else []
        back = [(h, t, p) for t, h, p in pairs] if self.variant in ("recall", "f") else []
        asked = [(conditioned(x, p, self.side), scored(y, p, self.side), condition) for x, y, p in forward + back]
        answers = [ModelAnswer(*answer) for answer in self.model.means(asked, progress)]
        by_pair = iter([answers[i :: len(pairs)] for i in range(len(pairs))])
        return [[next(by_pair) for _ in range(len(of) * len(prompts))] for of in texts]


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
