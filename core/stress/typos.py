"""Spelling errors: two neighbouring letters of a word change places, with the marks that belong to them. Any script that is written
in letters with spaces, with capitals or without."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from random import Random

from core.stress.base import Edit, Outcome, Perturbation, Refused, changed
from core.stress.language import is_english_word
from core.text.words import is_unspaced, words

SHORTEST = 4
"""Letters and marks of a word that gets a typo; in a shorter one it may make another word, or none that anybody could read."""


def _swap(text: str, random: Random) -> Outcome:
    """Inner letters where the word has enough of them; never two equal letters, never a capital, never into another English word."""
    places: list[tuple[tuple[int, int], list[Edit]]] = []
    for start, end in words(text):
        if end - start >= SHORTEST and not any(is_unspaced(c) for c in text[start:end]):
            if swaps := _swaps(text, start, end):
                places.append(((start, end), swaps))
    while places:
        chosen = random.randrange(len(places))
        (start, end), swaps = places[chosen]
        edit = swaps.pop(random.randrange(len(swaps)))
        if not is_english_word((text[start : edit.start] + edit.new + text[edit.end : end]).lower()):
            return changed(text, [edit])
        if not swaps:
            del places[chosen]
    return Refused(f"no word of {SHORTEST} letters or more in which two neighbours differ")


def _swaps(text: str, start: int, end: int) -> list[Edit]:
    """The swaps inside one word; where marks leave no two letters inside it, also with its last letter."""
    cuts = [i for i in range(start, end) if i == start or not _belongs(text[i])] + [end]
    letters = [text[a:b] for a, b in pairwise(cuts)]
    edits = [
        Edit(cuts[i], cuts[i + 2], letters[i + 1] + letters[i])
        for i in range(1, len(letters) - 1)
        if letters[i] != letters[i + 1] and _moves(letters[i]) and _moves(letters[i + 1])
    ]
    inner = [edit for edit in edits if edit.end < end]
    return inner if inner or len(letters) >= SHORTEST or len(letters) == end - start else edits


def _belongs(char: str) -> bool:
    """A mark or joiner, which goes with the letter before it."""
    return unicodedata.category(char)[0] == "M" or char in "\u200c\u200d"


def _moves(letter: str) -> bool:
    return letter[0].isalpha() and letter == letter.lower()


TYPO = Perturbation(
    name="typo",
    family="typos",
    phenomenon="Spelling error",
    kind="fluency",
    paper="Chen and Eger 2023, §3; Sai et al. 2021",
    help="Two neighbouring letters of one word change places",
    change=_swap,
    code="typo",
    version=2,
)
