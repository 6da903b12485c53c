"""Options and results of a refinement: refined text, edits and the two distances (Lu et al. 2023, section 3)."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from core.signature import format_exact

Variant = Literal["precision", "recall", "f", "faithfulness"]
Edit = Literal["insert", "delete", "substitute"]
EDITS: tuple[Edit, ...] = ("insert", "delete", "substitute")
NOISE = 1e-6
"""BARTScores, and so distances, closer than this are equal: their last digits depend on the batch."""

_JOINER = "\u200d"
_JOINING = ("ARABIC", "SYRIAC", "NKO", "MONGOLIAN")
"""How Unicode's names of letters begin in the scripts that join them."""


class Token(NamedTuple):
    """A sub-word at code points [start, end) of its text, with its log probability given the conditioning text.

    `</s>` has start == end == len(text); its log probability is low if the text ends too early.
    A sub-word that encodes part of a character covers the whole character.
    """

    text: str
    start: int
    end: int
    logp: float


def token_labels(tokens: Sequence[tuple[str, int, int]]) -> list[str]:
    """Return how each sub-word (its text, start and end) is written where they are drawn side by side, such as below bars.

    Every character is written once, at the first sub-word that encodes a part of it; "" if nothing is left. Letters that join
    their neighbours keep that form, by means of joiners.
    """
    labels: list[str] = []
    written, last, end = -1, "", 0
    for i, (text, start, stop) in enumerate(tokens):
        label = text[max(0, end - start) :]
        letters = [c for c in label if not unicodedata.combining(c)]
        if letters and start <= end and _joins(last) and _joins(letters[0]):
            labels[written] += _JOINER
            label = _JOINER + label
        if letters:
            written, last = i, letters[-1]
        labels.append(label)
        end = max(end, stop)
    return labels


def _joins(character: str) -> bool:
    """Return whether this letter may change its form beside another one of its script."""
    return character.isalpha() and unicodedata.name(character, "").startswith(_JOINING)


class EditStep(NamedTuple):
    """One round: the edit chosen at the worst token, with the BARTScores of the whole text `before` and `after` it.

    `position` is the sub-word index without `<s>`. `old` is the worst token (an insertion goes before it; "" at the end of
    the text); `new` is "" for a deletion. `alternatives` are the k most probable tokens at that position with their
    probabilities. `text` is the edited text.
    """

    position: int
    edit: Edit
    old: str
    new: str
    before: float
    after: float
    alternatives: tuple[tuple[str, float], ...]
    text: str


@dataclass(frozen=True, slots=True)
class Refinement:
    """The analysis of one output. Scores are BARTScores (mean log probability per token, ≤ 0, higher is better).

    `score_refined` is that of the edited tokens. Where the model's tokenizer divides the text `refined` into other tokens, whose
    BARTScore differs, `refined_ids` are the edited ones; else it is empty.
    """

    variant: Variant
    condition: int  # index of the reference used; -1 for the source (faithfulness)
    non_translation: bool
    why_non_translation: str
    refined: str
    score_hyp: float
    score_refined: float
    score_ref: float
    tokens: tuple[Token, ...]
    steps: tuple[EditStep, ...]
    truncated: bool = False
    refined_ids: tuple[int, ...] = ()

    @property
    def dist_exp(self) -> float:
        """Return BARTS(y*, r) − BARTS(y, r), the cost of the correctable errors. ≥ 0 without prompts."""
        return self.score_refined - self.score_hyp

    @property
    def dist_imp(self) -> float:
        """Return BARTS(r, r) − BARTS(y*, r), the distance of the refined text from the reference; may be negative."""
        return self.score_ref - self.score_refined

    def parts(self) -> dict[str, float]:
        names = ("dist_exp", "dist_imp", "score_hyp", "score_refined", "score_ref")
        return {name: getattr(self, name) for name in names}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Refinement:
        """Return the analysis stored by `to_json`. Raises `ValueError` for other values."""
        return _FORM.validate_python(dict(data))


