"""Noises that can be followed by hand, and gold texts for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from core.data import Item
from core.perturbations.base import Edits, Noise, NoiseContext, NoiseLevel, sample_share
from core.robustness.stress.texts import Gold
from core.text.edits import Edit, Refused
from core.text.words import words

HALVES = (NoiseLevel(0.25, "25%"), NoiseLevel(0.5, "50%"))


def cut(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    """The last share of the words away, rounded down; refused where that is none."""
    found = words(text)
    n = int(len(found) * strength)
    return [Edit(found[-n - 1][1], found[-1][1], "")] if 0 < n < len(found) else Refused("too few words")


def drop(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    """A drawn share of the words away."""
    return [Edit(a, b, "") for a, b in sample_share(words(text), strength, random)]


def padded(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    """So many words more."""
    return [Edit(len(text), len(text), " more" * int(strength * 100))]


def noise(name: str, rule: Callable[[str, float, Random, NoiseContext], Edits], **facts: object) -> Noise:
    plain = Noise(name, name.capitalize(), "fluency", "for tests", rule, HALVES, seeded=False)
    return replace(plain, **facts)  # type: ignore[arg-type]


CUT = noise("cut", cut)
DROP = noise("drop", drop, seeded=True)
PAD = noise("pad", padded)


def golds(texts: Sequence[str], references: tuple[str, ...] = ("reference",)) -> list[Gold]:
    return [Gold(str(i), Item(f"source {i}", text, references)) for i, text in enumerate(texts)]


def of_words(*counts: int) -> list[Gold]:
    """Gold texts of so many different words; all texts differ."""
    return golds([" ".join(f"w{i}x{j}" for j in range(n)) for i, n in enumerate(counts)])
