"""Score a dataset with several metrics, skipping known values and storing new ones in chunks."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.data import Dataset, Item, SegmentKey, Value, grouped
from core.errors import Unavailable, UserError
from core.metrics.base import Metric, MetricEnded
from core.ports.scores import Timings
from core.processes.child import ProcessEnded
from core.progress import Cancelled
from core.scoring.ready_metrics import START_SECONDS, depends_on_texts, examples_of, for_project, pooled
from core.scoring.timing import ENOUGH, MeasuredChunk, Stopwatch, model_of, spread
from core.scoring.values import OnScoring, ScoreCache, ScoringProgress, WrongCountError, reason_of, values_of
from core.signature import content_key

log = logging.getLogger(__name__)

FIRST_CHUNK = 8
LARGEST_CHUNK = 1024
WINDOW = 10_000  # outputs whose scripts are looked at together
QUICK_SECONDS, SLOW_SECONDS = 1.0, 10.0  # faster chunks are doubled, slower ones halved
GIVE_UP_AFTER = 5  # consecutive chunks in which all texts fail
WAIT_SECONDS = 0.3  # between checks for values of other workers
SAMPLE_SECONDS = 3.0  # a timed sample takes this long and has `timing.ENOUGH` outputs, or uses up its share of the next
SAMPLES_MOST = 20.0  # for the samples of all metrics of a job; an output that has begun is finished


class ScoringResult(NamedTuple):
    """Result for one metric: numbers of newly scored, known and failed items, the reason of the first failure, and the seconds spent."""

    metric: str
    signature: str
    new: int
    known: int
    failed: int
    reason: str
    seconds: float


Claim = Callable[[str, Collection[str]], Collection[str]]
"""Returns which content keys of a signature this worker computes (`core.ports.jobs.Chunks.claim`)."""


def claim_all(signature: str, keys: Collection[str]) -> Collection[str]:
    """Claim all keys, for callers without other workers."""
    return keys


Keep = Callable[[str, Value], Value | None]
"""Returns what is stored of a value under a content key; None: nothing."""


class _ModelChanged(UserError):  # noqa: N818  (a state, not a fault)
    """The metric's model changed during the run."""


def score_dataset(
    dataset: Dataset,
    metrics: Sequence[Metric],
    scores: ScoreCache,
    on_scoring: OnScoring | None = None,
    *,
    chunk: int = FIRST_CHUNK,
    claim: Claim = claim_all,
    timings: Timings | None = None,
    only_time: bool = False,
    workers: int = 1,
    keep: Keep | None = None,
) -> list[ScoringResult]:
    """Score every output with every metric, with `scores` as cache; equal texts are scored once.

    Each finished chunk is stored, so that interrupted work can continue. Chunks start at `chunk` items and grow while they
    are fast. Items without a required source or reference get status "needs". If a metric raises, the chunk is halved until
    the failing texts are found; they get status "error" with the reason. A metric is abandoned after `GIVE_UP_AFTER` failed
    chunks in a row, or the same `UserError` on two texts in a row. `claim` decides which values to compute here; others are
    awaited, and computed here if no worker stores them. `keep` decides what is stored of a value. `on_scoring` is called between items.

    Metrics without a model score the outputs of a segment after each other, and in up to `workers` processes if they take long.

    With `timings`, a sample of each metric is scored first if its speed is unknown, so that the time of the whole job is known;
    with `only_time` nothing else is scored, and progress counts metrics.

    Raises `Cancelled` if `on_scoring` does, `Unavailable` if a chunk cannot be stored, and `ProcessEnded` if the model process
    ends. Values stored before that are kept.
    """
    items = {content_key(*item): item for _, item in dataset.items()}
    needs_model = [metric.spec.needs_model for metric in metrics]
    together = items if all(needs_model) else _by_segment(items)
    if not any(needs_model):
        items = together
    work = _Work(on_scoring, only_time, keep)
    with pooled([for_dataset(metric, dataset) for metric in metrics], workers, after=START_SECONDS) as ready:
        for metric in ready:
            in_order = items if metric.spec.needs_model else together
            largest = LARGEST_CHUNK * (1 if metric.spec.needs_model else workers)
            work.runs.append(
                _Run(in_order, metric, scores, claim, work, ChunkSizing(chunk, max(chunk, largest)), timings)
            )
        untimed = [run for run in work.runs if timings is not None and not run.is_timed()]
        end = time.monotonic() + SAMPLES_MOST
        for k, run in enumerate(untimed):
            run.time_sample((end - time.monotonic()) / (len(untimed) - k))
        return [run.result() if only_time else run.score() for run in work.runs]


