"""Split a text into sentences that can be moved: with their quotation marks, never split after an abbreviation; any
script."""

from __future__ import annotations

import re
from functools import lru_cache

from core.text.abbreviations import STARTERS, ends_no_sentence
from core.text.sentences import Span, prose

_LEFT = re.compile(r"""(?:''|["'’”»)\]])(?=\s)""")
"""A closing mark separated by white space from the sentence before."""
SINGLE = re.compile(
    r"""(?<!\w)[`'‘](?=\w)(?!(?:s|m|ll|re|ve|d|em|til|\d0s)\b)|(?<=[^\ws\s])'(?!\w)|(?<=\s)`(?=\s)|(?<!s )(?<=\s)'(?=\s)|(?:(?<=says )|(?<=adds )|(?<=\bwas )|(?<=\bis )|(?<=\bas )|(?<=this ))'(?=\s)"""
)
"""Single quotation marks, excluding apostrophes between letters, before 's, and after an s."""
_MARKS = (("(", ")"), ("[", "]"), ("“", "”"), ('"', '"'))
_ORDINAL = re.compile(r"\b(?:the|his|her|its|their|my|our|your) \d{1,2} ?\.$", re.IGNORECASE)
"""The end of *won his 22. Olympic gold*, if split after the ordinal."""
_APART = re.compile(r"(?<![\s.?!])\s[.?!]$")


@lru_cache(maxsize=8192)
def sentences(text: str) -> tuple[Span, ...]:
    """Return the spans of sentences that can be moved.

    They are the sentences of `core.text.sentences.prose`, merged where it splits after an abbreviation with a separate
    full stop, before a lower-case letter (unless the whole text is lower case), or inside a quotation or brackets that
    close on the same line. A separate mark (`. ' Then`) stays with what it closes or opens.
    """
    out: list[Span] = []
    small = text == text.lower()
    for first, end in prose(text):
        start = first
        if out and (mark := _LEFT.match(text, first)) and _closes(text, out, mark.group()):
            out[-1] = (out[-1][0], mark.end())
            start = mark.end() + len(text[mark.end() : end]) - len(text[mark.end() : end].lstrip())
        if out and _runs_on(text, out[-1], start, small):
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return tuple(out)


def _closes(text: str, before: list[Span], mark: str) -> bool:
    """Return whether the mark closes something: a closing mark always does, an ambiguous one if the last sentence with
    such a mark leaves it open."""
    if mark in ('"', "''"):
        return _open(plain(text[slice(*before[-1])]), '"', '"')
    if mark != "'":
        return True
    found = next((marks for span in reversed(before[-4:]) if (marks := SINGLE.findall(text, *span))), [])
    return len(found) % 2 == 1


def plain(text: str) -> str:
    """Return the text with all double quotation marks in one form."""
    return text.replace("``", '"').replace("''", '"')


def _runs_on(text: str, before: Span, start: int, small: bool) -> bool:
    """Return whether the sentence before continues at `start`."""
    if "\n" in text[before[1] : start]:
        return False
    done = plain(text[before[0] : before[1]])
    apart = bool(_APART.search(done))
    first = re.match(r"\w+", text[start:])
    if _ORDINAL.search(done) and first and first[0].casefold() not in STARTERS:
        return True
    if apart and abbreviated(done, text[start : start + 48], small):
        return True
    if text[start].islower() and not small and not apart:
        return True
    line = plain(text[start:].partition("\n")[0])
    return any(_open(done, *mark) and _open_before_closing(line, *mark) for mark in _MARKS)


def abbreviated(done: str, following: str, small: bool) -> bool:
    """Return whether the final full stop of `done`, separated or not, belongs to an abbreviation or initial."""
    joined = done[:-1].rstrip() + ". "
    return ends_no_sentence(joined + following, len(joined) - 2, len(joined) - 1, 0, small)


def _open(done: str, opening: str, closing: str) -> bool:
    if opening == closing:
        return done.count(opening) % 2 == 1 and not done.endswith(f".{closing}")
    return done.rfind(opening) > done.rfind(closing)


def _open_before_closing(line: str, opening: str, closing: str) -> bool:
    """Return whether the mark closes on this line before it opens again."""
    end = line.find(closing)
    return end >= 0 and (opening == closing or opening not in line[:end])
