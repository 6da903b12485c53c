"""Swapped and replaced sentences in any script; words as written, which tokenizers would split, and how they are deleted.

Examples: `'s` and `n't` with the word before them, u.s., stuff.co.nz, semi-final, 2-1, $5, 9 %. Not for scripts without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random

from core.perturbations.base import Edits, NoiseContext, pairs, sample_share
from core.text.edits import Edit, Refused
from core.text.sentences import Span, abbreviated, movable_sentences
from core.text.words import TextUnit, is_unspaced, units


def switch_sentences(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    spans = movable_sentences(text)
    span_pairs = pairs(spans, lambda span: text[slice(*span)], random)
    chosen = sample_share(span_pairs, strength, random)
    return [Edit(*a, text[slice(*b)]) for pair in chosen for a, b in (pair, pair[::-1])]


def replace_sentences(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    spans = movable_sentences(text)
    if not spans:
        return Refused("no sentence in the text")
    others = context.others(text)
    if not others:
        return Refused("no other text in the set from which to take a sentence")
    own = {text[slice(*span)] for span in spans}
    picked = random.sample(others, min(len(others), len(spans) + 8))
    strange = [
        new for other in picked if (new := [s for a, b in movable_sentences(other) if (s := other[a:b]) not in own])
    ]
    if not strange:
        return Refused("the other texts contain no sentence that differs from those of this text")
    new = [random.choice(strange[i % len(strange)]) for i in range(len(spans))]
    chosen = sample_share(list(zip(spans, new, strict=True)), strength, random)
    return [Edit(*span, sentence) for span, sentence in chosen]


_TIES = re.compile(
    r"(?<=\w)[-‐‑–/](?=\w)"  # semi-final, 1990–95, and/or
    r"|(?<=\w)-(?=\s)"  # pre- and post-war
    r"|(?<=\d) [-–] (?=\d)"  # 2 - 1
    r"|(?<=[^\W\d_])\.(?=[^\W\d_])(?!(?<=[^\W\d_]{2}\.)[A-Z][a-z])"  # u.s, stuff.co.nz, but not ended.Then
    r"|(?<=[^\W\d_]\.[^\W\d_])\.(?=['’,;:)-])"  # the last point of “the U.S.,”
    r"|(?<=\d):(?=\d)|(?<=\w)://(?=\w)|(?<=\w)[&+@](?=\w)|[#@](?=\w)"
    r"|[#$£€¥₹] ?(?=\d)|(?<=\d) ?[%‰°€£]|(?<=\d)\+|(?<= [A-F]) ?\+(?!\S)|(?<= [A-F])\+"
    r"|(?i:(?<=\w)[ \xa0]?['’](?:s|m|ll|re|ve|d)(?!\w)|(?<=\w)[ \xa0]n['’]t(?!\w))"
    r"|(?i:(?<=n)[ \xa0]?['’][ \xa0]?t(?!\w)|(?<=\w)[ \xa0]?['’][ \xa0](?:s|m|ll|re|ve|d)(?!\w))"  # doesn ’ t, show ’ s
    r"|(?<=\w) / (?=\w)"  # km / h
    r"|(?i:(?<!\w)['’](?:s|m|ll|re|ve|d|em|til|tis|twas|cause|\d0s)(?!\w))"
)
_PLURAL = re.compile(
    r"(?<=\w\ws)(?<!was)(?<!\bhas)(?<!\bhis)(?<!\bits)(?<!this)(?<!says)(?<!adds)(?<!reads) ?['’](?= [a-z])"
)
"""The apostrophe of the players ' side."""
_QUOTING = re.compile(r"(?<!\w)['‘`](?=\w)(?!(?:s|m|ll|re|ve|d|em|til)\b)|(?<=\s)['`](?=\s)")
_POINT = re.compile(r"(?<=\w) ?\.(?=\s)")


@lru_cache(maxsize=1024)
def wholes(text: str) -> tuple[TextUnit, ...]:
    """Return the words, each with everything attached to it, and the punctuation between them, in order."""
    ties = sorted([*_ties(text), *_points(text)])
    out: list[TextUnit] = []
    at = reach = 0
    for unit in units(text):
        while out and at < len(ties) and ties[at][0] < out[-1].end:
            reach = max(reach, ties[at][1])
            at += 1
        if out and reach > unit.start:
            out[-1] = TextUnit(out[-1].start, unit.end, True)
        else:
            out.append(unit)
    return tuple(out)


def whole_words(text: str) -> list[Span]:
    """Return the words of `wholes` without punctuation."""
    return [(start, end) for start, end, is_word in wholes(text) if is_word]


def sure_words(text: str) -> list[Span]:
    """Return the words of `whole_words` that are not split by spaces: not shouldn 't, show ’ s, km / h, 23 - year - old."""
    return [(start, end) for start, end in whole_words(text) if not torn(text, start, end)]


def torn(text: str, start: int, end: int) -> bool:
    """Return whether spaces split the word, or a hyphen or slash links it to another."""
    beside = _HYPHEN_AFTER.match(text, end) or _HYPHEN_BEFORE.search(text, max(0, start - 4), start)
    return bool(beside or _TORN.search(text, start, end))


_HYPHEN_AFTER = re.compile(r"(?: ?[-‐‑/] | [-‐‑/] ?)(?=\w)")
_HYPHEN_BEFORE = re.compile(r"\w(?: ?[-‐‑/] | [-‐‑/])$")
_TORN = re.compile(r"(?i)\s['’]\s?t$|['’]\s(?:t|s|m|ll|re|ve|d)$|\s/\s")


def _ties(text: str) -> Iterator[Span]:
    """Yield the places that hold words together, each with one character on either side."""
    plural = [m for m in _PLURAL.finditer(text) if not _QUOTING.search(text, max(0, m.start() - 200), m.start())]
    for match in (*_TIES.finditer(text), *plural):
        start, end = match.span()
        yield start - _tied(text[start - 1 : start]), end + _tied(text[end : end + 1])


def _tied(char: str) -> bool:
    return char.isalnum() and not is_unspaced(char)


def _points(text: str) -> Iterator[Span]:
    """Yield the full stops of abbreviations, with the character before."""
    small = text == text.lower()
    for first, last in movable_sentences(text):
        for match in _POINT.finditer(text, first, last):
            if match.end() < last and abbreviated(
                text[first : match.end()], text[match.end() : match.end() + 48], small
            ):
                yield match.start() - 1, match.end()


def without(text: str, spans: Sequence[Span]) -> list[Edit]:
    """Return the edits that delete the spans (ordered, disjoint), each with the white space on one side, so that no two spaces
    meet and no words merge. Line breaks stay."""
    runs: list[Span] = []
    for start, end in spans:
        if runs and one_line(text[runs[-1][1] : start]):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [_without(text, start, end) for start, end in runs]


def _without(text: str, start: int, end: int) -> Edit:
    left, right = start, end
    while left > 0 and text[left - 1].isspace():
        left -= 1
    while right < len(text) and text[right].isspace():
        right += 1
    word_before = left > 0 and _wordlike(text[left - 1])
    word_after = right < len(text) and _wordlike(text[right])
    if 0 < left < start and one_line(text[left:start]):
        return Edit(start if right == end and word_before and word_after else left, end, "")
    glued = left == start and word_before
    return Edit(start, right if one_line(text[end:right]) and not glued else end, "")


def one_line(gap: str) -> bool:
    """Return whether the gap is empty or white space without a line break."""
    return not gap.strip() and gap.splitlines() in ([], [gap])


def _wordlike(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"
