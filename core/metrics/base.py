"""What a metric declares and does. One metric (or one family) a file; `core.metrics.registry` finds them by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.data import Item, Value
from core.metrics.options import Option, Values

__all__ = ["Cancelled", "Metric", "MetricSpec", "Need", "Option", "Progress", "Values", "Work", "family", "no_progress"]

Need = Literal["source", "reference", "seq2seq"]
Progress = Callable[[int], bool]
"""Called with the number of items done so far; False asks the metric to stop early by raising `Cancelled`."""

Score = Callable[[Sequence[Item], Progress], list[Value]]


class Cancelled(Exception):  # noqa: N818  (an outcome, not an error)
    """The person who asked for the work no longer wants it."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """What is known of a metric without running it. Forms, command line and the common property tests all read it.

    `name` is what scores are stored under: the metric's own, or an expression with its options where they are not the
    default (`core.metrics.registry`).
    """

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


class Work(NamedTuple):
    """A metric under certain options: what signs its values, and what computes them."""

    signature: Callable[[], str]
    score: Score


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric ready to run.

    `score(items, progress)` gives one `Value` an item, in order; an item it cannot score gets a status and a reason,
    and never disturbs the others. `signature()` names everything the values depend on. `under(values)` is the same
    metric with other values of its options, all of them given.
    """

    spec: MetricSpec
    signature: Callable[[], str]
    score: Score
    under: Callable[[Values], Metric] | None = None


def family(spec: MetricSpec, make: Callable[[Values], Work]) -> Metric:
    """A metric with options, under their defaults; `make` builds the work for any values."""

    def under(values: Values) -> Metric:
        work = make(values)
        return Metric(spec, work.signature, work.score, under)

    return under({option.name: option.default for option in spec.options})


def no_progress(done: int) -> bool:
    """For callers that neither watch nor cancel."""
    return True
