"""Sentences that change places, and sentences of other texts in their stead; in any script."""

from __future__ import annotations

import re
from functools import lru_cache
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import Beside, Level, Noise, edited, some
from core.stress.noise.pairs import pairs
from core.text.sentences import Span, rule

LEVELS = tuple(Level(s, f"{s:.0%}") for s in (0.25, 0.5, 0.75, 1.0))
"""For what a text has few of."""

_ABBREVIATED = re.compile(r"(?<!\w)(?:Mr|Mrs|Ms|Dr|Prof|Gen|Sgt|Lt|Capt|Sen|Rep|Gov|St|vs|[A-HJ-Z])\.$")
_LEFT = re.compile(r"""(?:''|["'’”»)\]])(?=\s)""")
"""A closing mark that white space tore from the sentence it closes."""
_MARKS = (("(", ")"), ("[", "]"), ("“", "”"), ('"', '"'))


@lru_cache(maxsize=8192)
def sentences(text: str) -> tuple[Span, ...]:
    """The sentences that can be moved: those of `core.text.sentences.rule`, joined again where it cuts after a title or an
    initial, before a small letter (unless all letters are), or inside a quotation or brackets that close in the same line; a
    closing mark set apart (`. ' Then`) stays with what it closes."""
    out: list[Span] = []
    small = text.islower()
    for first, end in rule(text):
        start = first
        if out and (mark := _LEFT.match(text, first)) and _closes(text, out[-1], mark.group()):
            out[-1] = (out[-1][0], mark.end())
            start = mark.end() + len(text[mark.end() : end]) - len(text[mark.end() : end].lstrip())
        if out and _runs_on(text, out[-1], start, small):
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return tuple(out)


def _closes(text: str, before: Span, mark: str) -> bool:
    return mark != '"' or _open(text[slice(*before)], '"', '"')


def _runs_on(text: str, before: Span, start: int, small: bool) -> bool:
    """True where the sentence before goes on at `start`."""
    if "\n" in text[before[1] : start]:
        return False
    done = text[before[0] : before[1]]
    if _ABBREVIATED.search(done) or (text[start].islower() and not small):
        return True
    line = text[start:].partition("\n")[0]
    return any(_open(done, *mark) and _open_before_closing(line, *mark) for mark in _MARKS)


def _open(done: str, opening: str, closing: str) -> bool:
    if opening == closing:
        return done.count(opening) % 2 == 1
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
    needs=frozenset({"others"}),
)
