"""The positioned error test (He et al. 2023, section 5.1): ten tokens in a row spoilt at the start, in the middle or at the end.

The place is the point: a metric that reads the last token of a text overlooks what is wrong before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from random import Random
from typing import Literal

from core.stress.base import Outcome, Refused, changed
from core.stress.noise.base import Beside, Edit, Level, Need, Noise
from core.text.words import Unit, units, words

SPAN = 10
SHORTEST = 5
"""Tokens: of a shorter text nearly all would be spoilt, wherever the span is put."""
PLACES = (Level(1, "start"), Level(2, "middle"), Level(3, "end"))
Kind = Literal["random", "shuffle"]


@lru_cache(maxsize=8)
def vocabulary(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The different words of the texts as they are written, in the order of their code points."""
    return tuple(sorted({text[start:end] for text in texts for start, end in words(text)}))


def _spoilt(kind: Kind, text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    found = units(text)
    if len(found) < SHORTEST:
        return Refused(f"fewer than {SHORTEST} tokens")
    size = min(SPAN, len(found))
    first = {1: 0, 2: (len(found) - size) // 2, 3: len(found) - size}[int(strength)]
    span = found[first : first + size]
    old = [text[u.start : u.end] for u in span]
    if kind == "shuffle":
        new = random.sample(old, size)
        if new == old:
            new = [*old[1:], old[0]]
    else:
        there = vocabulary(beside.texts)
        if len(there) < 2 * SPAN:
            return Refused(f"the texts hold only {len(there)} different words to draw from")
        new = random.sample(there, SPAN)[:size]
    return changed(text, [_in_place(text, span, new)])


def _in_place(text: str, span: Sequence[Unit], new: Sequence[str]) -> Edit:
    """The tokens put where those of the span stood, with the white space that is there, and a space where two words would become one."""
    out, before = [], text[: span[0].start]
    for i, (unit, token) in enumerate(zip(span, new, strict=True)):
        gap = text[span[i - 1].end : unit.start] if i else ""
        out.append((gap or _apart(before, token)) + token)
        before = token
    return Edit(span[0].start, span[-1].end, "".join(out) + _apart(before, text[span[-1].end :]))


def _apart(left: str, right: str) -> str:
    """A space where the end of one text and the beginning of the next would be read as one word."""
    left, right = left[-1:].strip(), right[:1].strip()
    return " " if left and right and len(units(left + right)) == 1 else ""


def _noise(kind: Kind, label: str, help_: str, needs: frozenset[Need]) -> Noise:
    return Noise(
        name=f"positioned-{kind}",
        family="positioned",
        label=label,
        aspect="special",
        paper="He et al. 2023, section 5.1",
        help=f"{help_} at the start, in the middle or at the end: {SPAN} tokens in a row, all of a text that has fewer; texts of "
        f"fewer than {SHORTEST} are left out.",
        make=partial(_spoilt, kind),
        levels=PLACES,
        graded=False,
        needs=needs,
    )


RANDOM = _noise(
    "random",
    "Random tokens at a place",
    "Words drawn from the vocabulary of all these texts stand",
    frozenset({"others"}),
)
SHUFFLE = _noise("shuffle", "Shuffled tokens at a place", "Tokens are shuffled", frozenset())
