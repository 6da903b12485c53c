"""Spelling errors and jumbled word order, for scripts written with spaces (Chen and Eger 2023, §3; Sai et al. 2021)."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from random import Random

from core.english.analysis import is_english_word
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused, changed
from core.text.words import is_unspaced, words

TRIES = 8
_CLITICS = frozenset("s re ve ll d m t".split())
_TOGETHER = re.compile(r"[^\s—]+")
_BEFORE, _AFTER = frozenset("$€£¥#@"), frozenset("%‰°€£")


def _shuffle(text: str, random: Random) -> Outcome:
    """Shuffle the words; punctuation around them and white space stay in place. What is written together is one word:
    face-to-face, 1930’s, $20, 5%."""
    spans = [span for match in _TOGETHER.finditer(text) if (span := _bare(text, *match.span()))]
    order = [text[start:end] for start, end in spans]
    if len(set(order)) < 3:
        return Refused("fewer than three different words")
    new = list(order)
    for _ in range(TRIES):
        random.shuffle(new)
        if new != order:
            break
    return changed(text, (Edit(start, end, word) for (start, end), word in zip(spans, new, strict=True)))


def _bare(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without punctuation around it; None if it has no word, or is in a script without spaces."""
    word_spans = words(text[start:end])
    if not word_spans or any(is_unspaced(c) for c in text[start:end]):
        return None
    first, last = start + word_spans[0][0], start + word_spans[-1][1]
    if text[first - 1 : first] in ("'", "’") and text[first:last].lower() in _CLITICS:
        return None
    first -= text[first - 1 : first] in _BEFORE and first > start
    last += text[last : last + 1] in _AFTER and last < end
    return first, last


JUMBLE = Perturbation(
    name="jumble",
    phenomenon="Jumbled word order",
    kind="fluency",
    help="Shuffles all words; punctuation stays in place",
    change=_shuffle,
    version=3,
)


SHORTEST = 4
"""Letters and marks a word needs to get a typo; a shorter word could become another word or unreadable."""


def _swap(text: str, random: Random) -> Outcome:
    """Swap inner letters if the word has enough; never equal letters, never a capital, never yielding another English word."""
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
    return Refused(f"no word of {SHORTEST} or more letters with two different neighbours")


def _swaps(text: str, start: int, end: int) -> list[Edit]:
    """Return the swaps inside a word; if marks leave no two inner letters, also those with its last letter."""
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
    """Return whether the character is a mark or joiner that belongs to the letter before it."""
    return unicodedata.category(char)[0] == "M" or char in "\u200c\u200d"


def _moves(letter: str) -> bool:
    return letter[0].isalpha() and letter == letter.lower()


TYPO = Perturbation(
    name="typo",
    phenomenon="Spelling error",
    kind="fluency",
    help="Swaps two neighbouring letters of one word",
    change=_swap,
    version=2,
)
