"""Run forward passes on several CPU threads, one pass per thread.

Within one pass, threads wait for each other after each layer; with other programs on the same cores, a pass on two threads took
five times as long as on one. Separate passes do not wait for each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from threading import Barrier, Event, Lock, local
from typing import TypeVar

import torch

from core.progress import Cancelled, Progress

T = TypeVar("T")
P = TypeVar("P")
S = TypeVar("S", bound=Sized)
MOST = 4
"""Maximum number of simultaneous passes; with more cores, each pass gets several threads."""
REPORT_SECONDS = 0.1
_here = local()
_starting = Lock()


def passes(device: torch.device) -> int:
    """Return the number of simultaneous passes on a device; 1 inside a worker thread."""
    if device.type != "cpu" or getattr(_here, "shares", False):
        return 1
    return max(1, min(MOST, torch.get_num_threads()))


def each(items: Iterable[P], work: Callable[[P], T], device: torch.device) -> Iterator[T]:
    """Yield `work(item)` for each item as it finishes, in any order; reads at most two items per thread ahead.

    Raises what `work` raises. If the caller stops early, waits for started items and starts no others.
    """
    count = passes(device)
    if count == 1:
        yield from map(work, items)
        return
    pool, running = _pool(os.getpid(), count, max(1, torch.get_num_threads() // count)), set[Future[T]]()
    try:
        for item in items:
            running.add(pool.submit(_inferred, work, item))
            if len(running) >= 2 * count:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        wait([future for future in running if not future.cancel()])


def side_by_side(
    parts: Sequence[S], work: Callable[[S, Progress], T], device: torch.device, progress: Progress
) -> list[T]:
    """Return `work(part, progress of the part)` for each part. On a CPU, parts run in up to `passes(device)` threads, which share the cores.

    `progress` is called in the calling thread after a part has reported, with the finished share of all parts, weighted by their
    lengths. If it raises, every part stops at its next report, and the exception is raised then. Raises what `work` raises.
    """
    done, total, stopped, reported = [0.0] * len(parts), sum(map(len, parts)), Event(), Event()

    def run(k: int) -> T:
        def report(share: float) -> None:
            done[k] = share * len(parts[k])
            reported.set()
            if stopped.is_set():
                raise Cancelled

        return _inferred(lambda part: work(part, report), parts[k])

    count = passes(device)
    pool = _pool(os.getpid(), count, max(1, torch.get_num_threads() // count), "parts")
    running = [pool.submit(run, k) for k in range(len(parts))]
    try:
        while (now := wait(running, REPORT_SECONDS, FIRST_EXCEPTION)).not_done:
            for future in now.done:
                future.result()
            if reported.is_set():  # a worker whose parts hang must not seem alive
                reported.clear()
                progress(sum(done) / total)
        return [future.result() for future in running]
    finally:
        stopped.set()
        wait([future for future in running if not future.cancel()])


def _inferred(work: Callable[[P], T], item: P) -> T:
    with torch.inference_mode():
        return work(item)


@lru_cache(maxsize=4)
def _pool(process: int, count: int, threads: int, name: str = "passes") -> ThreadPoolExecutor:
    """Return a pool of `count` workers with `threads` threads each. All workers have started.

    A forked process needs its own pool, and so do whole parts: other calls do not wait until they end.
    """
    pool, started = ThreadPoolExecutor(count, name, _begin, (threads,)), Barrier(count, timeout=60)
    # A worker that started later would change the number for the threads that start at the same time.
    wait([pool.submit(started.wait) for _ in range(count)])
    return pool


def _begin(threads: int) -> None:
    _here.shares = True
    with _starting:
        all_threads = torch.get_num_threads()  # also initialises the number for this thread, before it is set
        torch.set_num_threads(threads)
        _restore(all_threads)


def _restore(count: int) -> None:
    """Restore the number for threads started later, which `set_num_threads` changes too."""
    from threading import Thread

    thread = Thread(target=torch.set_num_threads, args=(count,))
    thread.start()
    thread.join()
