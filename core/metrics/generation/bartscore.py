"""BARTScore (Yuan et al. 2021): mean log probability per token, in the four directions of Table 6 of Lu et al. 2023.

With prompts (their appendix A), the score is the mean over prompts; the best reference is chosen without prompts. Empty
references are ignored; if all are empty, the value is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from core.data import Item, Value
from core.metrics.base import Computation, Metric, MetricSpec, Need, Option, Values, family
from core.metrics.learned.question_metrics import NO_REFERENCE, TRUNCATED, source_of, written
from core.models.checkpoint import resolve
from core.progress import Progress
from core.refine.options import Side, prompt_fact
from core.refine.prompts import conditioned, scored
from core.refine.result import Variant
from core.settings import load as settings
from core.signature import package, signature

if TYPE_CHECKING:
    from core.models.architectures.seq2seq import EncodedText, Seq2SeqScorer
    from core.models.architectures.seq2seq import Side as Language

DIRECTIONS: dict[Variant, str] = {
    "precision": "reference → output",
    "recall": "output → reference",
    "f": "mean of reference → output and output → reference",
    "faithfulness": "source → output",
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
    chosen = settings()
    checkpoint = resolve(chosen.seq2seq)
    return {
        "model": checkpoint.name,
        "rev": checkpoint.revision,
        **({"languages": chosen.languages} if chosen.languages else {}),
        "dtype": chosen.dtype,
        "torch": package("torch").split("+")[0],
        "transformers": package("transformers"),
    }


def needs_of(variant: Variant) -> frozenset[Need]:
    return frozenset({"seq2seq", "source" if variant == "faithfulness" else "reference"})


def scorer() -> Seq2SeqScorer:
    """Return the configured `seq2seq` model; loads torch."""
    from core.models.architectures.seq2seq import load

    chosen = settings()
    return load(chosen.seq2seq, chosen.device, chosen.dtype, chosen.languages)


class PromptedPair(NamedTuple):
    """An output, its conditioning text, and a prompt or ""."""

    condition: str
    hypothesis: str
    prompt: str


class DirectionScores(NamedTuple):
    """Scores of the directions of a variant (others are None), and whether a text was cut."""

    precision: float | None
    recall: float | None
    truncated: bool

    @property
    def value(self) -> float:
        there = [v for v in (self.precision, self.recall) if v is not None]
        return sum(there) / len(there)


def _metric(variant: Variant, name: str, label: str) -> Metric:
    spec = MetricSpec(
        name=name,
        label=label,
        version=1,
        paper="Yuan et al. 2021",
        help=f"Mean log probability per token ({DIRECTIONS[variant]}) by the seq2seq model: how likely is one text given the other? 0 is best. With several references, the best one counts.",
        range=(float("-inf"), 0),
        higher_is_better=True,
        needs=needs_of(variant),
        options=(PROMPT, SIDE),
        perfect_on_copy=False,
    )

    def make(values: Values) -> Computation:
        prompts, side = tuple(values["prompt"]), values["side"]
        facts = {"v": 1, "variant": variant, "nrefs": "best", "prompt": prompt_fact(prompts, side)}

        def sign() -> str:
            return signature(name, facts | model_facts())

        def score(items: Sequence[Item], progress: Progress) -> list[Value]:
            return _Scoring(scorer(), items, variant, prompts, side, progress).values()

        return Computation(sign, score)

    return family(spec, make)


class _Scoring:
    """One call of `score`: first unprompted scores, if needed to choose a reference, then prompted ones."""

    def __init__(
        self,
        model: Seq2SeqScorer,
        items: Sequence[Item],
        variant: Variant,
        prompts: tuple[str, ...],
        side: Side,
        progress: Progress,
    ) -> None:
        self.model, self.items, self.variant = model, items, variant
        self.prompts, self.side, self.progress = prompts, side, progress
        self.known: dict[tuple[str, Language], EncodedText] = {}
        faithful = variant == "faithfulness"
        there = [{0: source_of(i)} if faithful else written(i.references) for i in items]
        self.conditions, self.places = [list(t.values()) for t in there], [list(t) for t in there]
        unprompted = sum(len(given) for given in self.conditions if len(given) > 1 or not prompts)
        prompted = len(prompts) * sum(bool(given) for given in self.conditions)
        self.done, self.total = 0, (unprompted + prompted) * (2 if variant == "f" else 1)

    def values(self) -> list[Value]:
        plain = self._plain()
        best = [_best(found) for found in plain]
        if self.prompts:
            texts = zip(self.conditions, best, self.items, strict=True)
            pairs = [
                PromptedPair(given[at], item.hypothesis, p) for given, at, item in texts if given for p in self.prompts
            ]
            means = _in_groups(self._scored(pairs), [len(self.prompts) * bool(given) for given in self.conditions])
            used = [_mean(group) if group else None for group in means]
        else:
            used = [found[at] if found else None for found, at in zip(plain, best, strict=True)]
        return [
            self._value(found, places[at]) if found else Value(None, "undefined", NO_REFERENCE)
            for found, places, at in zip(used, self.places, best, strict=True)
        ]

    def _plain(self) -> list[list[DirectionScores]]:
        """Return unprompted scores for all references, or none if there are prompts and only one reference."""
        asked = [given if len(given) > 1 or not self.prompts else [] for given in self.conditions]
        pairs = [
            PromptedPair(c, item.hypothesis, "") for given, item in zip(asked, self.items, strict=True) for c in given
        ]
        return _in_groups(self._scored(pairs), [len(given) for given in asked])

    def _value(self, found: DirectionScores, at: int) -> Value:
        parts = {"condition": float(at)}
        if found.precision is not None and found.recall is not None:
            parts |= {"precision": found.precision, "recall": found.recall}
        return Value(found.value, reason=TRUNCATED if found.truncated else "", parts=parts)

    def _scored(self, pairs: Sequence[PromptedPair]) -> list[DirectionScores]:
        forward, backward = self.variant != "recall", self.variant in ("recall", "f")
        there = [(c, h, p) for c, h, p in pairs] if forward else []
        back = [(h, c, p) for c, h, p in pairs] if backward else []
        condition: Language = "source" if self.variant == "faithfulness" else "target"
        read = [self._encoded(conditioned(x, p, self.side), condition) for x, _, p in there + back]
        written = [self._encoded(scored(y, p, self.side), "target") for _, y, p in there + back]

        def report(share: float) -> None:
            self.progress((self.done + share * len(written)) / max(1, self.total))

        logps = self.model.pairs([[*r.lead, *r.ids] for r in read], [w.ids for w in written], report)
        self.done += len(written)
        means = [float(p.mean()) for p in logps]
        cut = [r.truncated or w.truncated for r, w in zip(read, written, strict=True)]
        precisions = means[: len(pairs)] if forward else [None] * len(pairs)
        recalls = means[-len(pairs) :] if backward else [None] * len(pairs)
        both = [any(cut[i :: len(pairs)]) for i in range(len(pairs))]
        return [DirectionScores(p, r, c) for p, r, c in zip(precisions, recalls, both, strict=True)]

    def _encoded(self, text: str, language: Language) -> EncodedText:
        if (text, language) not in self.known:
            self.known[text, language] = self.model.encode(text, language)
        return self.known[text, language]


def _best(found: Sequence[DirectionScores]) -> int:
    return max(range(len(found)), key=lambda i: found[i].value, default=0)


def _in_groups(found: Sequence[DirectionScores], sizes: Sequence[int]) -> list[list[DirectionScores]]:
    rest = iter(found)
    return [[next(rest) for _ in range(size)] for size in sizes]


def _mean(found: Sequence[DirectionScores]) -> DirectionScores:
    def mean(values: list[float | None]) -> float | None:
        there = [v for v in values if v is not None]
        return sum(there) / len(there) if there else None

    return DirectionScores(
        mean([f.precision for f in found]), mean([f.recall for f in found]), any(f.truncated for f in found)
    )


PRECISION = _metric("precision", "bartscore-p", "BARTScore P")
RECALL = _metric("recall", "bartscore-r", "BARTScore R")
F = _metric("f", "bartscore", "BARTScore F")
FAITHFULNESS = _metric("faithfulness", "bartscore-faithfulness", "BARTScore faithfulness")
