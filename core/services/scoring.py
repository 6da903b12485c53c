"""Scoring a dataset with several metrics: only what is not known yet, stored piece by piece as it is done."""

from __future__ import annotations

import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from core.data import Dataset, Item, Value
from core.errors import Unavailable, UserError
from core.metrics.base import Cancelled, Metric, MetricSpec, Progress
from core.signature import content_key

log = logging.getLogger(__name__)

FIRST_CHUNK = 8
LARGEST_CHUNK = 1024
QUICK_SECONDS, SLOW_SECONDS = 1.0, 10.0  # a chunk done sooner is doubled, one done later is halved
GIVE_UP_AFTER = 5  # chunks of which every text fails, one after the other
WAIT_SECONDS = 0.3  # between two looks at values that another worker computes


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


Claim = Callable[[str, Collection[str]], Collection[str]]
"""Given a signature and content keys, returns the keys whose values are to be computed here (`core.ports.Jobs.claim`)."""


def everything(signature: str, keys: Collection[str]) -> Collection[str]:
    """Claim all keys: for callers that share the work with nobody."""
    return keys


class _StorageBusy(Exception):  # noqa: N818  (a state, not a fault)
    """Carries `Unavailable` past the handling of errors of metrics."""

    def __init__(self, cause: Unavailable) -> None:
        self.cause = cause


class _Exchanged(UserError):  # noqa: N818  (a state, not a fault)
    """The metric is no longer the one it was when the run began."""


class _WrongCountError(RuntimeError):
    """A metric gave more or fewer values than it was given texts: which value belongs to which text is unknown."""


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
    claim: Claim = everything,
) -> list[Scored]:
    """Score every output with every metric, through `scores`; equal texts are scored once.

    Each chunk is stored as it is done, so that work which was broken off goes on where it stopped. Chunks start at `chunk`
    items and grow while they are quick. An item without the source or reference a metric needs gets status "needs". When a
    metric raises, the chunk is halved until the texts at fault are found; they get status "error" with the reason. A
    metric that fails on `GIVE_UP_AFTER` chunks in a row, or on two texts in a row with the same `UserError`, is given up.
    `claim` says which values to compute here; the others are waited for, and computed here if nobody stores them.
    Raises `Cancelled` as soon as `on_progress` returns False between two items, and `Unavailable` when `scores` cannot
    take a chunk now; what was stored stays.
    """
    items = {content_key(*item): item for _, item in dataset.items()}
    total = len(items) * len(metrics)
    results = []
    for i, metric in enumerate(in_company(m, dataset) for m in metrics):
        run = _Run(items, metric, scores, claim, on_progress, i * len(items), total, chunk)
        try:
            results.append(run.score())
        except _StorageBusy as busy:
            raise busy.cause from busy
    return results


def in_company(metric: Metric, dataset: Dataset) -> Metric:
    """The metric for the outputs of a dataset: itself, or what it is among them where its values depend on the others."""
    return metric.among([(key.segment, item) for key, item in dataset.items()])


