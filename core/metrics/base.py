"""What a metric declares and does. One metric (or one family) a file; `core.metrics.registry` finds them by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

from core.data import Item, SegmentKey, Value
from core.metrics.options import Option, Values

__all__ = [
    "Cancelled", "Company", "Metric", "MetricSpec", "Need", "Option", "Progress", "Values", "Work", "family", "no_progress"
]  # fmt: skip

Need = Literal[
    "source", "reference", "seq2seq", "encoder", "nli", "lm", "mlm", "unieval", "bleurt", "comet"
]  # texts of the item, then roles of core.models.roles
Progress = Callable[[int], bool]
"""Called with the number of items done so far; False asks the metric to stop early by raising `Cancelled`."""

Score = Callable[[Sequence[Item], Progress], list[Value]]
Company = Sequence[tuple[SegmentKey, Item]]
"""All outputs of a dataset with the segments they belong to: equal texts of two segments are told apart."""


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
    package: str = ""  # a package that is not among the requirements, as one would install it
    perfect_on_copy: bool = True  # an output equal to its reference gets the best value of the scale


class Work(NamedTuple):
    """A metric under certain options: what signs its values, and what computes them; `on` and `signed` as `Metric.bind` and `Metric.signed`."""

    signature: Callable[[], str]
    score: Score
    on: Callable[[Company], Work] | None = None
    signed: Callable[[Sequence[Item]], str] | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric ready to run.

    `score(items, progress)` gives one `Value` an item, in order; an item it cannot score gets a status and a reason,
    and never disturbs the others. `signature()` names everything the values depend on. `under(values)` is the same
    metric with other values of its options, all of them given. `bind` computes the work for a company of items, where a
    value depends on the other items it is scored with (idf weights, for one); callers use `on`. `signed(items)` is the
    signature for these items, where their scripts decide how words are found; callers use `among`.
    """

    spec: MetricSpec
    signature: Callable[[], str]
    score: Score
    under: Callable[[Values], Metric] | None = None
    bind: Callable[[Company], Work] | None = None
    signed: Callable[[Sequence[Item]], str] | None = None

    @property
    def on(self) -> Callable[[Company], Metric] | None:
        """Return what binds this metric to a company, or None where values do not depend on other items.

        The bound metric keeps name, label, range and options, and is not bound again to what it scores; its signature names
        the company. Score the bound metric.
        """
        return None if self.bind is None else partial(_bound, self, self.bind)

    def among(self, company: Company) -> Metric:
        """Return the metric for these outputs: bound to them where values depend on them, and signed for their scripts."""
        if self.on:
            return self.on(company)
        if self.signed is None:
            return self
        sign, items = self.signed, [item for _, item in company]
        return replace(self, signature=lambda: sign(items), signed=None)


def family(
    spec: MetricSpec, make: Callable[[Values], Work], needs: Callable[[Values], frozenset[Need]] | None = None
) -> Metric:
    """A metric with options, under their defaults; `make` builds the work for any values, `needs` says what they need."""

    def under(values: Values) -> Metric:
        work = make(values)
        own = replace(spec, needs=needs(values)) if needs else spec
        return Metric(own, work.signature, work.score, under, work.on, work.signed)

    return under({option.name: option.default for option in spec.options})


def _bound(metric: Metric, bind: Callable[[Company], Work], company: Company) -> Metric:
    work = bind(company)
    return replace(metric, signature=work.signature, score=work.score, bind=None, signed=None)


def no_progress(done: int) -> bool:
    """For callers that neither watch nor cancel."""
    return True