def _by_segment(items: Mapping[str, Item]) -> dict[str, Item]:
    """Return the items so that those with the same texts to compare with follow each other: a metric reads these texts once."""
    together = grouped(((item.source, item.references), key) for key, item in items.items())
    return {key: items[key] for keys in together.values() for key in keys}


@dataclass
class ChunkSizing:
    """What a run learns of a metric and a next run of the same metric goes on with: the size of its parts, and failures in a row.

    Parts begin at `first` items and grow to `largest`. `abandoned` is the reason why no further texts are tried, or "".
    """

    first: int = FIRST_CHUNK
    largest: int = LARGEST_CHUNK
    size: int = 0
    in_a_row: int = 0
    last_why: str = ""
    abandoned: str = ""


def score_chunk(
    items: Mapping[str, Item],
    metric: Metric,
    scores: ScoreCache,
    on_scoring: OnScoring,
    claim: Claim,
    pacing: ChunkSizing,
) -> tuple[ScoringResult, list[MeasuredChunk]]:
    """Score items, given by content key, as `score_dataset` does; return the result and the measured times.

    The metric must be fitted already.
    """
    work = _Work(on_scoring, only_time=False, keep=None)
    run = _Run(items, metric, scores, claim, work, pacing, None)
    work.runs.append(run)
    return run.score(), run.watch.chunks


def for_dataset(metric: Metric, dataset: Dataset) -> Metric:
    """Return the metric for all outputs of a dataset, fitted on them if its values depend on other outputs.

    A signature that names the scripts of the texts is computed from the few outputs that decide it, since it is checked after each chunk.
    """
    outputs = [(key.segment, item) for key, item in dataset.items()] if depends_on_texts(metric) else []
    if metric.fit is not None or metric.signature_for is None:
        return metric.for_outputs(outputs)

    def stream() -> Iterator[list[tuple[int, SegmentKey, Item]]]:
        for start in range(0, len(outputs), WINDOW):
            yield [(start + k, *output) for k, output in enumerate(outputs[start : start + WINDOW])]

    [examples] = examples_of([metric], stream)
    return for_project(metric, stream, [outputs[k][1] for k in examples])


class _Work:
    """All runs of a job, and its progress."""

    def __init__(self, on_scoring: OnScoring | None, only_time: bool, keep: Keep | None) -> None:
        self.on_scoring, self.only_time, self.keep, self.runs = on_scoring, only_time, keep, list[_Run]()

    def report(self, current: _Run, within: float) -> None:
        """Report progress; `within` is the share of the current part that is done."""
        if self.on_scoring is None:
            return
        ahead = math.floor(within * len(current.part) + 1e-6)  # 3 / 7 * 7 may be less than 3
        done, total = current.done + ahead, len(current.items)
        all_done, everything = sum(run.done for run in self.runs) + ahead, total * len(self.runs)
        if self.only_time:
            all_done, everything = self.runs.index(current), len(self.runs)
        own = current.seconds_left(within)
        others = [run.seconds_left() for run in self.runs if run is not current]
        known = [seconds for seconds in others if seconds is not None]
        whole = len(known) == len(others)
        left = None if own is None else own + (sum(known) if whole else 0.0)
        label = f"Timing {current.metric.spec.label}" if current.sampling else current.metric.spec.label
        self.on_scoring(ScoringProgress(all_done, everything, label, done, total, left, whole))


_warm = set[str]()
"""Models (or signatures without one) used in this process: the first part scored with a model is not timed, because it loads the model."""


