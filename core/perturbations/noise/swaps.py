"""Swapped words and swapped halves of sentences. Any script; without spaces, each character counts as a word."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from random import Random

from core.english import entity_kinds
from core.english.analysis import is_english
from core.english.dictionary import STOP_WORDS, pos_tags
from core.perturbations.noise.base import SHARES, Noise, NoiseContext, edited, sample_share
from core.perturbations.noise.sentences import torn, whole_words, wholes
from core.text.edits import Edit, Outcome
from core.text.sentences import SINGLE, Span, movable_sentences, plain
from core.text.words import TextUnit, is_unspaced, words

_SINKING = STOP_WORDS - {"i", "may", "will"}
"""Words that are capitalised only at the start of a sentence."""
_COMMON_NAMES = frozenset("Rose Art Gene Guy Per Sandy Randy Jean Ruby Amber May Carol".split())
_DOUBTFUL_NAMES = entity_kinds.ALSO_FIRST | entity_kinds.DOUBLE_FIRST | _COMMON_NAMES
_SURE_NAMES = (entity_kinds.FIRST_NAMES - _DOUBTFUL_NAMES) | (
    (entity_kinds.PLACES | entity_kinds.TEAMS | entity_kinds.FAMOUS)
    - set("Reading Turkey Spurs Heat Nets Jets Bath Chad Phoenix".split())
)
_PLAIN = frozenset(
    """whilst amongst please hello meanwhile cheerleading bigwig police woman man people first last next top due former latest early late new old
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million hundreds thousands millions""".split()
)
"""More words that are not names."""
_QUOTE = re.compile("""['"“”‘’`()\\[\\]]""")


def _local(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    """Draw pairs of neighbours until no two unmoved words are neighbours; swap a share of these pairs."""
    text_units = wholes(text)
    pairs = [(i, edit) for i, (a, b) in enumerate(pairwise(text_units)) if (edit := _swapped(text, a, b))]
    random.shuffle(pairs)
    moved: set[int] = set()
    apart = []
    for i, edit in pairs:
        if moved.isdisjoint((i, i + 1)):
            moved |= {i, i + 1}
            apart.append(edit)
    return edited(text, sample_share(apart, strength, random), "no two different neighbouring words")


def _swapped(text: str, a: TextUnit, b: TextUnit) -> Edit | None:
    """Return None if punctuation or a line break stands between, or the two are equal."""
    gap = text[a.end : b.start]
    whole = all(unit.is_word and not torn(text, unit.start, unit.end) for unit in (a, b))
    if not whole or gap.splitlines() not in ([], [gap]):
        return None
    new = text[b.start : b.end] + gap + text[a.start : a.end]
    return Edit(a.start, b.end, new) if new != text[a.start : b.end] else None


def _middle(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    english = is_english([text[start:end].lower() for start, end in words(text)])
    word_spans = whole_words(text)
    starts = [start for start, _ in word_spans]
    edits = []
    for first, last in movable_sentences(text):
        inside = word_spans[bisect_left(starts, first) : bisect_left(starts, last)]
        if edit := _turned(text, (first, last), inside, english):
            edits.append(edit)
    return edited(text, sample_share(edits, strength, random), "no sentence that can be cut between two words")


def _turned(text: str, span: Span, word_spans: Sequence[Span], english: bool) -> Edit | None:
    """Cut at the white space nearest to the middle, counted in words; punctuation at the ends and at the cut stays. A sentence
    with a quotation or brackets is cut outside of them, in its middle half, or not at all.

    The new first word is capitalised, and the old one loses its capital unless it is a name. Return None if that is uncertain
    or there is no cut.
    """
    cuts = [i for i in range(1, len(word_spans)) if _parts(text, word_spans[i - 1][1], word_spans[i][0])]
    if not cuts:
        return None
    middle = len(word_spans) // 2
    first, last = word_spans[0][0], word_spans[-1][1]
    last += len(_closing(text[first:last], text[last : last + 1]))
    start, end = span
    if not all(_quoted(text[start:at]) for _, at in word_spans):
        if _quoted(text[start:end]):
            return None
        quiet = [i for i in cuts if not _QUOTE.search(text, word_spans[i - 1][1], word_spans[i][0])]
        outside = [i for i in quiet if not _quoted(text[start : word_spans[i - 1][1]])]
        central = [i for i in outside if len(word_spans) <= 4 * i <= 3 * len(word_spans)]
        cuts = central if central or len(outside) < len(cuts) else outside
    if not cuts:
        return None
    cut = min(cuts, key=lambda i: abs(i - middle))
    left, right = text[first : word_spans[cut - 1][1]], text[word_spans[cut][0] : last]
    if left[:1].isupper():
        opening = text[slice(*word_spans[0])]
        gives_up = _gives_up(text, word_spans, english)
        if gives_up is None:
            return None
        left = opening.lower() + left[len(opening) :] if gives_up else left
        right = right[:1].upper() + right[1:]
    new = right + text[word_spans[cut - 1][1] : word_spans[cut][0]] + left
    return Edit(first, last, new) if new != text[first:last] else None


def _closing(text: str, char: str) -> str:
    """Return the character after the text if it closes a bracket or quotation of the text."""
    return char if char in tuple(')]"”') and not _balanced(text) and _balanced(text + char) else ""


def _balanced(text: str) -> bool:
    """Return whether every bracket and quotation of the text is closed."""
    return text.count('"') % 2 == 0 and all(text.count(a) == text.count(b) for a, b in ("()", "[]", "“”"))


def _quoted(text: str) -> bool:
    """Return whether a bracket or quotation is open at the end of the text."""
    return not _balanced(plain(text)) or len(SINGLE.findall(plain(text))) % 2 == 1


def _parts(text: str, end: int, start: int) -> bool:
    return any(c.isspace() for c in text[end:start]) or (is_unspaced(text[end - 1]) and is_unspaced(text[start]))


def _gives_up(text: str, word_spans: Sequence[Span], english: bool) -> bool | None:
    """Return whether the first word is capitalised only because it starts the sentence; None if uncertain."""
    word = text[slice(*word_spans[0])]
    low = word.lower().replace("’", "'")
    bare = re.split(" ?'| n't|-", low)[0]
    if word[1:] != word[1:].lower() or text[word_spans[0][1] : word_spans[1][0]].strip() == "&":
        return False
    follows = text[word_spans[1][0]].isupper() and not text[word_spans[0][1] : word_spans[1][0]].strip()
    if bare in _SINKING:
        return None if bare == "the" and follows and english and _seen(text, "The") else True
    name = bare.capitalize()
    if not english or bare in entity_kinds.TIMES | entity_kinds.NO_NAMES or name in _SURE_NAMES:
        return False
    following = text[slice(*word_spans[1])]
    if bare in entity_kinds.PLACE_FIRST and (follows or _unknown(following)):
        return None if following in entity_kinds.TEAMS or following.lower() in entity_kinds.PEOPLES else False
    if bare in _PLAIN:
        return None if follows and bare not in entity_kinds.ROLES and _seen(text, name) else True
    parts = pos_tags(bare)
    if not parts and bare.endswith(("tion", "ment", "ness")):
        return None
    if not parts or _seen(text, name) or (parts == {"ADJ"} and following in STOP_WORDS):
        return False
    if _unknown(following) and bare not in entity_kinds.ROLES:
        return None
    if (
        name in entity_kinds.KNOWN | _DOUBTFUL_NAMES
        or bare in entity_kinds.TITLES
        or (follows and bare not in entity_kinds.ROLES)
    ):
        return None
    if "NOUN" in parts and bare[-1] != "s" and bare not in entity_kinds.ROLES:
        return True if re.search(rf"\b(?:the|an?|his|her|its|their) {re.escape(bare)}\b", text) else None
    return True


def _unknown(word: str) -> bool:
    """Return whether the word is in no dictionary."""
    return word.isalpha() and word.islower() and word not in STOP_WORDS | _PLAIN and not pos_tags(word)


def _seen(text: str, word: str) -> bool:
    """Return whether the word occurs in this spelling inside a sentence."""
    return bool(re.search(rf"(?<=[\w,] ){re.escape(word)}(?!\w)", text))


LOCAL = Noise(
    name="local-swap",
    label="Local swap",
    aspect="fluency",
    help="Swaps words with their right neighbour, each word at most once: a share of the disjoint pairs",
    make=_local,
    levels=SHARES,
    switching=True,
    version=3,
)

MIDDLE = Noise(
    name="middle-swap",
    label="Middle swap",
    aspect="fluency",
    help="Swaps the left and right half of a share of the sentences; all levels are equal for a text of one sentence",
    make=_middle,
    levels=SHARES,
    switching=True,
    version=3,
)
