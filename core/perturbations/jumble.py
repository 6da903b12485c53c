"""Jumbled word order, for any script written with spaces (Chen and Eger 2023, §3; Sai et al. 2021)."""

from __future__ import annotations

import re
from random import Random

from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused, changed
from core.text.words import is_unspaced, words

TRIES = 8
_CLITICS = frozenset("s re ve ll d m t".split())
_TOGETHER = re.compile(r"[^\s—]+")
_BEFORE, _AFTER = frozenset("$€£¥#@"), frozenset("%‰°€£")


def _shuffle(text: str, random: Random) -> Outcome:
    """Shuffle the words; punctuation around them and white space stay in place. What is written together is one word:
    face-to-face, 1930’s, $20, 5%."""
    spans = [span for match in _TOGETHER.finditer(text) if (span := _bare(text, *match.span()))]
    order = [text[start:end] for start, end in spans]
    if len(set(order)) < 3:
        return Refused("fewer than three different words")
    new = list(order)
    for _ in range(TRIES):
        random.shuffle(new)
        if new != order:
            break
    return changed(text, (Edit(start, end, word) for (start, end), word in zip(spans, new, strict=True)))


def _bare(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without punctuation around it; None if it has no word, or is in a script without spaces."""
    found = words(text[start:end])
    if not found or any(is_unspaced(c) for c in text[start:end]):
        return None
    first, last = start + found[0][0], start + found[-1][1]
    if text[first - 1 : first] in ("'", "’") and text[first:last].lower() in _CLITICS:
        return None
    first -= text[first - 1 : first] in _BEFORE and first > start
    last += text[last : last + 1] in _AFTER and last < end
    return first, last


JUMBLE = Perturbation(
    name="jumble",
    phenomenon="Jumbled word order",
    kind="fluency",
    help="Shuffles all words; punctuation stays in place",
    change=_shuffle,
    version=3,
)
