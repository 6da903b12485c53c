"""Score string metrics in several processes; their values and signatures do not change."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.machinery import ModuleSpec
from multiprocessing import connection, get_context, parent_process
from threading import Thread

from core import settings
from core.data import Item, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.progress import Progress, no_progress

log = logging.getLogger(__name__)

BATCH = 32
"""Items per part. Outputs of a segment that follow each other stay together, up to four times as many."""
AHEAD = 4
"""Parts per process that are sent before earlier ones are finished."""
START_SECONDS = 1.0
"""About the processor time that a process needs to start. Work that takes less than this is done without."""
DIED = (BrokenExecutor, OSError, ValueError)
"""The errors that `submit` raises when the processes of a pool are gone."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(asked: int | None = None) -> int:
    """Return the number of processes for a computation: as asked, else ERRORSCOPE_WORKERS, else one per available processor.

    Raises `UserError` if the setting is not valid.
    """
    return asked or settings.load().workers or cores()


@contextmanager
def pooled(metrics: Sequence[Metric], workers: int, *, after: float = 0.0) -> Iterator[list[Metric]]:
    """Yield the metrics; those without a model score in `workers` processes, which end with the block or with this process.

    The processes start when the metrics have taken `after` seconds of this process, which goes on scoring until one is ready.
    Only registry metrics whose values do not depend on the other outputs in the batch use the processes.
    """
    if workers < 2 or not any(map(_fit, metrics)):
        yield list(metrics)
        return
    pool = _Pool(workers, after)
    try:
        yield [replace(m, score=_Away(m.spec.name, pool)) if _fit(m) else m for m in metrics]
    finally:
        pool.end()


def _fit(metric: Metric) -> bool:
    if metric.spec.needs_model or metric.fit is not None:
        return False
    try:
        return registry.load(metric.spec.name).score is metric.score
    except UserError:
        return False


class _Pool:
    """Processes that start after `after` seconds of work in this process, and are no longer used when one has died."""

    def __init__(self, workers: int, after: float) -> None:
        self.workers, self.after, self.spent = workers, after, 0.0
        self._executor: ProcessPoolExecutor | None = None
        self._ready: Future[None] | None = None
        self._is_lost = False
        if not after:
            self._executor = spawned(workers, follow_parent)

    def executor(self) -> ProcessPoolExecutor | None:
        """Return the processes, or None if work is to be done here: at first, until the first process is ready, and after one died."""
        if self._is_lost or self.spent < self.after:
            return None
        if self._executor is None:
            self._executor = spawned(self.workers, follow_parent)
            with suppress(*DIED):
                self._ready = self._executor.submit(_start)
        return self._executor if not self.after or (self._ready is not None and self._ready.done()) else None

    def lost(self, name: str, error: Exception) -> None:
        """Do without the processes from now on."""
        log.warning("A process that scored %s died (%s): continuing in this process", name, error)
        self._is_lost = True

    def end(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


class _Away:
    """Score items in the pool, in order. What its processes do not score is scored in this process."""

    def __init__(self, name: str, pool: _Pool) -> None:
        self.name, self.pool = name, pool

    def __call__(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        return _AwayCall(self.name, self.pool, items, progress).values()


class _AwayCall:
    """One call of `_Away`: its parts, those that are not scored or sent, and those that a process has."""

    def __init__(self, name: str, pool: _Pool, items: Sequence[Item], progress: Progress) -> None:
        self.name, self.pool, self.size, self.progress = name, pool, len(items), progress
        self.parts = _parts(items)
        self.open = deque(range(len(self.parts)))
        self.sent: dict[Future[list[Value]], int] = {}
        self.found: dict[int, list[Value]] = {}
        self.done = 0

    def values(self) -> list[Value]:
        try:
            while self.open or self.sent:
                self._report()
                self._send()
                if self.sent:
                    self._take()
                else:
                    self._score_here()
        except BaseException:
            for future in self.sent:
                future.cancel()
            raise
        return [value for k in range(len(self.parts)) for value in self.found[k]]

    def _report(self, within: float = 0.0) -> None:
        self.progress(min(self.done + within, self.size - 1) / self.size)

    def _keep(self, part: int, values: list[Value]) -> None:
        self.found[part] = values
        self.done += len(values)

    def _send(self) -> None:
        """Submit open parts. A pool whose processes died may close its pipes before it is marked as broken: `submit` then
        starts a new process and raises OSError or ValueError, and the executor is unusable."""
        executor = self.pool.executor()
        try:
            while executor is not None and self.open and len(self.sent) < AHEAD * self.pool.workers:
                self.sent[executor.submit(_score, self.name, self.parts[self.open[0]])] = self.open[0]
                self.open.popleft()
        except DIED as error:
            self._give_up(error)

    def _take(self) -> None:
        """Wait for a second, or until a part is finished, and take what is finished."""
        for future in wait(self.sent, timeout=1, return_when=FIRST_COMPLETED).done:
            try:
                self._keep(self.sent[future], future.result())
            except BrokenExecutor as error:
                self._give_up(error)
                return
            del self.sent[future]

    def _give_up(self, error: Exception) -> None:
        self.pool.lost(self.name, error)
        for future in self.sent:
            future.cancel()
        self.open.extendleft(reversed(self.sent.values()))
        self.sent.clear()

    def _score_here(self) -> None:
        part = self.parts[self.open[0]]
        began = time.thread_time()
        self._keep(
            self.open.popleft(),
            registry.load(self.name).score(part, lambda share: self._report(share * len(part))),
        )
        self.pool.spent += time.thread_time() - began


def _parts(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Divide items into parts of at least `BATCH`, so that a segment's references are read in one process."""
    cuts = [0]
    for k in range(1, len(items)):
        size = k - cuts[-1]
        if size >= 4 * BATCH or (size >= BATCH and items[k].references != items[k - 1].references):
            cuts.append(k)
    return [items[start:end] for start, end in zip(cuts, [*cuts[1:], len(items)], strict=True)] if items else []


def spawned(workers: int, initializer: Callable[..., None], initargs: tuple[object, ...] = ()) -> ProcessPoolExecutor:
    """Return a pool of processes that do not import the main module, which under Streamlit is the whole app.

    All processes are started now. Otherwise `submit` starts them on demand, even while another thread shuts down a broken
    pool; that thread then waits for the new process forever.
    """
    main = sys.modules["__main__"]
    if main.__spec__ is None:  # then `spawn` would run its file again in each process
        main.__spec__ = ModuleSpec("__main__", None)
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer, initargs)
    with suppress(*DIED):
        for _ in range(workers):
            pool.submit(_start)
    return pool


def _start() -> None:
    """Do nothing, in a process of the pool."""


def _score(name: str, items: Sequence[Item]) -> list[Value]:
    return registry.load(name).score(items, no_progress)


def follow_parent() -> None:
    """Set up a process of a pool: ignore ^C (the parent handles it) and exit when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
