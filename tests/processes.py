"""Other processes and threads for tests. Processes are forked from one that has loaded the program: to load it takes a second of computation."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Barrier
from types import ModuleType
from typing import Any

_CONTEXT: Any = multiprocessing.get_context(
    "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
)
_CONTEXT.set_forkserver_preload(["tests.db.other_processes", "tests.db.workers.slow_worker"])


def started(work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Run a function of a module in another process, which ends with this one at the latest."""
    process: BaseProcess = _CONTEXT.Process(target=work, args=arguments, daemon=True)
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        process.start()  # the process runs the main module too, which is a page after a test of it
    finally:
        sys.modules["__main__"] = main
    return process


def started_with_pipe(work: Callable[..., object], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Run `work(connection, *arguments)` in another process; return the process and the other end of the connection."""
    here, there = _CONTEXT.Pipe()
    process = started(work, there, *arguments)
    there.close()
    return process, here


def ended(process: BaseProcess, seconds: float = 60.0) -> int:
    """Wait for the end of a process; return its exit status, −9 if it was killed."""
    process.join(seconds)
    assert process.exitcode is not None, "the process did not end in time"
    return process.exitcode


def at_once(*work: Callable[[], Any]) -> list[Any]:
    """Run functions in threads of their own that begin together; return their results."""
    together = Barrier(len(work))

    def begin(one: Callable[[], Any]) -> Any:
        together.wait()
        return one()

    with ThreadPoolExecutor(len(work)) as pool:
        return list(pool.map(begin, work))
