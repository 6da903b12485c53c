"""Swapped sentences, and sentences replaced with those of other texts; any script."""

from __future__ import annotations

from random import Random

from core.perturbations.noise.base import Noise, NoiseContext, NoiseLevel, edited, pairs, sample_share
from core.text.edits import Edit, Outcome, Refused
from core.text.whole_sentences import sentences

LEVELS = tuple(NoiseLevel(s, f"{s:.0%}") for s in (0.25, 0.5, 0.75, 1.0))
"""For units of which a text has few."""


def _switch(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    spans = sentences(text)
    found = pairs(spans, lambda span: text[slice(*span)], random)
    chosen = sample_share(found, strength, random)
    edits = [Edit(*a, text[slice(*b)]) for pair in chosen for a, b in (pair, pair[::-1])]
    return edited(text, edits, "fewer than two different sentences")


def _replace(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    spans = sentences(text)
    if not spans:
        return Refused("no sentence in the text")
    others = context.others(text)
    if not others:
        return Refused("no other text in the set from which to take a sentence")
    own = {text[slice(*span)] for span in spans}
    picked = random.sample(others, min(len(others), len(spans) + 8))
    strange = [new for other in picked if (new := [s for a, b in sentences(other) if (s := other[a:b]) not in own])]
    if not strange:
        return Refused("the other texts contain no sentence that differs from those of this text")
    new = [random.choice(strange[i % len(strange)]) for i in range(len(spans))]
    chosen = sample_share(list(zip(spans, new, strict=True)), strength, random)
    return edited(text, [Edit(*span, sentence) for span, sentence in chosen], "no sentence in the text")


SWITCHING = Noise(
    name="sentence-switching",
    label="Sentence switching",
    aspect="consistency",
    help="Swaps random pairs of sentences; the white space between sentences stays. Strength: the share of all possible pairs",
    make=_switch,
    levels=LEVELS,
    version=2,
    switching=True,
)
REPLACEMENT = Noise(
    name="sentence-replacement",
    label="Sentence replacement",
    aspect="consistency",
    help="Replaces random sentences with random sentences of other texts of the set. Strength: the share of the sentences",
    make=_replace,
    levels=LEVELS,
    version=2,
    needs=frozenset({"others"}),
)
