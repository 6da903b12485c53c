"""Jumbled word order. Any script that is written with spaces."""

from __future__ import annotations

from random import Random

from core.stress.base import Edit, Outcome, Perturbation, Refused, changed
from core.text.words import is_unspaced, words

TRIES = 8


def _shuffle(text: str, random: Random) -> Outcome:
    """The words change places; signs and white space stay where they are."""
    spans = [(start, end) for start, end in words(text) if not is_unspaced(text[start])]
    order = [text[start:end] for start, end in spans]
    if len(set(order)) < 3:
        return Refused("fewer than three different words")
    new = list(order)
    for _ in range(TRIES):
        random.shuffle(new)
        if new != order:
            break
    return changed(text, (Edit(start, end, word) for (start, end), word in zip(spans, new, strict=True)))


JUMBLE = Perturbation(
    name="jumble",
    family="jumble",
    phenomenon="Jumbled word order",
    kind="fluency",
    paper="Chen and Eger 2023, §3; Sai et al. 2021",
    help="All words in another order; punctuation stays",
    change=_shuffle,
    code="jumble",
)
