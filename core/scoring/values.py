"""How far scoring is, the values of metrics in the form that can be stored, what scoring needs of a store of them, and a store in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from core.data import Item, Value
from core.errors import UserError
from core.formatting import format_count, format_duration
from core.metrics.base import Metric, MetricEnded, MetricSpec
from core.progress import Cancelled, Progress


class ScoringProgress(NamedTuple):
    """Progress of scoring. `done` and `total` count distinct items over all metrics, known ones included.

    `seconds_left` is an estimate for the whole job, None while it is unknown; without `whole`, for the current metric only. With
    `waiting`, all workers compute other jobs, and `seconds_left` counts from when the first returns to this one.
    """

    done: int
    total: int
    metric: str
    metric_done: int
    metric_total: int
    seconds_left: float | None
    whole: bool = True
    waiting: bool = False

    def sentence(self) -> str:
        """Return for example "BARTScore · 12 of 160 distinct outputs · about 2 min left"."""
        text = f"{self.metric} · {self.metric_done:,} of {format_count(self.metric_total, 'distinct output')}"
        if self.waiting:
            text += " · waiting for another job"
        if (
            self.seconds_left is None
            or self.done == self.total
            or (not self.whole and self.metric_done == self.metric_total)
        ):
            return text
        time = f"about {format_duration(self.seconds_left)}"
        scope = "" if self.whole else " for this metric"
        return f"{text}, then {time}{scope}" if self.waiting else f"{text} · {time} left{scope}"


OnScoring = Callable[[ScoringProgress], None]
"""Called with the progress of scoring; may raise `Cancelled` to stop it."""


class WrongCountError(RuntimeError):
    """A metric returned the wrong number of values, so they cannot be assigned to texts."""


def values_of(metric: Metric, items: Sequence[Item], progress: Progress) -> list[Value]:
    """Return one storable value per item: "needs" if the item lacks a text, "undefined" if the metric gave no finite value."""
    lacking = [missing_value(metric.spec, item) for item in items]
    able = [item for item, lack in zip(items, lacking, strict=True) if not lack]
    try:
        scored = metric.score(able, lambda share: progress(share * len(able) / len(items))) if able else []
    except (Cancelled, MetricEnded) as stopped:
        stopped.finished = {item: _finite(value) for item, value in stopped.finished.items()}
        raise
    if len(scored) != len(able):
        raise WrongCountError(f"{metric.spec.name} returned {len(scored)} values for {len(able)} items")
    remaining = iter(scored)
    return [Value(None, "needs", lack) if lack else _finite(next(remaining)) for lack in lacking]


def missing_value(spec: MetricSpec, item: Item) -> str:
    """Return which required text the item lacks, or ""."""
    if "source" in spec.needs and item.source is None:
        return f"{spec.label} needs a source, but this segment has none"
    if "reference" in spec.needs and not item.references:
        return f"{spec.label} needs a reference, but this segment has none"
    return ""


def _finite(value: Value) -> Value:
    parts = {name: number for name, number in value.parts.items() if math.isfinite(number)}
    if why := _unstorable(value.detail):
        return Value(None, "error", f"the metric returned details that cannot be stored ({why})")
    if value.status == "ok" and (value.value is None or not math.isfinite(value.value)):
        return Value(None, "undefined", f"the metric returned no finite number ({value.value})", parts, value.detail)
    return Value(value.value if value.status == "ok" else None, value.status, value.reason, parts, value.detail)


def _unstorable(detail: Mapping[str, Any] | None) -> str:
    """Return why the details of a value cannot be stored as JSON, or ""."""
    if detail is None:
        return ""
    constants: list[str] = []
    try:
        json.loads(json.dumps(dict(detail)), parse_constant=constants.append)
    except (TypeError, ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"
    return "NaN" if "NaN" in constants else ""


def reason_of(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    first = str(error).partition("\n")[0][:200]
    return f"the metric stopped with an unexpected error ({type(error).__name__.lstrip('_')}{': ' + first if first else ''}); see worker.log"


class ScoreCache(Protocol):
    """Values by signature and content key. `core.ports.scores.Scores` is the one in the database."""

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        """Return the keys with a stored value, without those of status "error", which are retried."""
        ...

    def values(
        self, signature: str, keys: Collection[str]
    ) -> dict[str, Value]: ...  # also errors; maybe without `detail`
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None: ...


class InMemoryScores:
    """A score cache in memory."""

    def __init__(self) -> None:
        self.by_signature: dict[str, dict[str, Value]] = {}

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        return {key for key, value in self.values(signature, keys).items() if value.status != "error"}

    def values(self, signature: str, keys: Collection[str]) -> dict[str, Value]:
        stored = self.by_signature.get(signature, {})
        return {key: stored[key] for key in keys if key in stored}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        self.by_signature.setdefault(signature, {}).update(values)
