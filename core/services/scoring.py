"""Scoring a dataset with several metrics: only what is not known yet, stored piece by piece as it is done."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from core.data import Dataset, Item, Value
from core.errors import UserError
from core.metrics.base import Cancelled, Metric, MetricSpec, Progress
from core.signature import content_key

log = logging.getLogger(__name__)

FIRST_CHUNK = 8
LARGEST_CHUNK = 1024
QUICK_SECONDS, SLOW_SECONDS = 1.0, 10.0  # a chunk done sooner is doubled, one done later is halved
GIVE_UP_AFTER = 5  # chunks that fail one after the other


class Cache(Protocol):
    """The part of `core.ports.Scores` that scoring needs."""

    def known(self, signature: str, keys: Collection[str]) -> set[str]: ...
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None: ...


class Memory:
    """The scores of one run, by signature and content key."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], Value] = {}

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        return {key for key in keys if (signature, key) in self.values}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        self.values.update({(signature, key): value for key, value in values.items()})


class Doing(NamedTuple):
    """How far the work is. `done` and `total` count items over all metrics, known ones included; an item is a text scored once.

    `seconds_left` is an estimate for the metric at work alone, None before its first item is done.
    """

    done: int
    total: int
    metric: str
    metric_done: int
    metric_total: int
    seconds_left: float | None

    def sentence(self) -> str:
        """For people: "BARTScore · 12 of 160 · about 2 min left"."""
        text = f"{self.metric} · {self.metric_done} of {self.metric_total}"
        if self.seconds_left is None or self.metric_done == self.metric_total:
            return text
        minutes, seconds = divmod(math.ceil(self.seconds_left), 60)
        return f"{text} · about {f'{minutes + (seconds > 30)} min' if minutes else f'{seconds} s'} left"


class Scored(NamedTuple):
    """What became of one metric: items scored now, items known before, items that failed, and the first reason why."""

    metric: str
    signature: str
    new: int
    known: int
    failed: int
    reason: str


OnProgress = Callable[[Doing], bool]
"""Told how far the work is; False asks to stop."""


def keep_going(doing: Doing) -> bool:
    """For callers that neither watch nor cancel."""
    return True


def score_dataset(
    dataset: Dataset,
    metrics: Sequence[Metric],
    scores: Cache,
    on_progress: OnProgress = keep_going,
    *,
    chunk: int = FIRST_CHUNK,
) -> list[Scored]:
    """Score every output with every metric, through `scores`; equal texts are scored once.

    Each chunk is stored as it is done, so that work which was broken off goes on where it stopped. Chunks start at `chunk`
    items and grow while they are quick. An item without the source or reference a metric needs gets status "needs". When a
    metric raises, the items of that chunk get status "error" and the others go on; a `UserError` ends the metric.
    Raises `Cancelled` as soon as `on_progress` returns False between two items, and `Unavailable` when `scores` cannot
    take a chunk now; what was stored stays.
    """
    items = {content_key(*item): item for _, item in dataset.items()}
    total = len(items) * len(metrics)
    results = []
    for i, metric in enumerate(in_company(m, dataset) for m in metrics):
        results.append(_score_metric(items, metric, scores, on_progress, i * len(items), total, chunk))
    return results


def in_company(metric: Metric, dataset: Dataset) -> Metric:
    """The metric for the outputs of a dataset: itself, or what it is among them where its values depend on the others."""
    return metric.on([(key.segment, item) for key, item in dataset.items()]) if metric.on else metric


def _score_metric(
    items: Mapping[str, Item],
    metric: Metric,
    scores: Cache,
    on_progress: OnProgress,
    before: int,
    total: int,
    chunk: int,
) -> Scored:
    signature = metric.signature()
    known = scores.known(signature, items.keys())
    todo = [key for key in items if key not in known]
    started = time.monotonic()

    def tell(new: int) -> bool:
        left = (time.monotonic() - started) / new * (len(todo) - new) if new else None
        done = len(known) + new
        return on_progress(Doing(before + done, total, metric.spec.label, done, len(items), left))

    def progress_from(start: int) -> Progress:
        return lambda done: tell(start + done)

    at, size, failures, failed, reason = 0, chunk, 0, 0, ""
    while True:
        if not tell(at):
            raise Cancelled
        if at >= len(todo):
            return Scored(metric.spec.name, signature, len(todo) - failed, len(known), failed, reason)
        part, began = todo[at : at + size], time.monotonic()
        try:
            values = values_of(metric, [items[key] for key in part], progress_from(at))
            if metric.signature() != signature:
                raise UserError("the model was exchanged while it was scoring", hint="Score again")
            failures = 0
        except Cancelled:
            raise
        except Exception as error:
            if not isinstance(error, UserError):
                log.exception("%s failed on %d items", metric.spec.name, len(part))
                if len(part) > chunk:  # smaller chunks, so that few items suffer for the one at fault
                    size = chunk
                    continue
            failures += 1
            if isinstance(error, UserError) or failures == GIVE_UP_AFTER:
                part = todo[at:]
            why = _reason(error)
            reason = reason or why
            failed += len(part)
            values = [Value(None, "error", why)] * len(part)
        took = time.monotonic() - began
        scores.put(metric.spec.name, signature, dict(zip(part, values, strict=True)), took)
        at += len(part)
        if took < QUICK_SECONDS:
            size = min(2 * size, max(chunk, LARGEST_CHUNK))
        elif took > SLOW_SECONDS:
            size = max(1, size // 2)


def values_of(metric: Metric, items: Sequence[Item], progress: Progress) -> list[Value]:
    """One storable value an item: "needs" where the item lacks a text, "undefined" where the metric gave no finite number."""
    lacking = [missing(metric.spec, item) for item in items]
    able = [item for item, lack in zip(items, lacking, strict=True) if not lack]
    scored = metric.score(able, progress) if able else []
    if len(scored) != len(able):
        raise RuntimeError(f"{metric.spec.name} gave {len(scored)} values for {len(able)} items")
    given = iter(scored)
    return [Value(None, "needs", lack) if lack else _finite(next(given)) for lack in lacking]


def missing(spec: MetricSpec, item: Item) -> str:
    """Which text the metric needs and the item lacks, in words, or ""."""
    if "source" in spec.needs and item.source is None:
        return f"{spec.label} needs a source text, and this segment has none"
    if "reference" in spec.needs and not item.references:
        return f"{spec.label} needs a reference, and this segment has none"
    return ""


def _finite(value: Value) -> Value:
    parts = {name: number for name, number in value.parts.items() if math.isfinite(number)}
    if value.status == "ok" and (value.value is None or not math.isfinite(value.value)):
        return Value(None, "undefined", f"the metric gave no number ({value.value})", parts, value.detail)
    return Value(value.value if value.status == "ok" else None, value.status, value.reason, parts, value.detail)


def _reason(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    first = str(error).partition("\n")[0][:200]
    return f"the metric stopped on an unexpected error ({type(error).__name__}{': ' + first if first else ''}); see worker.log"