class _Run:
    """The scoring of one metric: open items, items claimed by other workers, and results."""

    def __init__(
        self, items: Mapping[str, Item], metric: Metric, scores: ScoreCache, claim: Claim, work: _Work, pacing: ChunkSizing,
        timings: Timings | None,
    ) -> None:  # fmt: skip
        self.items, self.metric, self.scores, self.claim, self.pacing = items, metric, scores, claim, pacing
        self.chunk = pacing.first
        self.signature, self.work = metric.signature(), work
        self._loaded = model_of(self.signature) or self.signature
        self.watch = Stopwatch(metric.spec, self.signature, items, timings)
        self.sampling, self.by_segment, self.part, self.part_size = False, False, list[str](), 0
        known = scores.known(self.signature, items.keys())
        self.left = deque(key for key in items if key not in known)
        self.halves: list[list[str]] = []  # of failed parts, the next one last
        self.claimed_by_others: deque[str] = deque()
        self.known, self.new, self.failed, self.reason, self.seconds = len(known), 0, 0, "", 0.0
        pacing.size = max(pacing.size, pacing.first)
        self.open_size = sum(self.watch.sizes[key] for key in self.left)

    @property
    def done(self) -> int:
        return self.known + self.new + self.failed

    def score(self) -> ScoringResult:
        while self._step():
            pass
        if self.watch.seconds >= SAMPLE_SECONDS:
            self.watch.keep()
        return self.result()

    def result(self) -> ScoringResult:
        return ScoringResult(
            self.metric.spec.name, self.signature, self.new, self.known, self.failed, self.reason, self.seconds
        )

    def is_timed(self) -> bool:
        """Return whether the speed is known, or only one part is open."""
        return self.watch.pace(SAMPLE_SECONDS) is not None or len(self.left) <= self.chunk

    def time_sample(self, most: float) -> None:
        """Score a sample of all lengths, in about `most` seconds and at least one timed part.

        After a few outputs, a metric that is not slow gets whole segments, because it may read a reference once for all.
        """
        end = time.monotonic() + most
        order = sorted(self.left, key=self.watch.sizes.__getitem__)
        untimed = 0 if self._loaded in _warm else 1  # the shortest output loads the model
        self.left = deque(order[:untimed] + spread(order[untimed:]))
        self.pacing.size, self.sampling = 1, True
        while not self._sampled_enough(end) and self._step():
            quick = self.watch.seconds < SAMPLE_SECONDS and time.monotonic() < end
            if not self.by_segment and self.new >= self.chunk and quick:
                self._take_segments()
        rest = {*self.left, *(key for half in self.halves for key in half)}
        self.left, self.halves = deque(key for key in self.items if key in rest), []
        self.pacing.size, self.sampling = max(self.pacing.size, self.chunk), False
        self.watch.keep()

    def _take_segments(self) -> None:
        """Continue the sample with all outputs of a segment together; what was timed before does not count."""
        texts = grouped(((self.items[key].source, self.items[key].references), key) for key in self.left)
        by_size = sorted(texts.values(), key=lambda keys: sum(self.watch.sizes[key] for key in keys) / len(keys))
        self.left = deque(key for keys in spread(by_size) for key in keys)
        self.by_segment = True
        self.watch.chunks.clear()

    def _sampled_enough(self, end: float) -> bool:
        seconds, n = self.watch.seconds, sum(c.n for c in self.watch.chunks)
        return (seconds >= SAMPLE_SECONDS and n >= ENOUGH) or (n > 0 and time.monotonic() >= end)

    def seconds_left(self, within: float = 0.0) -> float | None:
        """Return the estimated time of the open items, without the share `within` of the current part."""
        pace = self.watch.pace(SAMPLE_SECONDS)
        if pace is None:
            return 0.0 if not self.open_size else None
        return pace * max(0.0, self.open_size - within * self.part_size)

    def _step(self) -> bool:
        """Score the next part. Return False if none is left."""
        self.work.report(self, 0.0)
        began = time.monotonic()
        if part := self.halves.pop() if self.halves else self._claimed():
            self.part, self.part_size = part, sum(self.watch.sizes[key] for key in part)
            self._score(part, began)
            self.part, self.part_size = [], 0
        elif self.claimed_by_others and not self.left:
            time.sleep(WAIT_SECONDS)
            self._look_up_claimed()
        return bool(self.halves or self.left or self.claimed_by_others) or self._finished()

    def _finished(self) -> bool:
        """Report the end of the metric. Return False."""
        self.work.report(self, 0.0)
        return False

    def _claimed(self) -> list[str]:
        """Return the next part that no other worker has claimed or stored."""
        size = max(self.pacing.size, self.metric.judge.batch if self.metric.judge else 0)
        asked = [self.left.popleft() for _ in range(min(size, len(self.left)))]
        if not asked or self.claim is claim_all:
            return asked
        granted = set(self.claim(self.signature, asked))
        stored = self.scores.known(self.signature, asked)
        self._count_known(stored)
        self.claimed_by_others.extend(key for key in asked if key not in granted and key not in stored)
        return [key for key in asked if key in granted and key not in stored]

    def _look_up_claimed(self) -> None:
        """Count values stored by other workers, and reclaim a part of the rest in case their worker stopped."""
        waited = list(self.claimed_by_others)
        stored = self.scores.known(self.signature, waited)
        self._count_known(stored)
        rest = [key for key in waited if key not in stored]
        self.left.extend(rest[: self.pacing.size])
        self.claimed_by_others = deque(rest[self.pacing.size :])

    def _count_known(self, stored: Collection[str]) -> None:
        self.known += len(stored)
        self.open_size -= sum(self.watch.sizes[key] for key in stored)

    def _score(self, part: list[str], began: float) -> None:
        scoring = time.monotonic()
        try:
            values = values_of(self.metric, [self.items[key] for key in part], lambda at: self.work.report(self, at))
            if self.metric.signature() != self.signature:
                raise _ModelChanged("the model was changed during scoring", hint="Score again")
            self._store(dict(zip(part, values, strict=True)), time.monotonic() - scoring)
        except Cancelled as cancelled:
            self._store_finished(part, cancelled.finished)
            raise
        except (Unavailable, ProcessEnded):
            raise  # the texts are not the cause; only `scores` raises `Unavailable`
        except MetricEnded as ended:
            stored = self._store_finished(part, ended.finished)
            self._isolate([key for key in part if key not in stored], ended)
            return
        except Exception as error:
            self._isolate(part, error)
            return
        self.pacing.in_a_row, self.pacing.last_why = 0, ""
        took = time.monotonic() - began
        if self._loaded in _warm:
            self.watch.add(part, took)
        _warm.add(self._loaded)
        if took < QUICK_SECONDS:
            self.pacing.size = min(2 * self.pacing.size, self.pacing.largest)
        elif took > SLOW_SECONDS:
            self.pacing.size = max(1, self.pacing.size // 2)

    def _store_finished(self, part: list[str], finished: Mapping[Item, Value]) -> set[str]:
        """Store the values that were complete when a metric stopped, unless its model changed. Return their keys."""
        values = {key: finished[self.items[key]] for key in part if self.items[key] in finished}
        if values and self.metric.signature() == self.signature:
            self._store(values, 0.0)
            return set(values)
        return set()

    def _isolate(self, part: list[str], error: Exception) -> None:
        """Retry the halves of a failed part, so that only the failing text has no value."""
        if len(part) > 1 and not isinstance(error, _ModelChanged | WrongCountError | MetricEnded):
            middle = len(part) // 2
            self.halves += [part[middle:], part[:middle]]
            self.pacing.size = self.chunk
            return
        why = reason_of(error)
        if not isinstance(error, UserError):
            log.error("%s failed on %d texts", self.metric.spec.name, len(part), exc_info=error)
        self.pacing.in_a_row += len(part)
        # the same message twice: the texts are not the cause
        same = isinstance(error, UserError) and why == self.pacing.last_why
        of_all = same or isinstance(error, _ModelChanged | MetricEnded)
        self.pacing.last_why = why
        if of_all or self.pacing.in_a_row >= GIVE_UP_AFTER * self.chunk:
            rest = [key for half in reversed(self.halves) for key in half]
            self.halves, self.pacing.size, self.pacing.abandoned = [], len(self.items), why
            part = part + rest + self._claimed()
        self._store(dict.fromkeys(part, Value(None, "error", why)), 0.0)

    def _store(self, values: Mapping[str, Value], seconds: float) -> None:
        kept = values
        if keep := self.work.keep:
            kept = {key: stored for key, value in values.items() if (stored := keep(key, value)) is not None}
        if kept:
            self.scores.put(self.metric.spec.name, self.signature, kept, seconds)
        self.seconds += seconds
        self.open_size -= sum(self.watch.sizes[key] for key in values)
        failed = [value.reason for value in values.values() if value.status == "error"]
        self.reason = self.reason or next(iter(failed), "")
        self.failed += len(failed)
        self.new += len(values) - len(failed)
