"""The loop of a scoring worker: lease a chunk, compute it, store the scores. Any number of workers may run.

A worker loads a model once, and reads the texts of its next chunk while it computes one. Stored scores are reused, so nothing that was
stored before a worker died is computed again.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import NamedTuple

from core.data import Item, Value, grouped
from core.errors import Unavailable, UserError
from core.memory import RecentResults
from core.metrics.base import Metric
from core.ports.jobs import Chunk, ChunkResult, PlannedMetric
from core.ports.scores import Timing
from core.ports.store import Store
from core.progress import Cancelled
from core.scoring.dataset import SAMPLE_SECONDS, ChunkSizing, score_chunk
from core.scoring.lease import HeldChunk, LeaseKeeper, WorkerIntervals
from core.scoring.planner import KnownExamples, Load, Planner
from core.scoring.ready_metrics import for_project
from core.scoring.timing import MeasuredChunk, SpeedInChunk, model_of, size_of, summed
from core.scoring.values import ScoringProgress
from core.signature import content_key

log = logging.getLogger("errorscope.worker")

LOOK_SECONDS = 2.0
"""Between looks for chunks that interrupt this one."""
KEPT = 32
"""Metrics of jobs that are kept ready."""
CHANGED = "the model of a worker differs from the one that the job was planned with. Score again"


class _ReadyMetric(NamedTuple):
    metric: Metric
    pacing: ChunkSizing
    measured: list[MeasuredChunk]


class _NextChunk(NamedTuple):
    held: HeldChunk
    items: dict[int, Item]


class ScoringWorker:
    """One worker. `load` returns a metric by name; `stop` ends the worker, whose chunk returns to the queue.

    `on_stall` is called, from a thread, when the worker hangs and its chunks have returned to the queue (`WorkerIntervals.stall`).
    """

    def __init__(
        self,
        store: Store,
        load: Load,
        stop: Event,
        pace: WorkerIntervals | None = None,
        on_stall: Callable[[], None] = lambda: None,
        name: str = "",
    ) -> None:
        self.store, self.load, self.stop, self.pace = store, load, stop, pace or WorkerIntervals()
        self.name = name or f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self.keeper = LeaseKeeper(store.chunks, self.name, self.pace, on_stall)
        self._ready = RecentResults[_ReadyMetric](KEPT)
        self._examples: KnownExamples = {}
        self._timed: tuple[PlannedMetric, _ReadyMetric] | None = None
        self.idle_since: float | None = None  # of the monotonic clock
        self._ahead: Future[_NextChunk | None] | None = None

    def work(self, *, once: bool = False) -> None:
        """Run chunks until `stop` is set, or with `once` until no job is unfinished."""
        log.info("%s started", self.name)
        with self.keeper, ThreadPoolExecutor(1) as reader:
            while not self.stop.is_set():
                try:
                    following = self._next()
                    if following is None:
                        self.idle_since = self.idle_since or time.monotonic()
                        self._keep_time()
                        if once and self.store.chunks.is_finished():
                            break
                        self.stop.wait(self.pace.poll)
                        continue
                except Exception as error:
                    if isinstance(error, Unavailable):
                        log.warning("the queue could not be read: %s", error)
                    else:
                        log.exception("the queue could not be read")
                    self.stop.wait(10 * self.pace.poll)
                    continue
                self.idle_since = None
                if following.held.chunk.metric is not None:
                    self._ahead = reader.submit(self._read_ahead)
                is_stored = self._run(following)
                self.keeper.drop(following.held)
                if not is_stored:
                    self.stop.wait(10 * self.pace.poll)
            self._give_back()
        self._keep_time()
        log.info("%s ended", self.name)

    def _next(self) -> _NextChunk | None:
        if (ahead := self._taken_ahead()) is not None:
            with self._returned_on_error(ahead.held):
                if not ahead.held.lost.is_set() and not self.store.chunks.overtaken(ahead.held.chunk):
                    return ahead
            self._return(ahead.held)
        return self._leased(ahead=False)

    def _leased(self, *, ahead: bool) -> _NextChunk | None:
        chunk = self.store.chunks.lease(self.name, self.pace.lease, ahead=ahead)
        if chunk is None:
            return None
        held = self.keeper.keep(chunk)
        with self._returned_on_error(held):
            return _NextChunk(held, self.store.chunks.items(chunk.outputs))

    @contextmanager
    def _returned_on_error(self, held: HeldChunk) -> Iterator[None]:
        """Return the chunk to the queue after an error of storage. Otherwise its lease would be renewed, but no worker would compute it."""
        try:
            yield
        except BaseException:
            self._return(held)
            raise

    def _return(self, held: HeldChunk) -> None:
        self.keeper.drop(held)
        self._release(held, "")

    def _read_ahead(self) -> _NextChunk | None:
        try:
            return self._leased(ahead=True)
        except Exception:
            log.exception("the next chunk could not be read")
            return None

    def _taken_ahead(self) -> _NextChunk | None:
        ahead, self._ahead = self._ahead, None
        return None if ahead is None else ahead.result()

    def _give_back(self) -> None:
        if (ahead := self._taken_ahead()) is not None:
            self._return(ahead.held)

    def _run(self, next_chunk: _NextChunk) -> bool:
        """Run a chunk until it ends, is cancelled or lost, or `stop` is set; never raises.

        Return False if the database could not be written. The chunk is queued again then; after a few times its job fails.
        """
        held = next_chunk.held
        held.begun = True
        self.keeper.step()
        what = held.chunk.metric.name if held.chunk.metric else "plan"
        log.info("job %d, chunk %d: project %d, %s", held.chunk.job_id, held.chunk.id, held.chunk.project_id, what)
        try:
            if held.chunk.metric is None:
                self._planner(held).run(held.chunk)
            else:
                self._score(held, held.chunk.metric, next_chunk.items)
        except Cancelled:
            self._release(held, "")
        except Unavailable as error:
            log.warning("chunk %d: %s", held.chunk.id, error)
            self._release(held, str(error))
            return False
        except UserError as error:
            self._fail(held, str(error))
        except Exception:
            log.exception("chunk %d failed", held.chunk.id)
            self._fail(held, "the job stopped on an unexpected error; see worker.log")
        return True

    def _release(self, held: HeldChunk, reason: str) -> None:
        try:
            self.store.chunks.release(held.chunk, self.name, reason)
        except Exception:
            log.exception("chunk %d could not be released", held.chunk.id)

    def _fail(self, held: HeldChunk, message: str) -> None:
        log.info("job %d: failed, %s", held.chunk.job_id, message)
        try:
            self.store.chunks.fail(held.chunk, self.name, message)
        except Exception:
            log.exception("job %d could not be ended", held.chunk.job_id)

    def _check(self, held: HeldChunk) -> None:
        self.keeper.step()
        if self.stop.is_set() or held.lost.is_set():
            raise Cancelled

    def _planner(self, held: HeldChunk) -> Planner:
        def on_scoring(at: ScoringProgress) -> None:
            held.progress = (at.done, at.total, at.sentence(), 0.0)
            self._check(held)

        def claim(signature: str, keys: Collection[str]) -> set[str]:
            return self.store.chunks.claim(held.chunk, self.name, signature, keys, self.pace.lease)

        return Planner(self.store, self.name, self.load, lambda: self._check(held), on_scoring, claim, self._examples)

    def _score(self, held: HeldChunk, planned: PlannedMetric, texts: dict[int, Item]) -> None:
        chunk, looked = held.chunk, time.monotonic()

        def on_scoring(at: ScoringProgress) -> None:
            nonlocal looked
            held.progress = (at.metric_done, 0, "", speed.seconds(at.metric_done, time.monotonic()))
            self._check(held)
            if time.monotonic() - looked > LOOK_SECONDS:
                looked = time.monotonic()
                if self.store.chunks.overtaken(chunk):  # this one returns to the queue; what is stored is reused
                    raise Cancelled

        ready = self._metric(held, planned)
        if ready.metric.signature() != planned.signature:
            if self.store.chunks.is_outdated(chunk):
                self.store.chunks.plan_again(chunk, self.name)
                return
            chunk = chunk._replace(abandoned=CHANGED)
            self.store.chunks.abandon(chunk, self.name, CHANGED)
        sizes = {number: size_of(item, ready.metric.spec) for number, item in texts.items()}
        in_order = _by_length(texts, sizes)
        items = {content_key(*texts[number]): texts[number] for number in in_order}
        speed = SpeedInChunk([sizes[number] for number in in_order])
        if chunk.abandoned:
            result = self._refused(planned, items.keys(), chunk.abandoned)
        else:
            claim = self._planner(held).claim
            done, measured = score_chunk(items, ready.metric, self.store.scores, on_scoring, claim, ready.pacing)
            if ready.pacing.abandoned:
                self.store.chunks.abandon(chunk, self.name, ready.pacing.abandoned)
                ready.pacing.abandoned = ""
            seconds = self._count(planned, ready, measured, sum(sizes.values()))
            result = ChunkResult(done.new, done.known, done.failed, done.reason, seconds)
        # If all scores are known, a worker may have died while it read the column: then the chunk ends before another tries.
        is_read = chunk.short or (result.new > 0 and self._read_column(chunk, planned))
        self.store.chunks.finish(chunk, self.name, result)
        if not is_read:  # two workers may have had the last chunks at the same time
            self._read_column(chunk, planned)

    def _read_column(self, chunk: Chunk, planned: PlannedMetric) -> bool:
        """Read the scores of a metric whose last chunk this is: storage keeps the column, so that no page waits for it."""
        if not self.store.chunks.is_last(chunk):
            return False
        self.store.scores.signatures(chunk.project_id)
        self.store.scores.column(chunk.project_id, planned.signature)
        return True

    def _metric(self, held: HeldChunk, planned: PlannedMetric) -> _ReadyMetric:
        """Return the metric fitted on the project, from the last chunks or anew."""
        key = (held.chunk.job_id, planned.name, planned.signature)

        def ready() -> _ReadyMetric:
            metric = self.load(planned.name)
            texts = self.store.chunks.items(planned.examples)
            stream = self._planner(held).stream(held.chunk.project_id)
            examples = [texts[i] for i in planned.examples if i in texts]
            return _ReadyMetric(for_project(metric, stream, examples), ChunkSizing(), [])

        return self._ready.computed(key, ready)

    def _refused(self, planned: PlannedMetric, keys: Collection[str], reason: str) -> ChunkResult:
        """Store the error of an abandoned metric for all outputs that have no value."""
        known = self.store.scores.known(planned.signature, keys)
        values = {key: Value(None, "error", reason) for key in keys if key not in known}
        self.store.scores.put(self.load(planned.name).spec.name, planned.signature, values, 0.0)
        return ChunkResult(0, len(known), len(values), reason if values else "", 0.0)

    def _count(self, planned: PlannedMetric, ready: _ReadyMetric, measured: list[MeasuredChunk], size: int) -> float:
        """Remember measured times. Return the seconds for texts of `size` at their speed, 0 if nothing was measured."""
        if self._timed is None or self._timed[1] is not ready:
            self._keep_time()
            self._timed = (planned, ready)
        ready.measured.extend(measured)
        total = summed(measured, planned.length)
        return 0.0 if total is None else total.seconds / total.size * size

    def _keep_time(self) -> None:
        """Store the times of the metric that was computed last, for estimates."""
        timed, self._timed = self._timed, None
        if timed is None:
            return
        planned, ready = timed
        seconds = sum(chunk.seconds for chunk in ready.measured)
        if seconds >= SAMPLE_SECONDS:
            n, size = sum(chunk.n for chunk in ready.measured), sum(chunk.size for chunk in ready.measured)
            try:
                timing = Timing(n, size, seconds, planned.length)
                self.store.timings.add(ready.metric.spec.name, model_of(planned.signature), timing)
            except UserError as error:
                log.warning("the times could not be stored: %s", error)
        ready.measured.clear()


def _by_length(texts: Mapping[int, Item], sizes: Mapping[int, int]) -> list[int]:
    """Return outputs by the mean size of their segment; those with the same source and references follow each other."""
    together = grouped(((item.source, item.references), number) for number, item in texts.items())
    in_order = sorted(together.values(), key=lambda numbers: sum(sizes[n] for n in numbers) / len(numbers))
    return [number for numbers in in_order for number in sorted(numbers, key=sizes.__getitem__)]
