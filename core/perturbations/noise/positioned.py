"""Positioned error test (He et al. 2023, section 5.1): ten consecutive tokens are corrupted at the start, middle or end.

A metric that reads the last token of a text overlooks errors before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from random import Random
from typing import Literal

from core.perturbations.noise.base import Noise, NoiseContext, NoiseLevel, NoiseNeed
from core.text.edits import Edit, Outcome, Refused, changed
from core.text.words import TextUnit, units, words

SPAN = 10
SHORTEST = 5
"""Minimum number of tokens; in a shorter text, the span would cover nearly everything at every position."""
PLACES = (NoiseLevel(1, "start"), NoiseLevel(2, "middle"), NoiseLevel(3, "end"))
_Kind = Literal["random", "shuffle"]


@lru_cache(maxsize=8)
def vocabulary(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct words of the texts as written, sorted by code points."""
    return tuple(sorted({text[start:end] for text in texts for start, end in words(text)}))


def _spoilt(kind: _Kind, text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    text_units = units(text)
    if len(text_units) < SHORTEST:
        return Refused(f"fewer than {SHORTEST} tokens")
    size = min(SPAN, len(text_units))
    first = {1: 0, 2: (len(text_units) - size) // 2, 3: len(text_units) - size}[int(strength)]
    span = text_units[first : first + size]
    old = [text[u.start : u.end] for u in span]
    if kind == "shuffle":
        new = random.sample(old, size)
        if new == old:
            new = [*old[1:], old[0]]
    else:
        known_words = vocabulary(context.texts)
        if len(known_words) < 2 * SPAN:
            return Refused(f"the texts contain only {len(known_words)} different words to draw from")
        new = random.sample(known_words, SPAN)[:size]
    return changed(text, [_in_place(text, span, new)])


def _in_place(text: str, span: Sequence[TextUnit], new: Sequence[str]) -> Edit:
    """Return the edit that puts the tokens in place of the span. White space stays; a space is added where two words would
    merge."""
    out, before = [], text[: span[0].start]
    for i, (unit, token) in enumerate(zip(span, new, strict=True)):
        gap = text[span[i - 1].end : unit.start] if i else ""
        out.append((gap or _apart(before, token)) + token)
        before = token
    return Edit(span[0].start, span[-1].end, "".join(out) + _apart(before, text[span[-1].end :]))


def _apart(left: str, right: str) -> str:
    """Return a space if the end of one text and the start of the next would merge into one word."""
    left, right = left[-1:].strip(), right[:1].strip()
    return " " if left and right and len(units(left + right)) == 1 else ""


def _noise(kind: _Kind, label: str, help_: str, needs: frozenset[NoiseNeed]) -> Noise:
    return Noise(
        name=f"positioned-{kind}",
        label=label,
        aspect="special",
        help=f"{help_} at the start, in the middle or at the end: {SPAN} consecutive tokens, or the whole text if it has fewer. "
        f"Texts of fewer than {SHORTEST} tokens are refused.",
        make=partial(_spoilt, kind),
        levels=PLACES,
        graded=False,
        needs=needs,
    )


RANDOM = _noise(
    "random",
    "Random tokens at one position",
    "Replaces tokens with random words of all these texts",
    frozenset({"others"}),
)
SHUFFLE = _noise("shuffle", "Shuffled tokens at one position", "Shuffles tokens", frozenset())
