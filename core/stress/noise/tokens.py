"""Words dropped, and words said twice. Any script; where it has no spaces a character counts as a word. Signs stay."""

from __future__ import annotations

from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import TENTHS, Beside, Noise, edited, some
from core.stress.noise.removal import without
from core.stress.noise.wholes import whole_words
from core.text.words import is_unspaced


def _drop(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    """One word is always left."""
    found = whole_words(text)
    if len(found) < 2:
        return Refused("a single word: nothing would be left" if found else "no word in it")
    return edited(text, without(text, some(found, min(strength, 1 - 1 / len(found)), random)), "")


def _repeat(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    edits = []
    for start, end in some(whole_words(text), strength, random):
        space = "" if is_unspaced(text[start]) else " "
        edits.append(Edit(end, end, space + text[start:end]))
    return edited(text, edits, "no word in it")


DROP = Noise(
    name="token-drop",
    family="tokens",
    label="Token drop",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the words goes, here and there",
    make=_drop,
    levels=TENTHS,
    version=2,
)

REPEAT = Noise(
    name="repeated-token",
    family="tokens",
    label="Repeated token",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the words stands twice, one beside the other",
    make=_repeat,
    levels=TENTHS,
    version=2,
)
