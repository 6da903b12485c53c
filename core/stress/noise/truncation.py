"""Truncation: the end of the text is gone. Any script."""

from __future__ import annotations

import re
from bisect import bisect_left
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import TENTHS, Beside, Noise, edited
from core.stress.noise.wholes import wholes
from core.text.sentences import CLOSING, EITHER, FINAL, OPEN_ENDED

_ENDING = re.compile(f"[{OPEN_ENDED}{FINAL}{CLOSING}{EITHER}]")


def _truncate(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    """Words and the signs between them count as tokens. The first word stays, and so do the signs that end the text, as in
    Table 16; a sign that would come to stand before them goes."""
    found = list(wholes(text))
    while found and not found[-1].is_word and _ENDING.match(text, found[-1].start):
        found.pop()
    words = [i for i, u in enumerate(found) if u.is_word]
    if len(words) < 2:
        return Refused("a single word: nothing would be left" if words else "no word in it")
    kept = len(found) - max(1, round(strength * len(found)))
    last = words[max(0, bisect_left(words, kept) - 1)]
    return edited(text, [Edit(found[last].end, found[-1].end, "")], "")


TRUNCATION = Noise(
    name="truncation",
    family="truncation",
    label="Truncation",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the tokens at the end goes; the signs that end the text stay. Costs content as well as fluency",
    make=_truncate,
    levels=TENTHS,
    seeded=False,
    version=2,
)
