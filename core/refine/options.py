"""Options of the refinement (Lu et al. 2023); the defaults are those of the paper."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass, replace
from typing import Literal

from core.errors import UserError
from core.refine.result import EDITS, Edit
from core.signature import number

NonTranslation = Literal["overlap", "probability", "off"]
Side = Literal["encoder", "decoder"]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `refine_all`.

    `k` is the number of candidate tokens per position. `rounds` is the maximum number of rounds; None is the paper's bound,
    half the number of tokens (rounded up). `non_translation`: "overlap" rejects outputs of ten tokens or more by their
    overlap with the reference (≤ `overlap`) and shorter ones by the share of improbable tokens (≥ `share`); "probability"
    uses the latter for all; "off" refines everything. `prompts` change the three scores of the distances, not the refinement.
    """

    k: int = 10
    rounds: int | None = None
    edits: tuple[Edit, ...] = EDITS
    non_translation: NonTranslation = "overlap"
    overlap: float = 0.2
    share: float = 0.7
    prompts: tuple[str, ...] = ()
    side: Side = "encoder"

    def __post_init__(self) -> None:
        """Check ranges (raises UserError) and remove duplicates from `edits` and `prompts`."""
        _within("k", self.k, 1, 1000)
        if self.rounds is not None:
            _within("rounds", self.rounds, 0, 10_000)
        _within("overlap", self.overlap, 0, 1)
        _within("share", self.share, 0, 1)
        unknown = [e for e in self.edits if e not in EDITS]
        if unknown or not self.edits:
            raise UserError("unknown edit", where="edits", got=repr(self.edits), expected=", ".join(EDITS))
        object.__setattr__(self, "edits", tuple(e for e in EDITS if e in self.edits))
        object.__setattr__(self, "prompts", tuple(dict.fromkeys(p.strip() for p in self.prompts if p.strip())))

    def without_overlap(self) -> Options:
        """Return options with the probability test for every length: a summary shares few tokens with its document."""
        return replace(self, non_translation="probability") if self.non_translation == "overlap" else self

    def facts(self) -> dict[str, object]:
        """Return the options as facts of a signature, in a fixed order."""
        tests = {
            "overlap": f"overlap{number(self.overlap)}+prob{number(self.share)}",
            "probability": f"prob{number(self.share)}",
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


def prompt_fact(prompts: tuple[str, ...], side: Side) -> str:
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


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UserError("this value is out of range", where=name, got=str(value), expected=f"{low} to {high}")
