"""Words as they are written together: what a tokenizer or a rule of units sets apart counts as one word here.

`'s` and `n't` with the word before them, u.s., stuff.co.nz, semi-final, 2-1, $5, 9 %. Scripts without spaces have none of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from core.stress.noise.sentences import abbreviated, sentences
from core.text.sentences import Span
from core.text.words import Unit, is_unspaced, units

_TIES = re.compile(
    r"(?<=\w)[-‐‑–/](?=\w)"  # semi-final, 1990–95, and/or
    r"|(?<=\w)-(?=\s)"  # pre- and post-war
    r"|(?<=\d) [-–] (?=\d)"  # 2 - 1
    r"|(?<=[^\W\d_])\.(?=[^\W\d_])(?!(?<=[^\W\d_]{2}\.)[A-Z][a-z])"  # u.s, stuff.co.nz, but not ended.Then
    r"|(?<=[^\W\d_]\.[^\W\d_])\.(?=['’,;:)-])"  # the last point of “the U.S.,”
    r"|(?<=\d):(?=\d)|(?<=\w)://(?=\w)|(?<=\w)[&+@](?=\w)|[#@](?=\w)"
    r"|[#$£€¥₹] ?(?=\d)|(?<=\d) ?[%‰°€£]|(?<=\d)\+|(?<= [A-F]) ?\+(?!\S)|(?<= [A-F])\+"
    r"|(?i:(?<=\w)[ \xa0]?['’](?:s|m|ll|re|ve|d)(?!\w)|(?<=\w)[ \xa0]n['’]t(?!\w))"
    r"|(?i:(?<!\w)['’](?:s|m|ll|re|ve|d|em|til|tis|twas|cause|\d0s)(?!\w))"
)
_PLURAL = re.compile(
    r"(?<=\w\ws)(?<!was)(?<!\bhas)(?<!\bhis)(?<!\bits)(?<!this)(?<!says)(?<!adds)(?<!reads) ?['’](?= [a-z])"
)
"""The apostrophe of the players ' side."""
_QUOTING = re.compile(r"(?<!\w)['‘`](?=\w)(?!(?:s|m|ll|re|ve|d|em|til)\b)|(?<=\s)['`](?=\s)")
_POINT = re.compile(r"(?<=\w) ?\.(?=\s)")


@lru_cache(maxsize=1024)
def wholes(text: str) -> tuple[Unit, ...]:
    """Return the words, each with what is written onto it, and the signs between them, in order."""
    ties = sorted([*_ties(text), *_points(text)])
    out: list[Unit] = []
    at = reach = 0
    for unit in units(text):
        while out and at < len(ties) and ties[at][0] < out[-1].end:
            reach = max(reach, ties[at][1])
            at += 1
        if out and reach > unit.start:
            out[-1] = Unit(out[-1].start, unit.end, True)
        else:
            out.append(unit)
    return tuple(out)


def whole_words(text: str) -> list[Span]:
    """Return the words of `wholes` without the signs."""
    return [(start, end) for start, end, is_word in wholes(text) if is_word]


def _ties(text: str) -> Iterator[Span]:
    """Give the places that hold words together, each with a character of what it ties."""
    plural = [m for m in _PLURAL.finditer(text) if not _QUOTING.search(text, max(0, m.start() - 200), m.start())]
    for found in (*_TIES.finditer(text), *plural):
        start, end = found.span()
        yield start - _tied(text[start - 1 : start]), end + _tied(text[end : end + 1])


def _tied(char: str) -> bool:
    return char.isalnum() and not is_unspaced(char)


def _points(text: str) -> Iterator[Span]:
    """Give the points of abbreviations, with the last character before."""
    small = text == text.lower()
    for first, last in sentences(text):
        for found in _POINT.finditer(text, first, last):
            if found.end() < last and abbreviated(
                text[first : found.end()], text[found.end() : found.end() + 48], small
            ):
                yield found.start() - 1, found.end()
