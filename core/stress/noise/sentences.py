"""Sentences that change places, and sentences of other texts in their stead; in any script."""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import Beside, Level, Noise, edited, some
from core.stress.noise.pairs import pairs
from core.text.abbreviations import ends_no_sentence
from core.text.sentences import Span, prose

LEVELS = tuple(Level(s, f"{s:.0%}") for s in (0.25, 0.5, 0.75, 1.0))
"""For what a text has few of."""

_LEFT = re.compile(r"""(?:''|["'’”»)\]])(?=\s)""")
"""A mark that white space sets apart from the sentence before."""
_SINGLE = re.compile(
    r"""(?<!\w)[`'‘](?=\w)(?!(?:s|m|ll|re|ve|d|em|til|\d0s)\b)|(?<=[^\ws\s])'(?!\w)|(?<=\s)`(?=\s)|(?<!s )(?<=\s)'(?=\s)|(?:(?<=says )|(?<=adds )|(?<=\bwas )|(?<=\bis )|(?<=\bas )|(?<=this ))'(?=\s)"""
)
"""Single quotation marks; an apostrophe between letters, before 's and behind an s is none."""
_MARKS = (("(", ")"), ("[", "]"), ("“", "”"), ('"', '"'))
_APART = re.compile(r"(?<![\s.?!])\s[.?!]$")


@lru_cache(maxsize=8192)
def sentences(text: str) -> tuple[Span, ...]:
    """The sentences that can be moved: those of `core.text.sentences.prose`, joined again where it cuts after an abbreviation
    whose point is set apart, before a small letter (unless all letters are), or inside a quotation or brackets that close in
    the same line; a mark set apart (`. ' Then`) stays with what it closes or opens."""
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
    """True for a mark of closing, and for one of either kind where the last sentence that has such a mark leaves it open."""
    if mark in ('"', "''"):
        return _open(_plain(text[slice(*before[-1])]), '"', '"')
    if mark != "'":
        return True
    found = next((marks for span in reversed(before[-4:]) if (marks := _SINGLE.findall(text, *span))), [])
    return len(found) % 2 == 1


def _plain(text: str) -> str:
    """Return the text with one form of double quotation marks."""
    return text.replace("``", '"').replace("''", '"')


def _runs_on(text: str, before: Span, start: int, small: bool) -> bool:
    """True where the sentence before goes on at `start`."""
    if "\n" in text[before[1] : start]:
        return False
    done = _plain(text[before[0] : before[1]])
    apart = bool(_APART.search(done))
    if apart and abbreviated(done, text[start : start + 48], small):
        return True
    if text[start].islower() and not small and not apart:
        return True
    line = _plain(text[start:].partition("\n")[0])
    return any(_open(done, *mark) and _open_before_closing(line, *mark) for mark in _MARKS)


def abbreviated(done: str, following: str, small: bool) -> bool:
    """Return whether the point at the end of `done`, set apart or not, is that of an abbreviation or initial."""
    joined = done[:-1].rstrip() + ". "
    return ends_no_sentence(joined + following, len(joined) - 2, len(joined) - 1, 0, small)


def _open(done: str, opening: str, closing: str) -> bool:
    if opening == closing:
        return done.count(opening) % 2 == 1 and not done.endswith(f".{closing}")
    return done.rfind(opening) > done.rfind(closing)


def _open_before_closing(line: str, opening: str, closing: str) -> bool:
    """True where the mark closes in the rest of the line before it opens anew."""
    end = line.find(closing)
    return end >= 0 and (opening == closing or opening not in line[:end])


def _switch(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    spans = sentences(text)
    found = pairs(spans, lambda span: text[slice(*span)], random)
    chosen = some(found, strength, random)
    edits = [Edit(*a, text[slice(*b)]) for pair in chosen for a, b in (pair, pair[::-1])]
    return edited(text, edits, "fewer than two different sentences")


def _replace(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    spans = sentences(text)
    if not spans:
        return Refused("no sentence in it")
    others = beside.others(text)
    if not others:
        return Refused("no other text in the set to take a sentence from")
    own = {text[slice(*span)] for span in spans}
    picked = random.sample(others, min(len(others), len(spans) + 8))
    strange = [new for other in picked if (new := [s for a, b in sentences(other) if (s := other[a:b]) not in own])]
    if not strange:
        return Refused("the other texts have no sentence that this one lacks")
    new = [random.choice(strange[i % len(strange)]) for i in range(len(spans))]
    chosen = some(list(zip(spans, new, strict=True)), strength, random)
    return edited(text, [Edit(*span, sentence) for span, sentence in chosen], "no sentence in it")


SWITCHING = Noise(
    name="sentence-switching",
    family="sentences",
    label="Sentence switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of sentences change places; the white space between sentences stays. Strength: the share of the pairs there "
    "can be",
    make=_switch,
    levels=LEVELS,
    version=2,
    switching=True,
)
REPLACEMENT = Noise(
    name="sentence-replacement",
    family="sentences",
    label="Sentence replacement",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random sentences give way to random sentences of other texts of the set. Strength: the share of the sentences",
    make=_replace,
    levels=LEVELS,
    version=2,
    needs=frozenset({"others"}),
)
