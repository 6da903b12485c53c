"""Words, and halves of sentences, that change places. Any script; where it has no spaces a character counts as a word."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from random import Random

from core.stress.base import Edit, Outcome
from core.stress.english import may
from core.stress.language import is_english
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.noise.name_words import (
    ALSO_FIRST,
    DOUBLE_FIRST,
    FAMOUS,
    FIRST_NAMES,
    KNOWN,
    MORE_PLACES,
    NO_NAMES,
    PLACES,
    ROLES,
    TEAMS,
    TIMES,
    TITLES,
)
from core.stress.noise.removal import STOP_WORDS
from core.stress.noise.sentences import sentences
from core.stress.noise.wholes import whole_words, wholes
from core.text.sentences import Span
from core.text.words import Unit, is_unspaced, words

_SINKING = STOP_WORDS - {"i", "may", "will"}
"""Words that have a capital for opening a sentence and for nothing else."""
_SURE_NAMES = (PLACES | MORE_PLACES | TEAMS | FAMOUS) - {
    "Reading",
    "Turkey",
    "Spurs",
    "Heat",
    "Nets",
    "Jets",
    "Bath",
    "Chad",
    "Phoenix",
}
_DOUBTFUL_NAMES = (
    ALSO_FIRST | DOUBLE_FIRST | frozenset("Rose Art Gene Guy Per Sandy Randy Jean Ruby Amber May Carol".split())
)
_PLAIN = frozenset(
    """whilst amongst please hello meanwhile cheerleading bigwig police woman man people first last next top due former latest early late new old
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million hundreds thousands millions""".split()
)
"""Further words that are no names."""
_QUOTE = re.compile("""['"“”‘’`()\\[\\]]""")


def _local(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    """Pairs of neighbours are drawn until no two that have not moved yet stand together; of these pairs the share is swapped."""
    found = wholes(text)
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
    english = is_english([text[start:end].lower() for start, end in words(text)])
    found = whole_words(text)
    starts = [start for start, _ in found]
    edits = []
    for first, last in sentences(text):
        inside = found[bisect_left(starts, first) : bisect_left(starts, last)]
        if edit := _turned(text, inside, english):
            edits.append(edit)
    return edited(text, some(edits, strength, random), "no sentence that can be cut between two words")


def _turned(text: str, found: Sequence[Span], english: bool) -> Edit | None:
    """The cut is the white space nearest to the middle, counted in words, outside of quotations and brackets where one is to be
    had; signs at the ends and at the cut stay there.

    A capital that opened the sentence opens it again, and the word it came from gives it up where it is no name. Return None
    where that is not certain, and where there is no cut."""
    cuts = [i for i in range(1, len(found)) if _parts(text, found[i - 1][1], found[i][0])]
    if not cuts:
        return None
    middle = len(found) // 2
    first, last = found[0][0], found[-1][1]
    last += len(_closing(text[first:last], text[last : last + 1]))
    quiet = [i for i in cuts if not _QUOTE.search(text, found[i - 1][1], found[i][0])] or cuts
    cuts = [i for i in quiet if _balanced(text[first : found[i - 1][1]])] or quiet
    cut = min(cuts, key=lambda i: abs(i - middle))
    left, right = text[first : found[cut - 1][1]], text[found[cut][0] : last]
    if left[:1].isupper():
        opening = text[slice(*found[0])]
        gives_up = _gives_up(text, found, english)
        if gives_up is None:
            return None
        left = opening.lower() + left[len(opening) :] if gives_up else left
        right = right[:1].upper() + right[1:]
    new = right + text[found[cut - 1][1] : found[cut][0]] + left
    return Edit(first, last, new) if new != text[first:last] else None


def _closing(text: str, char: str) -> str:
    """Return the character behind the text where it closes a bracket or quotation of the text."""
    return char if char in tuple(')]"”') and not _balanced(text) and _balanced(text + char) else ""


def _balanced(text: str) -> bool:
    """Return whether every bracket and quotation of the text closes in it."""
    return text.count('"') % 2 == 0 and all(text.count(a) == text.count(b) for a, b in ("()", "[]", "“”"))


def _parts(text: str, end: int, start: int) -> bool:
    return any(c.isspace() for c in text[end:start]) or (is_unspaced(text[end - 1]) and is_unspaced(text[start]))


def _gives_up(text: str, found: Sequence[Span], english: bool) -> bool | None:
    """Return whether the first word has its capital for opening the sentence only; None where that is not certain."""
    word = text[slice(*found[0])]
    low = word.lower().replace("’", "'")
    bare = re.split(" ?'| n't|-", low)[0]
    if word[1:] != word[1:].lower():
        return False
    follows = text[found[1][0]].isupper() and not text[found[0][1] : found[1][0]].strip()
    if bare in _SINKING:
        return None if bare == "the" and follows and english and _seen(text, "The") else True
    name = bare.capitalize()
    if not english or bare in TIMES or bare in NO_NAMES or name in _SURE_NAMES or name in FIRST_NAMES - _DOUBTFUL_NAMES:
        return False
    if bare in _PLAIN:
        return None if follows and bare not in ROLES and _seen(text, name) else True
    parts = may(bare)
    if not parts or _seen(text, name):
        return False
    if name in KNOWN | _DOUBTFUL_NAMES or bare in TITLES or (follows and bare not in ROLES):
        return None
    if "NOUN" in parts and bare[-1] != "s" and bare not in ROLES:
        return True if re.search(rf"\b(?:the|an?|of|his|her|its|their) {re.escape(bare)}\b", text) else None
    return True


def _seen(text: str, word: str) -> bool:
    """Return whether the word stands so inside a sentence of the text."""
    return bool(re.search(rf"(?<=[\w,] ){re.escape(word)}(?!\w)", text))


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
    version=2,
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
    version=2,
)
