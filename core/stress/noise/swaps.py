"""Words, and halves of sentences, that change places. Any script; where it has no spaces a character counts as a word."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from random import Random

from core.stress.base import Edit, Outcome
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.noise.removal import STOP_WORDS
from core.text.sentences import rule
from core.text.words import Unit, is_unspaced, units, words

_SINKING = STOP_WORDS - {"i", "may", "will"}
"""Words that have a capital for opening a sentence and for nothing else."""


def _local(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    """Pairs of neighbours are drawn until no two that have not moved yet stand together; of these pairs the share is swapped."""
    found = units(text)
    pairs = [(i, edit) for i, (a, b) in enumerate(pairwise(found)) if (edit := _swapped(text, a, b))]
    random.shuffle(pairs)
    moved: set[int] = set()
    apart = []
    for i, edit in pairs:
        if moved.isdisjoint((i, i + 1)):
            moved |= {i, i + 1}
            apart.append(edit)
    return edited(text, some(apart, strength, random), "no two different words beside each other")


def _swapped(text: str, a: Unit, b: Unit) -> Edit | None:
    """None where a sign or a line break stands between, or the two are alike."""
    gap = text[a.end : b.start]
    if not (a.is_word and b.is_word) or gap.splitlines() not in ([], [gap]):
        return None
    new = text[b.start : b.end] + gap + text[a.start : a.end]
    return Edit(a.start, b.end, new) if new != text[a.start : b.end] else None


def _middle(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    edits = [edit for start, end in rule(text) if (edit := _turned(text, start, end))]
    return edited(text, some(edits, strength, random), "no sentence that can be cut between two words")


def _turned(text: str, start: int, end: int) -> Edit | None:
    """The cut is the white space nearest to the middle, counted in words; signs at the ends and at the cut stay there.

    A capital that opened the sentence opens it again, and the word it came from gives it up where it is a small word."""
    found = _with_symbols(text, start, end)
    cuts = [i for i in range(1, len(found)) if _parts(text, found[i - 1][1], found[i][0])]
    if not cuts:
        return None
    middle = len(found) // 2
    cut = min(cuts, key=lambda i: abs(i - middle))
    first, last = found[0][0], found[-1][1]
    left, right = text[first : found[cut - 1][1]], text[found[cut][0] : last]
    if left[:1].isupper():
        opening = text[slice(*found[0])]
        left = opening.lower() + left[len(opening) :] if _sinks(opening) else left
        right = right[:1].upper() + right[1:]
    new = right + text[found[cut - 1][1] : found[cut][0]] + left
    return Edit(first, last, new) if new != text[first:last] else None


def _with_symbols(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The words of a sentence, with what is written onto them: 300%, $5, #1, emoji."""
    out: list[tuple[int, int]] = []
    done = start
    for a, b in words(text[start:end]):
        first, last = start + a, start + b
        while first > done and _sticks(text[first - 1]):
            first -= 1
        while last < end and _sticks(text[last]):
            last += 1
        out.append((first, last))
        done = last
    return out


def _sticks(char: str) -> bool:
    return char in "%‰#@&" or unicodedata.category(char)[0] == "S"


def _parts(text: str, end: int, start: int) -> bool:
    return any(c.isspace() for c in text[end:start]) or (is_unspaced(text[end - 1]) and is_unspaced(text[start]))


def _sinks(word: str) -> bool:
    low = word.lower().replace("’", "'")
    return low.partition("'")[0] in _SINKING and word[1:] == word[1:].lower()


LOCAL = Noise(
    name="local-swap",
    family="swaps",
    label="Local swap",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="Words change places with their right neighbour, each at most once: a share of the pairs that fit into the text",
    make=_local,
    levels=SHARES,
    switching=True,
)

MIDDLE = Noise(
    name="middle-swap",
    family="swaps",
    label="Middle swap",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="The left and the right half of a share of the sentences change places; a text of one sentence has one strength only",
    make=_middle,
    levels=SHARES,
    switching=True,
)
