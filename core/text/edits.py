"""Edits of a text: replaced ranges of code points, the resulting text, or the reason for refusing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Replace the code points `start:end` of the original with `new`; start == end for an insertion."""

    start: int
    end: int
    new: str


class Change(NamedTuple):
    """A perturbed text and its edits, ordered and without overlap, in offsets of the original."""

    text: str
    edits: tuple[Edit, ...]


class Refused(NamedTuple):
    """The reason why a text was not perturbed."""

    reason: str


Outcome = Change | Refused


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits applied. Raises ValueError if they overlap, are out of order, or are out of range."""
    out, done = [], 0
    for start, end, new in edits:
        if not done <= start <= end <= len(text):
            raise ValueError(f"edit {start}:{end} after {done} in a text of {len(text)} characters")
        out += [text[done:start], new]
        done = end
    return "".join([*out, text[done:]])


def changed(text: str, edits: Iterable[Edit]) -> Outcome:
    """Return the change made by these edits, in any order. Edits that change nothing are dropped; refuse if none is
    left."""
    real = tuple(sorted(e for e in edits if text[e.start : e.end] != e.new))
    new = apply(text, real)
    return Change(new, real) if new != text else Refused("the text would stay the same")
