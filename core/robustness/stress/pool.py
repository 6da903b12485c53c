"""Score string metrics in several processes; their values and signatures do not change."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.machinery import ModuleSpec
from multiprocessing import connection, get_context, parent_process
from threading import Thread

from core.data import Item, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.progress import Progress, no_progress

log = logging.getLogger(__name__)

BATCH = 32
DIED = (BrokenExecutor, OSError, ValueError)
"""The errors that `submit` raises when the processes of a pool are gone."""


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def pooled(metrics: Sequence[Metric], workers: int) -> Iterator[list[Metric]]:
    """Yield the metrics; those without a model score in `workers` processes, which end with the block or with this process.

    Only registry metrics whose values do not depend on the other outputs in the batch use the processes.
    """
    if workers < 2 or not any(map(_fit, metrics)):
        yield list(metrics)
        return
    pool = spawned(workers, follow_parent)
    try:
        yield [replace(m, score=_Away(m.spec.name, pool)) if _fit(m) else m for m in metrics]
    finally:
        pool.shutdown(cancel_futures=True)


def _fit(metric: Metric) -> bool:
    if metric.spec.needs_model or metric.fit is not None:
        return False
    try:
        return registry.load(metric.spec.name).score is metric.score
    except UserError:
        return False


class _PoolDiedError(Exception):
    """The processes of the pool are gone."""


class _Away:
    """Score items in the pool, in order; in this process if a process of the pool died."""

    def __init__(self, name: str, pool: ProcessPoolExecutor) -> None:
        self.name, self.pool = name, pool

    def __call__(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        try:
            return self._shared(items, progress)
        except _PoolDiedError as error:
            log.warning("A process that scored %s died (%s): continuing in this process", self.name, error)
        return registry.load(self.name).score(items, progress)

    def _shared(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        parts = [items[i : i + BATCH] for i in range(0, len(items), BATCH)]
        sent = self._sent(parts)
        waiting: set[Future[list[Value]]] = set(sent)
        try:
            while waiting:
                done = sum(len(part) for part, future in zip(parts, sent, strict=True) if future.done())
                progress(min(done, len(items) - 1) / len(items))
                _, waiting = wait(waiting, timeout=1, return_when=FIRST_COMPLETED)
        except BaseException:
            for future in sent:
                future.cancel()
            raise
        try:
            return [value for future in sent for value in future.result()]
        except BrokenExecutor as error:
            raise _PoolDiedError(error) from error

    def _sent(self, parts: Sequence[Sequence[Item]]) -> list[Future[list[Value]]]:
        """Submit the parts. A pool whose processes died may close its pipes before it is marked as broken: `submit` then
        starts a new process and raises OSError or ValueError, and the executor is unusable."""
        sent: list[Future[list[Value]]] = []
        try:
            for part in parts:
                sent.append(self.pool.submit(_score, self.name, part))
        except DIED as error:
            for future in sent:
                future.cancel()
            raise _PoolDiedError(error) from error
        return sent


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
