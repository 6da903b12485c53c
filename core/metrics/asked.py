"""What metrics have in common that ask a model one or more questions an item: progress counted in items, the best reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from core.data import Item, Value
from core.metrics.base import Cancelled, Progress

Q = TypeVar("Q")
Tick = Callable[[int, int], None]
"""Told how much of the work is done, and of how much, in any unit; may raise Cancelled."""
TRUNCATED = "a text is longer than the model reads; part of it was left out"
NO_REFERENCE = "every reference is empty"


class Answer(NamedTuple):
    """A number for one question; `truncated`: not all of its texts was read."""

    value: float
    truncated: bool


def ticking(progress: Progress, items: int) -> Tick:
    """A tick that tells `progress` of items; raises Cancelled when it asks to stop."""

    def tick(done: int, of: int) -> None:
        if not progress(done * items // max(1, of)):
            raise Cancelled

    return tick


def answers(
    groups: Sequence[Sequence[Q]], ask: Callable[[list[Q], Tick], Sequence[Answer]], progress: Progress
) -> list[list[Answer]]:
    """The answers to the questions of each item; equal questions are asked once."""
    distinct = list(dict.fromkeys(q for group in groups for q in group))
    tick = ticking(progress, len(groups))
    tick(0, 1)
    known = dict(zip(distinct, ask(distinct, tick), strict=True)) if distinct else {}
    return [[known[q] for q in group] for group in groups]


def written(texts: Iterable[str]) -> dict[int, str]:
    """The texts with more than white space in them, by their places from 0: empty references are passed over."""
    return {at: text for at, text in enumerate(texts) if text.strip()}


def best(found: Sequence[Answer], places: Iterable[int] = (0,)) -> Value:
    """The value of the best answer, the first of equals; `condition` says which, by its place among the references.

    `places` has one entry an answer. Undefined where there is no answer, as where every reference is empty.
    """
    at = max(zip(found, places, strict=True), key=lambda one: one[0].value, default=None)
    if at is None:
        return Value(None, "undefined", NO_REFERENCE)
    answer, place = at
    return Value(answer.value, reason=TRUNCATED if answer.truncated else "", parts={"condition": float(place)})


def mean(found: Sequence[Answer]) -> Answer:
    """The mean of some answers; cut where one was."""
    return Answer(sum(a.value for a in found) / len(found), any(a.truncated for a in found))


def source_of(item: Item) -> str:
    """The source of an item that is known to have one."""
    return item.source or ""
