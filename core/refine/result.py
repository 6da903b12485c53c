"""What a refinement says: the refined sentence, how it came about, and the two distances (Lu et al. 2023, section 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

Variant = Literal["precision", "recall", "f", "faithfulness"]
Edit = Literal["insert", "delete", "substitute"]
EDITS: tuple[Edit, ...] = ("insert", "delete", "substitute")


class Token(NamedTuple):
    """A sub-word of a text at code points [start, end), with its log probability given the conditioning text.

    `</s>` has start == end == len(text): its log probability says whether the text ends where it should.
    A sub-word that holds part of a character covers that whole character.
    """

    text: str
    start: int
    end: int
    logp: float


class Step(NamedTuple):
    """One round: the worst token at `position` (sub-word index without `<s>`), the edit that was chosen, and what it gained.

    `old` is that worst token (an insertion goes before it; "" at the end of the text), `new` is "" for a deletion;
    `before` and `after` are BARTScores of the whole text;
    `alternatives` are the k most probable tokens at that place with their probabilities; `text` is the result.
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
    """The whole analysis of one output. Scores are BARTScores (mean log probability a token, ≤ 0, higher is better)."""

    variant: Variant
    condition: int  # index of the reference used; -1 when the source was (faithfulness)
    non_translation: bool
    why_non_translation: str
    refined: str
    score_hyp: float
    score_refined: float
    score_ref: float
    tokens: tuple[Token, ...]
    steps: tuple[Step, ...]
    truncated: bool = False

    @property
    def dist_exp(self) -> float:
        """BARTS(y*, r) − BARTS(y, r): what the correctable errors cost. ≥ 0 without prompts; with them an edit may not help."""
        return self.score_refined - self.score_hyp

    @property
    def dist_imp(self) -> float:
        """BARTS(r, r) − BARTS(y*, r): how far the refined text still is from the reference; may be negative."""
        return self.score_ref - self.score_refined

    def parts(self) -> dict[str, float]:
        return {
            "dist_exp": self.dist_exp,
            "dist_imp": self.dist_imp,
            "score_hyp": self.score_hyp,
            "score_refined": self.score_refined,
            "score_ref": self.score_ref,
        }

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Refinement:
        fields = dict(data)
        fields["tokens"] = tuple(Token(*t) for t in data["tokens"])
        fields["steps"] = tuple(
            Step(at, edit, old, new, before, after, tuple((str(t), float(p)) for t, p in alternatives), text)
            for at, edit, old, new, before, after, alternatives, text in data["steps"]
        )
        return cls(**fields)


def weighted(dist_exp: float, dist_imp: float, lam: float) -> float:
    """BARTScore++ = −(ω_exp·Dist_exp + ω_imp·Dist_imp), ω_exp = λ/(1+λ), ω_imp = 1/(1+λ) (Lu et al. 2023, section 3.3).

    `lam` ∈ [0, ∞]; ∞ counts explicit errors only. Higher is better. Raises ValueError for a negative or NaN λ.
    """
    if not lam >= 0:
        raise ValueError(f"λ must be a number ≥ 0 or ∞, got {lam}")
    explicit = 1.0 if math.isinf(lam) else lam / (1.0 + lam)
    return -(explicit * dist_exp + (1.0 - explicit) * dist_imp)
