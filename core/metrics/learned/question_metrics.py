"""Helpers for metrics that ask a model one or more questions per item, and take the best reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from core.data import Item, Value
from core.progress import Progress

Q = TypeVar("Q")
TRUNCATED = "a text exceeds the model's maximum length and was cut"
NO_REFERENCE = "all references are empty"


class ModelAnswer(NamedTuple):
    """The score for one question; `truncated` is True if a text was cut."""

    value: float
    truncated: bool


def answers(
    groups: Sequence[Sequence[Q]], ask: Callable[[list[Q], Progress], Sequence[ModelAnswer]], progress: Progress
) -> list[list[ModelAnswer]]:
    """Return the answers to the questions of each item; equal questions are asked once."""
    distinct = list(dict.fromkeys(q for group in groups for q in group))
    progress(0)
    known = dict(zip(distinct, ask(distinct, progress), strict=True)) if distinct else {}
    return [[known[q] for q in group] for group in groups]


def written(texts: Iterable[str]) -> dict[int, str]:
    """Return the texts that are not blank, by index from 0."""
    return {at: text for at, text in enumerate(texts) if text.strip()}


def best(found: Sequence[ModelAnswer], places: Iterable[int] = (0,)) -> Value:
    """Return the value of the best answer (the first, if tied); `parts["condition"]` is its index among the references.

    `places` has one index per answer. Undefined if there are no answers, that is, if all references are empty.
    """
    at = max(zip(found, places, strict=True), key=lambda one: one[0].value, default=None)
    if at is None:
        return Value(None, "undefined", NO_REFERENCE)
    answer, place = at
    return Value(answer.value, reason=TRUNCATED if answer.truncated else "", parts={"condition": float(place)})


def mean(found: Sequence[ModelAnswer]) -> ModelAnswer:
    """Return the mean of some answers, truncated if any is."""
    return ModelAnswer(sum(a.value for a in found) / len(found), any(a.truncated for a in found))


def source_of(item: Item) -> str:
    """Return the source of an item that has one."""
    return item.source or ""
