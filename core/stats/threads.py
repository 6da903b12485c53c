"""Run work on arrays in several threads: numpy releases the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TypeVar

from core.progress import Progress, no_progress

WORKERS = min(4, os.cpu_count() or 1)
Part = TypeVar("Part")
Result = TypeVar("Result")


def in_threads(work: Callable[[Part], Result], parts: Sequence[Part], progress: Progress = no_progress) -> list[Result]:
    """Return `work` of each part, in their order. `progress` is called in this thread with the share of the parts that are done."""
    with ThreadPoolExecutor(WORKERS) as pool:
        futures: list[Future[Result]] = [pool.submit(work, part) for part in parts]
        try:
            for k, future in enumerate(as_completed(futures), start=1):
                future.result()
                progress(k / len(parts))
        except BaseException:  # also where `progress` raises
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]
