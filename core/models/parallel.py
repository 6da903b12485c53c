"""Passes through a model on several processor threads, one pass per thread.

Within one pass, threads wait for each other after every layer. Where other programs use the cores too, one pass on two threads
took five times as long as on one. Whole passes side by side wait for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from threading import Lock, local
from typing import TypeVar

import torch

T = TypeVar("T")
P = TypeVar("P")
MOST = 4
"""Passes at the same time; on more cores each of them gets several threads."""
_here = local()
_starting = Lock()


def passes(device: torch.device) -> int:
    """How many passes run at the same time on a device; 1 where this thread is itself one of several."""
    if device.type != "cpu" or getattr(_here, "shares", False):
        return 1
    return max(1, min(MOST, torch.get_num_threads()))


def each(items: Iterable[P], work: Callable[[P], T], device: torch.device) -> Iterator[T]:
    """Yield `work(item)` of every item as they are done, in any order; at most two items per thread are taken ahead.

    Raises what `work` raises. When the caller stops early, what has started is waited for and nothing else is started.
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


def _inferred(work: Callable[[P], T], item: P) -> T:
    with torch.inference_mode():
        return work(item)


@lru_cache(maxsize=4)
def _pool(process: int, count: int, threads: int) -> ThreadPoolExecutor:
    """Threads that compute with so many threads each. A process that was forked needs a pool of its own."""
    return ThreadPoolExecutor(count, "passes", _begin, (threads,))


def _begin(threads: int) -> None:
    _here.shares = True
    with _starting:
        all_threads = (
            torch.get_num_threads()
        )  # also settles the number for this thread, which must come before it is set
        torch.set_num_threads(threads)
        _restore(all_threads)


def _restore(count: int) -> None:
    """Give threads that start later the usual number: `set_num_threads` changes it for them too."""
    from threading import Thread

    thread = Thread(target=torch.set_num_threads, args=(count,))
    thread.start()
    thread.join()