class _Run:
    """The scoring of one metric: what is left, what another worker has in hand, and what became of the rest."""

    def __init__(
        self, items: Mapping[str, Item], metric: Metric, scores: Cache, claim: Claim, tell: Callable[[Doing], bool],
        before: int, total: int, chunk: int,
    ) -> None:  # fmt: skip
        self.items, self.metric, self.scores, self.claim, self.chunk = items, metric, scores, claim, chunk
        self.signature = metric.signature()
        self.on_progress, self.before, self.total = tell, before, total
        known = scores.known(self.signature, items.keys())
        self.left = deque(key for key in items if key not in known)
        self.halves: list[list[str]] = []  # of parts that failed, the next one last
        self.elsewhere: deque[str] = deque()
        self.known, self.new, self.failed, self.reason = len(known), 0, 0, ""
        self.size, self.in_a_row, self.last_why = chunk, 0, ""
        self.started = time.monotonic()

    def score(self) -> Scored:
        while True:
            if not self._tell(0):
                raise Cancelled
            if part := self.halves.pop() if self.halves else self._claimed():
                self._score(part)
            elif self.elsewhere and not self.left:
                time.sleep(WAIT_SECONDS)
                self._look_elsewhere()
            elif not self.left:
                return Scored(self.metric.spec.name, self.signature, self.new, self.known, self.failed, self.reason)

    def _tell(self, within: int) -> bool:
        new = self.new + self.failed + within
        done = self.known + new
        left = (time.monotonic() - self.started) / new * (len(self.items) - done) if new else None
        return self.on_progress(
            Doing(self.before + done, self.total, self.metric.spec.label, done, len(self.items), left)
        )

    def _claimed(self) -> list[str]:
        """The next part that nobody else has in hand or has stored meanwhile."""
        asked = [self.left.popleft() for _ in range(min(self.size, len(self.left)))]
        if not asked or self.claim is everything:
            return asked
        granted = set(self.claim(self.signature, asked))
        stored = self.scores.known(self.signature, asked)
        self.known += len(stored)
        self.elsewhere.extend(key for key in asked if key not in granted and key not in stored)
        return [key for key in asked if key in granted and key not in stored]

    def _look_elsewhere(self) -> None:
        """Count what others have stored meanwhile, and ask for a part of the rest: its worker may have stopped."""
        waited = list(self.elsewhere)
        stored = self.scores.known(self.signature, waited)
        self.known += len(stored)
        rest = [key for key in waited if key not in stored]
        self.left.extend(rest[: self.size])
        self.elsewhere = deque(rest[self.size :])

    def _score(self, part: list[str]) -> None:
        began = time.monotonic()
        try:
            values = values_of(self.metric, [self.items[key] for key in part], self._tell)
            if self.metric.signature() != self.signature:
                raise _Exchanged("the model was exchanged while it was scoring", hint="Score again")
            self._store(dict(zip(part, values, strict=True)), time.monotonic() - began)
        except (Cancelled, _StorageBusy):
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
        """Try the halves of a part that failed, so that only the text at fault has no value."""
        if len(part) > 1 and not isinstance(error, _Exchanged | _WrongCountError):
            middle = len(part) // 2
            self.halves += [part[middle:], part[:middle]]
            self.size = self.chunk
            return
        why = _reason(error)
        if not isinstance(error, UserError):
            log.error("%s failed on %d texts", self.metric.spec.name, len(part), exc_info=error)
        self.in_a_row += len(part)
        same = isinstance(error, UserError) and why == self.last_why  # two texts, one message: it is not the texts
        of_all = same or isinstance(error, _Exchanged)
        self.last_why = why
        if of_all or self.in_a_row >= GIVE_UP_AFTER * self.chunk:
            rest = [key for half in reversed(self.halves) for key in half]
            self.halves, self.size = [], len(self.items)
            part = part + rest + self._claimed()
        self._store(dict.fromkeys(part, Value(None, "error", why)), 0.0)

    def _store(self, values: Mapping[str, Value], seconds: float) -> None:
        try:
            self.scores.put(self.metric.spec.name, self.signature, values, seconds)
        except Unavailable as error:
            raise _StorageBusy(error) from error
        failed = [value.reason for value in values.values() if value.status == "error"]
        self.reason = self.reason or next(iter(failed), "")
        self.failed += len(failed)
        self.new += len(values) - len(failed)


def values_of(metric: Metric, items: Sequence[Item], progress: Progress) -> list[Value]:
    """One storable value an item: "needs" where the item lacks a text, "undefined" where the metric gave no finite number."""
    lacking = [missing(metric.spec, item) for item in items]
    able = [item for item, lack in zip(items, lacking, strict=True) if not lack]
    scored = metric.score(able, progress) if able else []
    if len(scored) != len(able):
        raise _WrongCountError(f"{metric.spec.name} gave {len(scored)} values for {len(able)} items")
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
    if why := _unstorable(value.detail):
        return Value(None, "error", f"the metric gave a detail that cannot be stored ({why})")
    if value.status == "ok" and (value.value is None or not math.isfinite(value.value)):
        return Value(None, "undefined", f"the metric gave no number ({value.value})", parts, value.detail)
    return Value(value.value if value.status == "ok" else None, value.status, value.reason, parts, value.detail)


def _unstorable(detail: Mapping[str, Any] | None) -> str:
    """Why the detail of a value is no JSON that can be stored, or ""."""
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
    return f"the metric stopped on an unexpected error ({type(error).__name__.lstrip('_')}{': ' + first if first else ''}); see worker.log"
