"""Helpers for metrics that ask a model one or more questions per item, and take the best reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from core.data import Item, Value
from core.progress import Progress

Q = TypeVar("Q")
A = TypeVar("A")
TRUNCATED = "a text exceeds the model's maximum length and was cut"
NO_REFERENCE = "all references are empty"


class ModelAnswer(NamedTuple):
    """The score for one question; `truncated` is True if a text was cut."""

    value: float
    truncated: bool


def answers(
    groups: Sequence[Sequence[Q]], ask: Callable[[list[Q], Progress], Sequence[A]], progress: Progress
) -> list[list[A]]:
    """Return the answers to the questions of each item; equal questions are asked once."""
    distinct = list(dict.fromkeys(q for group in groups for q in group))
    progress(0)
    known = dict(zip(distinct, ask(distinct, progress), strict=True)) if distinct else {}
    return [[known[q] for q in group] for group in groups]


def best_answers(
    items: Sequence[Item],
    questions: Callable[[Item, str], Sequence[Q]],
    ask: Callable[[list[Q], Progress], Sequence[tuple[float, bool]]],
    progress: Progress,
    *,
    source: bool = False,
) -> list[Value]:
    """Return the value of the best reference (or of the source) of each item: the mean answer to `questions(item, text)`."""
    texts = [compared_with(item, source) for item in items]
    asked = [
        {at: questions(item, text) for at, text in of_item.items()} for item, of_item in zip(items, texts, strict=True)
    ]
    answered = answers([[q for some in of_item.values() for q in some] for of_item in asked], ask, progress)
    values = []
    for of_item, item_answers in zip(asked, map(iter, answered), strict=True):
        values.append(best({at: mean([next(item_answers) for _ in some]) for at, some in of_item.items()}))
    return values


def compared_with(item: Item, source: bool = False) -> dict[int, str]:
    """Return the references that are not blank by their index, or the source as number 0."""
    if source:
        return {0: item.source or ""}
    return {at: text for at, text in enumerate(item.references) if text.strip()}


def best(by_condition: Mapping[int, ModelAnswer]) -> Value:
    """Return the value of the best answer (the first, if tied); `parts["condition"]` is its key, the index of a reference.

    Undefined if there are no answers, that is, if all references are empty.
    """
    if not by_condition:
        return Value(None, "undefined", NO_REFERENCE)
    at = max(by_condition, key=lambda at: by_condition[at].value)
    return Value(
        by_condition[at].value, reason=TRUNCATED if by_condition[at].truncated else "", parts={"condition": float(at)}
    )


def mean(model_answers: Sequence[tuple[float, bool]]) -> ModelAnswer:
    """Return the mean of some answers (`ModelAnswer`), truncated if any is."""
    return ModelAnswer(sum(v for v, _ in model_answers) / len(model_answers), any(cut for _, cut in model_answers))
