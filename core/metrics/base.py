"""Types that every metric is declared with, and the description of external scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from core.data import Item, SegmentKey, Value
from core.errors import UserError
from core.formatting import format_count, format_duration
from core.metrics.options import Option, Values
from core.progress import Progress
from core.signature import EXTERNAL, external_metric

Need = Literal[
    "source", "reference", "seq2seq", "encoder", "nli", "lm", "mlm", "unieval", "bleurt", "comet", "judge"
]  # texts of the item, names of core.models.configs, and a judge (core.judges)
Score = Callable[[Sequence[Item], Progress], list[Value]]
AllOutputs = Collection[tuple[SegmentKey, Item]]
"""All outputs of a dataset with their segments, so that equal texts of two segments count separately. They may be read from storage
in each pass; outputs of a segment follow each other."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """Static facts about a metric, used by forms, the command line and the common property tests.

    Scores are stored under `name`: the metric's own name, or an expression with all options that differ from their
    defaults (`core.metrics.registry`).
    """

    name: str
    label: str
    paper: str
    help: str
    range: tuple[float, float]
    needs: frozenset[Need]
    version: int = 1
    higher_is_better: bool = True
    options: tuple[Option, ...] = ()
    package: str = ""  # pip name of a package that is not among the requirements
    perfect_on_copy: bool = True  # an output equal to its reference gets the best value of the scale

    @property
    def needs_model(self) -> bool:
        """Return whether the metric runs a model in a process of this program. Judges run on a server."""
        return not self.needs <= {"source", "reference", "judge"}


class JudgeCost(NamedTuple):
    """What a judge takes for some outputs: calls, tokens, seconds, and the price in the currency of the setting; None: not known."""

    calls: float
    tokens_in: float
    tokens_out: float
    seconds: float
    price: float | None

    def sentence(self, label: str) -> str:
        """Return for example "Judge MQM: 200 calls, about 130,000 tokens, roughly 3 min"."""
        tokens = round(self.tokens_in + self.tokens_out, -2)
        price = "" if self.price is None else f", price {self.price:.2f}"
        calls = format_count(round(self.calls), "call")
        return f"{label}: {calls}, about {tokens:,.0f} tokens, roughly {format_duration(self.seconds)}{price}"


class AsksJudge(Protocol):
    """What a metric that asks a judge says of it before it starts. All raise `UserError` if the judge is not configured."""

    @property
    def name(self) -> str: ...
    @property
    def host(self) -> str: ...  # that texts are sent to
    @property
    def is_local(self) -> bool: ...  # whether this is the same machine
    @property
    def batch(self) -> int: ...  # outputs that are scored together at least, so that the judge is busy

    def cost(self, items: Sequence[Item]) -> JudgeCost:
        """Return the estimated cost of scoring these items."""
        ...


class MetricEnded(UserError):  # noqa: N818  (a state, not a fault)
    """Raised by `Metric.score` if no further texts are to be tried. `finished` has the values that are complete."""

    finished: Mapping[Item, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric ready to run.

    - `score(items, progress)` returns one `Value` per item, in order. An item that cannot be scored gets a status and a
      reason and does not affect the others.
    - `signature()` names everything the values depend on.
    - `with_options(values)` returns the same metric with other options; all options must be given.
    - `fit(outputs)` exists where a value depends on the other outputs, for example through idf weights. Call `for_outputs`.
    - `signature_for(items)` exists where the scripts of the items decide how words are found. Call `for_outputs`.
    - `judge` exists where the metric asks a judge, which is a server.
    """

    spec: MetricSpec
    signature: Callable[[], str]
    score: Score
    fit: Callable[[AllOutputs], Metric] | None = None
    signature_for: Callable[[Sequence[Item]], str] | None = None
    with_options: Callable[[Values], Metric] | None = None
    judge: AsksJudge | None = None

    def for_outputs(self, outputs: AllOutputs) -> Metric:
        """Return the metric fitted on these outputs if values depend on them, with the signature for their scripts.

        It keeps name, label, range and options; the signature of a fitted metric names the outputs.
        """
        if self.fit:
            fitted = self.fit(outputs)
            return replace(self, signature=fitted.signature, score=fitted.score, fit=None, signature_for=None)
        if self.signature_for is None:
            return self
        sign, items = self.signature_for, [item for _, item in outputs]
        return replace(self, signature=lambda: sign(items), signature_for=None)


def texts_compared(against: str) -> frozenset[Need]:
    """Return what a metric needs that compares with the source, the reference, or (any other word) both."""
    texts: dict[str, frozenset[Need]] = {"reference": frozenset({"reference"}), "source": frozenset({"source"})}
    return texts.get(against, frozenset({"source", "reference"}))


def family(spec: MetricSpec, make: Callable[[Values], Metric]) -> Metric:
    """Return the metric that `make` returns for the default options of `spec`.

    `make(values)` may change the texts and models it requires, and its range.
    """

    def with_options(values: Values) -> Metric:
        return replace(make(values), with_options=with_options)

    return with_options({option.name: option.default for option in spec.options})


MARK = "external"
"""Added in brackets to the label of an external score."""


def is_external(stored: str) -> bool:
    """Return whether scores stored under this name are external scores."""
    return stored.startswith(external_metric(""))


def name_of(stored: str) -> str:
    """Return the name without the prefix of external scores."""
    return stored.removeprefix(external_metric(""))


def describe(stored: str, signature: str) -> MetricSpec:
    """Return the spec of an external score. Without a signature, higher is assumed to be better."""
    parts = signature.split("|")
    facts = dict(p.split(":", 1) for p in parts[1:] if ":" in p) if parts[0] == EXTERNAL else {}
    name = name_of(stored)
    file, digest = facts.get("file", ""), facts.get("sha256", "")[:12]
    column = f", column {facts['column']}" if "column" in facts else ""
    origin = f", from {file}{column} (sha256 {digest}…)" if file else ""
    return MetricSpec(
        stored, f"{name} ({MARK})", "", f"External score, computed by another program{origin}", (-math.inf, math.inf),
        frozenset(), higher_is_better=facts.get("direction") != "lower", perfect_on_copy=False,
    )  # fmt: skip
