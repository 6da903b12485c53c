"""Dropped words and repeated words. Any script; without spaces, each character counts as a word. Punctuation stays."""

from __future__ import annotations

from random import Random

from core.perturbations.noise.base import TENTHS, Noise, NoiseContext, edited, sample_share
from core.perturbations.noise.removal import without
from core.perturbations.noise.wholes import sure_words
from core.text.edits import Edit, Outcome, Refused
from core.text.words import is_unspaced


def _drop(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    """Drop words, but always keep one."""
    found = sure_words(text)
    if len(found) < 2:
        return Refused("only one word; nothing would be left" if found else "no word in the text")
    return edited(text, without(text, sample_share(found, min(strength, 1 - 1 / len(found)), random)), "")


def _repeat(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    edits = []
    for start, end in sample_share(sure_words(text), strength, random):
        space = "" if is_unspaced(text[start]) else " "
        edits.append(Edit(end, end, space + text[start:end]))
    return edited(text, edits, "no word in the text")


DROP = Noise(
    name="token-drop",
    label="Token drop",
    aspect="fluency",
    help="Deletes a share of the words at random positions",
    make=_drop,
    levels=TENTHS,
    version=2,
)

REPEAT = Noise(
    name="repeated-token",
    label="Repeated token",
    aspect="fluency",
    help="Repeats a share of the words right after themselves",
    make=_repeat,
    levels=TENTHS,
    version=2,
)