_FORM = TypeAdapter(Refinement)


def weighted(dist_exp: float, dist_imp: float, lam: float) -> float:
    """Return BARTScore++ = −(ω_exp·Dist_exp + ω_imp·Dist_imp), ω_exp = λ/(1+λ), ω_imp = 1/(1+λ) (Lu et al. 2023, section 3.3).

    `lam` ∈ [0, ∞]; ∞ counts explicit errors only. Higher is better. Raises ValueError for a negative or NaN λ.
    """
    if not lam >= 0:
        raise ValueError(f"λ must be a number ≥ 0 or ∞, got {lam}")
    explicit = 1.0 if math.isinf(lam) else lam / (1.0 + lam)
    return -(explicit * dist_exp + (1.0 - explicit) * dist_imp)


NonTranslation = Literal["overlap", "probability", "off"]
PromptSide = Literal["encoder", "decoder"]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `refine_all`.

    `k` is the number of candidate tokens per position. `rounds` is the maximum number of rounds; None is the paper's bound,
    half the number of tokens (rounded up). `non_translation`: "overlap" rejects outputs of ten tokens or more by their
    overlap with the reference (≤ `overlap`) and shorter ones by the share of improbable tokens (≥ `share`); "probability"
    uses the latter for all; "off" refines everything. `prompts` change the three scores of the distances, not the refinement.
    Ranges are those of `core.metrics.generation.bartscore_pp`, which checks them.
    """

    k: int = 10
    rounds: int | None = None
    edits: tuple[Edit, ...] = EDITS
    non_translation: NonTranslation = "overlap"
    overlap: float = 0.2
    share: float = 0.7
    prompts: tuple[str, ...] = ()
    side: PromptSide = "encoder"

    def __post_init__(self) -> None:
        """Remove duplicates from `edits` and `prompts`."""
        object.__setattr__(self, "edits", tuple(e for e in EDITS if e in self.edits))
        object.__setattr__(self, "prompts", tuple(dict.fromkeys(p.strip() for p in self.prompts if p.strip())))

    def without_overlap(self) -> Options:
        """Return options with the probability test for every length: a summary shares few tokens with its document."""
        return replace(self, non_translation="probability") if self.non_translation == "overlap" else self

    def facts(self) -> dict[str, object]:
        """Return the options as facts of a signature, in a fixed order."""
        tests = {
            "overlap": f"overlap{format_exact(self.overlap)}+prob{format_exact(self.share)}",
            "probability": f"prob{format_exact(self.share)}",
            "off": "off",
        }
        facts: dict[str, object] = {
            "nt": tests[self.non_translation],
            "k": self.k,
            "rounds": "half" if self.rounds is None else self.rounds,
        }
        if self.edits != EDITS:
            facts["edits"] = "+".join(self.edits)
        return {**facts, "prompt": prompt_fact(self.prompts, self.side)}


LONGEST_PHRASE = 80


def prompt_fact(prompts: tuple[str, ...], side: PromptSide) -> str:
    """Return the prompts as a fact of a signature: `none`, or the side with one phrase or with the number and digest.

    A single phrase is given by its digest if it is long or contains characters a signature cannot hold.
    """
    if not prompts:
        return "none"
    if len(prompts) == 1 and len(prompts[0]) <= LONGEST_PHRASE and one_line(prompts[0]) and "|" not in prompts[0]:
        return f"{side}({prompts[0]})"
    return f"{side}({len(prompts)} phrase{'s' if len(prompts) != 1 else ''} {digest(prompts)})"


def digest(prompts: tuple[str, ...]) -> str:
    """Return the first 8 hexadecimal digits of the SHA-256 of the phrases, one per line."""
    return hashlib.sha256("\n".join(prompts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def one_line(text: str) -> bool:
    """Return whether a text has no line breaks, control characters or lone surrogates."""
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text)
