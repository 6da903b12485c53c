"""Turn what a metric returns into values that can be stored."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Metric, MetricSpec
from core.progress import Progress


class WrongCountError(RuntimeError):
    """A metric returned the wrong number of values, so they cannot be assigned to texts."""


def values_of(metric: Metric, items: Sequence[Item], progress: Progress) -> list[Value]:
    """Return one storable value per item: "needs" if the item lacks a text, "undefined" if the metric gave no finite value."""
    lacking = [missing(metric.spec, item) for item in items]
    able = [item for item, lack in zip(items, lacking, strict=True) if not lack]
    scored = metric.score(able, lambda share: progress(share * len(able) / len(items))) if able else []
    if len(scored) != len(able):
        raise WrongCountError(f"{metric.spec.name} returned {len(scored)} values for {len(able)} items")
    given = iter(scored)
    return [Value(None, "needs", lack) if lack else _finite(next(given)) for lack in lacking]


def missing(spec: MetricSpec, item: Item) -> str:
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
