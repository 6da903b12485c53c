"""Grapheme clusters: what a reader sees as one character, such as a letter with its accents or an emoji made of several."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_CONJOINING = "\u094d\u09cd\u0acd\u0b4d\u0c4d\u0d4d"
"""Signs that join the consonants around them in Devanagari, Bengali, Gujarati, Oriya, Telugu and Malayalam."""
_JOINED = {("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"), ("LV", "V"), ("LV", "T"), ("V", "V"), ("V", "T"), ("LVT", "T"), ("T", "T")}  # fmt: skip
"""Pairs of parts of a Hangul syllable."""
_PICTURES = ((0xA9, 0xA9), (0xAE, 0xAE), (0x203C, 0x2BFF), (0x3030, 0x303D), (0x3297, 0x3299), (0x1F000, 0x1FAFF))
_SIMPLE = "\u0300"
"""Below this code point, only CR LF has more than one code point."""


@lru_cache(maxsize=1 << 14)
def _kind(char: str) -> str:
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
        kind = _kind(char)
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
