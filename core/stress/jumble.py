"""Jumbled word order. Any script that is written with spaces."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from core.stress.base import Edit, Outcome, Perturbation, Refused, changed
from core.text.words import is_unspaced, words

TRIES = 8
_CLITICS = frozenset("s re ve ll d m t".split())


def _shuffle(text: str, random: Random) -> Outcome:
    """The words change places; signs and white space stay where they are, and what an apostrophe ties to a number goes with it."""
    spans = _with_clitics(text, [(start, end) for start, end in words(text) if not is_unspaced(text[start])])
    order = [text[start:end] for start, end in spans]
    if len(set(order)) < 3:
        return Refused("fewer than three different words")
    new = list(order)
    for _ in range(TRIES):
        random.shuffle(new)
        if new != order:
            break
    return changed(text, (Edit(start, end, word) for (start, end), word in zip(spans, new, strict=True)))


def _with_clitics(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """1930’s as one word; no ’s that stands apart from its word."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if text[start - 1 : start] not in ("'", "’") or text[start:end].lower() not in _CLITICS:
            out.append((start, end))
        elif out and out[-1][1] == start - 1:
            out[-1] = (out[-1][0], end)
    return out


JUMBLE = Perturbation(
    name="jumble",
    family="jumble",
    phenomenon="Jumbled word order",
    kind="fluency",
    paper="Chen and Eger 2023, §3; Sai et al. 2021",
    help="All words in another order; punctuation stays",
    change=_shuffle,
    code="jumble",
    version=2,
)
