"""Penn Treebank tokens of English text with their offsets; clitics (n't, 's, 'll) are separate tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

_LETTER = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_ABBREVIATIONS = (
    "Mr|Mrs|Ms|Dr|Prof|Gen|Col|Sgt|Lt|Capt|Sen|Rep|Gov|St|Jr|Sr|vs|etc|Inc|Ltd|Bros|Corp|No|Jan|Feb|Mar|Apr|Aug|Sept|Sep"
    "|Oct|Nov|Dec"
)
_TOKEN = re.compile(
    rf"(?:[A-Za-z]\.){{2,}}"
    rf"|(?:{_ABBREVIATIONS})\."
    rf"|\d+(?:[.,:/]\d+)*(?:-\d+)*(?:(?:st|nd|rd|th|s|m|bn|k|km|am|pm)\b)?(?:-[{_LETTER}]+)*"
    rf"|['’](?:s|S|re|ve|ll|d|m)(?![{_LETTER}])"
    rf"|[{_LETTER}](?:[{_LETTER}\d]|['’&-](?=[{_LETTER}\d]))*"
    r"|\.{2,}|--+|``|''|\s+|.",
    re.DOTALL,
)
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)


class EnglishToken(NamedTuple):
    """`low` is lower case with straight apostrophes; `start:end` are code points of the text."""

    text: str
    low: str
    start: int
    end: int


def tokens(text: str) -> list[EnglishToken]:
    """Return the tokens in order, without white space."""
    out: list[EnglishToken] = []
    for match in _TOKEN.finditer(text):
        word, start = match.group(), match.start()
        if word.isspace():
            continue
        low = word.lower().replace("’", "'")
        clitic = _CLITIC.search(word) if "'" in low else None
        if low == "cannot" or (clitic and clitic.start()):
            cut = clitic.start() if clitic else 3
            out.append(EnglishToken(word[:cut], low[:cut], start, start + cut))
            out.append(EnglishToken(word[cut:], low[cut:], start + cut, match.end()))
        else:
            out.append(EnglishToken(word, low, start, match.end()))
    return out
