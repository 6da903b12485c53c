"""Truncation: the end of the text is deleted. Any script."""

from __future__ import annotations

import re
from bisect import bisect_left
from random import Random

from core.perturbations.noise.base import TENTHS, Noise, NoiseContext, edited
from core.perturbations.noise.wholes import wholes
from core.text.edits import Edit, Outcome, Refused
from core.text.sentences import CLOSING, EITHER, FINAL, OPEN_ENDED

_ENDING = re.compile(f"[{OPEN_ENDED}{FINAL}{CLOSING}{EITHER}]")


def _truncate(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    """Delete tokens (words and punctuation) at the end. The first word and the final punctuation stay, as in Table 16;
    punctuation that would end up before the final punctuation is deleted."""
    found = list(wholes(text))
    while found and not found[-1].is_word and _ENDING.match(text, found[-1].start):
        found.pop()
    words = [i for i, u in enumerate(found) if u.is_word]
    if len(words) < 2:
        return Refused("only one word; nothing would be left" if words else "no word in the text")
    kept = len(found) - max(1, round(strength * len(found)))
    last = words[max(0, bisect_left(words, kept) - 1)]
    return edited(text, [Edit(found[last].end, found[-1].end, "")], "")


TRUNCATION = Noise(
    name="truncation",
    label="Truncation",
    aspect="fluency",
    help="Deletes a share of the tokens at the end; final punctuation stays. Removes content as well as fluency",
    make=_truncate,
    levels=TENTHS,
    seeded=False,
    version=2,
)
