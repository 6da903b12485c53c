"""Spelling errors: two neighbouring letters of a word change places. Any script that is written in letters with spaces."""

from __future__ import annotations

from random import Random

from core.stress.base import Edit, Outcome, Perturbation, Refused, changed
from core.text.words import is_unspaced, words

SHORTEST = 4
"""Letters of a word that gets a typo; in a shorter one it may make another word, or none that anybody could read."""


def _swap(text: str, random: Random) -> Outcome:
    """Inner letters where the word has enough of them; never two equal letters, never a capital."""
    places: list[list[int]] = []
    for start, end in words(text):
        if end - start < SHORTEST or any(is_unspaced(c) for c in text[start:end]):
            continue
        inner = [i for i in range(start + 1, end - 1) if _swaps(text[i], text[i + 1])]
        if inner:
            places.append(inner)
    if not places:
        return Refused(f"no word of {SHORTEST} letters or more in which two neighbours differ")
    i = random.choice(random.choice(places))
    return changed(text, [Edit(i, i + 2, text[i + 1] + text[i])])


def _swaps(a: str, b: str) -> bool:
    return a != b and a.isalpha() and b.isalpha() and a.islower() and b.islower()


TYPO = Perturbation(
    name="typo",
    family="typos",
    phenomenon="Spelling error",
    kind="fluency",
    paper="Chen and Eger 2023, §3; Sai et al. 2021",
    help="Two neighbouring letters of one word change places",
    change=_swap,
    code="typo",
)
