"""Score a dataset with several metrics, skipping known values and storing new ones in chunks."""

from __future__ import annotations

import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from core.data import Dataset, Item, Output, Segment, Value, grouped
from core.errors import Unavailable, UserError
from core.metrics.base import Metric, MetricSpec
from core.progress import Cancelled, Progress
from core.signature import content_key

log = logging.getLogger(__name__)

FIRST_CHUNK = 8
LARGEST_CHUNK = 1024
QUICK_SECONDS, SLOW_SECONDS = 1.0, 10.0  # faster chunks are doubled, slower ones halved
GIVE_UP_AFTER = 5  # consecutive chunks in which all texts fail
WAIT_SECONDS = 0.3  # between checks for values of other workers


class ScoreCache(Protocol):
    """The part of `core.ports.scores.Scores` that scoring needs."""

    def known(self, signature: str, keys: Collection[str]) -> set[str]: ...
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None: ...


class Memory:
    """Scores in memory, by signature and content key."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], Value] = {}

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        return {key for key in keys if (signature, key) in self.values}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        self.values.update({(signature, key): value for key, value in values.items()})


class ScoringProgress(NamedTuple):
    """Progress of scoring. `done` and `total` count distinct items over all metrics, known ones included.

    `seconds_left` is an estimate for the current metric, None before its first item is done.
    """

    done: int
    total: int
    metric: str
    metric_done: int
    metric_total: int
    seconds_left: float | None

    def sentence(self) -> str:
        """Return for example "BARTScore · 12 of 160 · about 2 min left"."""
        text = f"{self.metric} · {self.metric_done} of {self.metric_total}"
        if self.seconds_left is None or self.metric_done == self.metric_total:
            return text
        minutes, seconds = divmod(math.ceil(self.seconds_left), 60)
        return f"{text} · about {f'{minutes + (seconds > 30)} min' if minutes else f'{seconds} s'} left"


class ScoringResult(NamedTuple):
    """Result for one metric: numbers of newly scored, known and failed items, and the reason of the first failure."""

    metric: str
    signature: str
    new: int
    known: int
    failed: int
    reason: str


OnScoring = Callable[[ScoringProgress], None]
"""Called with the progress of scoring; may raise `Cancelled` to stop it."""


Claim = Callable[[str, Collection[str]], Collection[str]]
"""Returns which content keys of a signature this worker computes (`core.ports.jobs.Jobs.claim`)."""


def claim_all(signature: str, keys: Collection[str]) -> Collection[str]:
    """Claim all keys, for callers without other workers."""
    return keys


class _ModelChanged(UserError):  # noqa: N818  (a state, not a fault)
    """The metric's model changed during the run."""


class _WrongCountError(RuntimeError):
    """A metric returned the wrong number of values, so they cannot be assigned to texts."""


def score_dataset(
    dataset: Dataset,
    metrics: Sequence[Metric],
    scores: ScoreCache,
    on_scoring: OnScoring | None = None,
    *,
    chunk: int = FIRST_CHUNK,
    claim: Claim = claim_all,
) -> list[ScoringResult]:
    """Score every output with every metric, with `scores` as cache; equal texts are scored once.

    Each finished chunk is stored, so that interrupted work can continue. Chunks start at `chunk` items and grow while they
    are fast. Items without a required source or reference get status "needs". If a metric raises, the chunk is halved until
    the failing texts are found; they get status "error" with the reason. A metric is abandoned after `GIVE_UP_AFTER` failed
    chunks in a row, or the same `UserError` on two texts in a row. `claim` decides which values to compute here; others are
    awaited, and computed here if no worker stores them. `on_scoring` is called between items.

    Raises `Cancelled` if `on_scoring` does, and `Unavailable` if `scores` cannot store a chunk; stored values are kept.
    """
    items = {content_key(*item): item for _, item in dataset.items()}
    total = len(items) * len(metrics)
    results = []
    for i, metric in enumerate(for_dataset(m, dataset) for m in metrics):
        results.append(_Run(items, metric, scores, claim, on_scoring, i * len(items), total, chunk).score())
    return results


class ScoredItems(NamedTuple):
    """One metric's values for items, in order."""

    spec: MetricSpec
    signature: str
    values: list[Value]


def score_items(
    items: Sequence[Item], metrics: Sequence[Metric], on_scoring: OnScoring | None = None, scores: Memory | None = None
) -> list[ScoredItems]:
    """Score items that belong to no dataset with every metric; equal items are scored once.

    Items with the same source and references count as outputs of one segment. Existing values in `scores` are reused, new
    ones are added to it. Raises `Cancelled` when `on_scoring` does.
    """
    texts_of = grouped(((item.source, item.references), item.hypothesis) for item in dict.fromkeys(items))
    segments = tuple(Segment("", str(i), *anchor) for i, anchor in enumerate(texts_of))
    outputs = (Output(str(k), "", str(i), t) for i, texts in enumerate(texts_of.values()) for k, t in enumerate(texts))
    dataset = Dataset(segments, tuple(outputs))
    cache = Memory() if scores is None else scores
    metrics, keys = [for_dataset(metric, dataset) for metric in metrics], [content_key(*item) for item in items]
    return [
        ScoredItems(metric.spec, done.signature, [cache.values[done.signature, key] for key in keys])
        for metric, done in zip(metrics, score_dataset(dataset, metrics, cache, on_scoring), strict=True)
    ]


def for_dataset(metric: Metric, dataset: Dataset) -> Metric:
    """Return the metric for all outputs of a dataset, fitted on them if its values depend on other outputs."""
    return metric.for_outputs([(key.segment, item) for key, item in dataset.items()])


