"""Words as written: what a tokenizer or segmentation rule splits counts as one word here.

Examples: `'s` and `n't` with the word before them, u.s., stuff.co.nz, semi-final, 2-1, $5, 9 %. Not for scripts without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from core.text.sentences import Span
from core.text.whole_sentences import abbreviated, sentences
from core.text.words import TextUnit, is_unspaced, units

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
    for found in (*_TIES.finditer(text), *plural):
        start, end = found.span()
        yield start - _tied(text[start - 1 : start]), end + _tied(text[end : end + 1])


def _tied(char: str) -> bool:
    return char.isalnum() and not is_unspaced(char)


def _points(text: str) -> Iterator[Span]:
    """Yield the full stops of abbreviations, with the character before."""
    small = text == text.lower()
    for first, last in sentences(text):
        for found in _POINT.finditer(text, first, last):
            if found.end() < last and abbreviated(
                text[first : found.end()], text[found.end() : found.end() + 48], small
            ):
                yield found.start() - 1, found.end()
