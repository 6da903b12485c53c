"""Words and characters of a text in any script, as code points, and the form of a text that is searched.

A word is a half-open range. A grapheme cluster is what a reader sees as one character, such as a letter with its accents or an emoji made
of several.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
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


_CONJOINING = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"
"""Signs that join the consonants around them in Devanagari, Bengali, Gujarati, Oriya, Telugu and Malayalam."""
_JOINED = {("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"), ("LV", "V"), ("LV", "T"), ("V", "V"), ("V", "T"), ("LVT", "T"), ("T", "T")}  # fmt: skip
"""Pairs of parts of a Hangul syllable."""
_PICTURES = ((0xA9, 0xA9), (0xAE, 0xAE), (0x203C, 0x2BFF), (0x3030, 0x303D), (0x3297, 0x3299), (0x1F000, 0x1FAFF))
_SIMPLE = "\u0300"
"""Below this code point, only CR LF has more than one code point."""


@lru_cache(maxsize=1 << 14)
def _grapheme_kind(char: str) -> str:
    code, category = ord(char), unicodedata.category(char)
    if char == "\u200d":
        return "joiner"
    if category[0] == "M" or char in "\u200c\u0e33\u0eb3\uff9e\uff9f" or 0x1F3FB <= code <= 0x1F3FF:
        return "conjoining" if char in _CONJOINING else "extending"
    if 0xE0020 <= code <= 0xE007F:
        return "extending"
    if 0x1F1E6 <= code <= 0x1F1FF:
        return "flag"
    if 0x600 <= code <= 0x605 or char in "\u06dd\u070f\u0890\u0891\u08e2":
        return "before digits"
    if category in ("Cc", "Cf", "Zl", "Zp"):
        return "control"
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "LVT" if (code - 0xAC00) % 28 else "LV"
    if any(first <= code <= last for first, last in _PICTURES):
        return "picture"
    return "consonant" if category == "Lo" and 0x900 <= code <= 0xD7F else "other"


def grapheme_starts(text: str) -> Sequence[int]:
    """Return where each grapheme cluster begins, in code points.

    The rules are those of UAX #29, with the properties that Python's `unicodedata` lacks as ranges. Where the two differ, this
    function joins more: every combining mark belongs to the character before it.
    """
    if max(text, default="") < _SIMPLE and "\r\n" not in text:
        return range(len(text))
    starts: list[int] = []
    before, base, flags, conjoined = "control", "", 0, False
    for i, char in enumerate(text):
        kind = _grapheme_kind(char)
        if kind in ("extending", "conjoining", "joiner"):
            joined = before != "control"
        elif before == "control" or kind == "control":
            joined = char == "\n" and i > 0 and text[i - 1] == "\r"
        else:
            joined = (
                before == "before digits"
                or (before, kind) in _JOINED
                or (before == "joiner" and base == kind == "picture")
                or (conjoined and base == kind == "consonant")
                or (kind == "flag" and before == "flag" and flags % 2 == 1)
            )
        if not joined:
            starts.append(i)
        if kind in ("extending", "conjoining", "joiner"):
            conjoined = conjoined or kind == "conjoining"
            base = base if joined else ""
        else:
            base, conjoined = kind, False
        flags = flags + 1 if kind == "flag" else 0
        before = kind
    return starts
