"""Find the words of a text in any script, as half-open code-point ranges, and the form of a text that is searched."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["space", "word", "single", "mark", "joiner", "flag", "other"]

UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3040, 0x312F),  # kana, Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
_SOUND_MARKS = "\uff9e\uff9f"  # half-width letters in Unicode that belong to the kana before them
_ZWJ, _ZWNJ = "\u200d", "\u200c"


def is_unspaced(char: str) -> bool:
    """Return whether this is a letter or digit of a script without spaces (Han, kana, Thai, Lao, Khmer, Myanmar)."""
    return _kind(char) == "single"


class TextUnit(NamedTuple):
    """A word or a punctuation character, with its combining marks."""

    start: int
    end: int
    is_word: bool


@lru_cache(maxsize=8192)
def _kind(char: str) -> Kind:
    if char.isspace():
        return "space"
    if char in (_ZWJ, _ZWNJ):
        return "joiner"
    code, category = ord(char), unicodedata.category(char)
    if category[0] == "M" or char in _SOUND_MARKS or 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F:
        return "mark"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "flag"
    if category[0] in "LN" and any(low <= code <= high for low, high in UNSPACED):
        return "single"
    return "word" if category[0] in "LN" or char == "_" else "other"


_ASCII_UNITS = re.compile(
    r"(?P<word>[A-Za-z0-9_]+(?:(?:(?<=[A-Za-z])'(?=[A-Za-z])|(?<=[0-9])[.,](?=[0-9]))[A-Za-z0-9_]+)*)|[^\sA-Za-z0-9_]"
)
"""The rules of `units` for ASCII texts; takes less than half the time."""


def units(text: str) -> list[TextUnit]:
    """Return words and punctuation characters in order, without white space.

    A word is a run of letters, digits and marks, with apostrophes between letters and `.` `,` between digits. Scripts without spaces (Han,
    kana, Thai, Lao, Khmer, Myanmar) give one unit per character with its marks. Emoji sequences and flags are not split.
    """
    if text.isascii():
        return [TextUnit(m.start(), m.end(), m.lastgroup is not None) for m in _ASCII_UNITS.finditer(text)]
    out: list[TextUnit] = []
    n, i = len(text), 0
    while i < n:
        kind = _kind(text[i])
        if kind == "space":
            i += 1
            continue
        start, i = i, i + 1
        if kind == "word":
            i = _word_end(text, i)
        elif kind == "flag" and i < n and _kind(text[i]) == "flag":
            i += 1
        i = _cluster_end(text, i, kind)
        out.append(TextUnit(start, i, kind in ("word", "single")))
    return out


def _word_end(text: str, i: int) -> int:
    n = len(text)
    while i < n:
        kind = _kind(text[i])
        if kind in ("word", "mark"):
            i += 1
        elif (kind == "joiner" or _inside(text, i)) and i + 1 < n and _kind(text[i + 1]) == "word":
            i += 2
        else:
            break
    return i


def _inside(text: str, i: int) -> bool:
    """Return whether this is an apostrophe between letters, or a point or comma between digits."""
    if i + 1 >= len(text):
        return False
    before, after = text[i - 1], text[i + 1]
    if text[i] in "'’":
        return (before.isalpha() or _kind(before) == "mark") and after.isalpha()
    return text[i] in ".," and before.isdigit() and after.isdigit()


def _cluster_end(text: str, i: int, kind: Kind) -> int:
    """Return the end of the unit, after combining marks and characters attached by a zero-width joiner."""
    n = len(text)
    while i < n:
        following = _kind(text[i])
        if following == "mark":
            i += 1
        elif following == "joiner":
            i += 1
            if kind == "other" and text[i - 1] == _ZWJ and i < n and _kind(text[i]) == "other":
                i += 1
        else:
            break
    return i


def words(text: str) -> list[tuple[int, int]]:
    """Return the words as half-open code-point ranges, without punctuation and white space (see `units`)."""
    return [(start, end) for start, end, is_word in units(text) if is_word]


def fold(text: str) -> str:
    """Return the text in the form used for search: NFKC, case-folded."""
    return unicodedata.normalize("NFKC", text).casefold()