class _Run:
    """The scoring of one metric: open items, items claimed by other workers, and results."""

    def __init__(
        self, items: Mapping[str, Item], metric: Metric, scores: ScoreCache, claim: Claim, on_scoring: OnScoring | None,
        before: int, total: int, chunk: int,
    ) -> None:  # fmt: skip
        self.items, self.metric, self.scores, self.claim, self.chunk = items, metric, scores, claim, chunk
        self.signature = metric.signature()
        self.on_scoring, self.before, self.total = on_scoring, before, total
        known = scores.known(self.signature, items.keys())
        self.left = deque(key for key in items if key not in known)
        self.halves: list[list[str]] = []  # of failed parts, the next one last
        self.elsewhere: deque[str] = deque()
        self.known, self.new, self.failed, self.reason = len(known), 0, 0, ""
        self.size, self.in_a_row, self.last_why = chunk, 0, ""
        self.started = time.monotonic()

    def score(self) -> ScoringResult:
        while True:
            self._report(0)
            if part := self.halves.pop() if self.halves else self._claimed():
                self._score(part)
            elif self.elsewhere and not self.left:
                time.sleep(WAIT_SECONDS)
                self._look_elsewhere()
            elif not self.left:
                return ScoringResult(
                    self.metric.spec.name, self.signature, self.new, self.known, self.failed, self.reason
                )

    def _report(self, within: int) -> None:
        if self.on_scoring is None:
            return
        new = self.new + self.failed + within
        done = self.known + new
        left = (time.monotonic() - self.started) / new * (len(self.items) - done) if new else None
        self.on_scoring(
            ScoringProgress(self.before + done, self.total, self.metric.spec.label, done, len(self.items), left)
        )

    def _claimed(self) -> list[str]:
        """Return the next part that no other worker has claimed or stored."""
        asked = [self.left.popleft() for _ in range(min(self.size, len(self.left)))]
        if not asked or self.claim is claim_all:
            return asked
        granted = set(self.claim(self.signature, asked))
        stored = self.scores.known(self.signature, asked)
        self.known += len(stored)
        self.elsewhere.extend(key for key in asked if key not in granted and key not in stored)
        return [key for key in asked if key in granted and key not in stored]

    def _look_elsewhere(self) -> None:
        """Count values stored by other workers, and reclaim a part of the rest in case their worker stopped."""
        waited = list(self.elsewhere)
        stored = self.scores.known(self.signature, waited)
        self.known += len(stored)
        rest = [key for key in waited if key not in stored]
        self.left.extend(rest[: self.size])
        self.elsewhere = deque(rest[self.size :])

    def _score(self, part: list[str]) -> None:
        began = time.monotonic()

        def report(share: float) -> None:
            self._report(math.floor(share * len(part) + 1e-6))  # 3 / 7 * 7 may be less than 3

        try:
            values = values_of(self.metric, [self.items[key] for key in part], report)
            if self.metric.signature() != self.signature:
                raise _ModelChanged("the model was changed during scoring", hint="Score again")
            self._store(dict(zip(part, values, strict=True)), time.monotonic() - began)
        except (Cancelled, Unavailable):  # only `scores` raises `Unavailable`: the texts are not the cause
            raise
        except Exception as error:
            self._isolate(part, error)
            return
        self.in_a_row, self.last_why = 0, ""
        took = time.monotonic() - began
        if took < QUICK_SECONDS:
            self.size = min(2 * self.size, max(self.chunk, LARGEST_CHUNK))
        elif took > SLOW_SECONDS:
            self.size = max(1, self.size // 2)

    def _isolate(self, part: list[str], error: Exception) -> None:
        """Retry the halves of a failed part, so that only the failing text has no value."""
        if len(part) > 1 and not isinstance(error, _ModelChanged | _WrongCountError):
            middle = len(part) // 2
            self.halves += [part[middle:], part[:middle]]
            self.size = self.chunk
            return
        why = _reason(error)
        if not isinstance(error, UserError):
            log.error("%s failed on %d texts", self.metric.spec.name, len(part), exc_info=error)
        self.in_a_row += len(part)
        same = isinstance(error, UserError) and why == self.last_why  # same message twice: the texts are not the cause
        of_all = same or isinstance(error, _ModelChanged)
        self.last_why = why
        if of_all or self.in_a_row >= GIVE_UP_AFTER * self.chunk:
            rest = [key for half in reversed(self.halves) for key in half]
            self.halves, self.size = [], len(self.items)
            part = part + rest + self._claimed()
        self._store(dict.fromkeys(part, Value(None, "error", why)), 0.0)

    def _store(self, values: Mapping[str, Value], seconds: float) -> None:
        self.scores.put(self.metric.spec.name, self.signature, values, seconds)
        failed = [value.reason for value in values.values() if value.status == "error"]
        self.reason = self.reason or next(iter(failed), "")
        self.failed += len(failed)
        self.new += len(values) - len(failed)


def values_of(metric: Metric, items: Sequence[Item], progress: Progress) -> list[Value]:
    """Return one storable value per item: "needs" if the item lacks a text, "undefined" if the metric gave no finite value."""
    lacking = [missing(metric.spec, item) for item in items]
    able = [item for item, lack in zip(items, lacking, strict=True) if not lack]
    scored = metric.score(able, lambda share: progress(share * len(able) / len(items))) if able else []
    if len(scored) != len(able):
        raise _WrongCountError(f"{metric.spec.name} returned {len(scored)} values for {len(able)} items")
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


def _reason(error: Exception) -> str:
    if isinstance(error, UserError):
        return str(error)
    first = str(error).partition("\n")[0][:200]
    return f"the metric stopped with an unexpected error ({type(error).__name__.lstrip('_')}{': ' + first if first else ''}); see worker.log"
