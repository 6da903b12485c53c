"""What a metric declares and does. One metric (or one family) a file; `core.metrics.registry` finds them by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.data import Item, Value

Need = Literal["source", "reference", "seq2seq"]
Progress = Callable[[int], bool]
"""Called with the number of items done so far; False asks the metric to stop early by raising `Cancelled`."""


class Cancelled(Exception):  # noqa: N818  (an outcome, not an error)
    """The person who asked for the work no longer wants it."""


class Option(NamedTuple):
    name: str
    default: object
    help: str


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """What is known of a metric without running it. Forms, command line and the common property tests all read it."""

    name: str
    label: str
    version: int
    paper: str
    help: str
    range: tuple[float, float]
    higher_is_better: bool
    needs: frozenset[Need]
    options: tuple[Option, ...] = ()
    perfect_on_copy: bool = True  # an output equal to its reference gets the best value of the scale


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric ready to run.

    `score(items, progress)` gives one `Value` an item, in order; an item it cannot score gets a status and a reason,
    and never disturbs the others. `signature()` names everything the values depend on.
    """

    spec: MetricSpec
    signature: Callable[[], str]
    score: Callable[[Sequence[Item], Progress], list[Value]]


def no_progress(done: int) -> bool:
    """For callers that neither watch nor cancel."""
    return True
