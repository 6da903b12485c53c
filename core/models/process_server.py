"""The model process: `python -m core.models.process_server FILE_DESCRIPTOR`, started by `core.models.process`."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from multiprocessing.connection import Connection
from threading import Event, Lock
from typing import Any

from core.errors import UserError
from core.memory import collect_garbage_rarely
from core.models.process import ERROR, PROGRESS, RESULT
from core.progress import Cancelled
from core.settings import offline, share_cores

log = logging.getLogger(__name__)

CALLS = 16
"""Calls computed at the same time; others wait."""
PACE = 0.05
"""Seconds between two reports of progress, which pass from process to process."""


def serve(connection: Connection) -> None:
    """Compute calls until the other end of the connection is closed, then exit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C in the terminal is for the program that asks
    with suppress(OSError):  # Linux: if memory is short, end this process and not the program that asks
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as setting:
            setting.write("500")
    share_cores()
    collect_garbage_rarely()
    offline()
    running, pool = _Running(connection), ThreadPoolExecutor(CALLS)
    while True:
        try:
            number, work, given, reports = connection.recv()
        except (EOFError, OSError):
            os._exit(0)  # also if threads compute
        if work is None:
            running.cancel(number)
        else:
            running.begin(number)
            pool.submit(running.compute, number, work, given, reports)


class _Running:
    """The calls of the model process that have no result yet."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._sending = connection, Lock()
        self._cancelled: dict[int, Event] = {}

    def begin(self, number: int) -> None:
        self._cancelled[number] = Event()

    def cancel(self, number: int) -> None:
        if call := self._cancelled.get(number):
            call.set()

    def compute(self, number: int, work: Callable[..., object], given: tuple[Any, ...], reports: bool) -> None:
        """Call the function and send its result, or what it raises."""
        cancelled, sent = self._cancelled[number], -inf

        def progress(share: float) -> None:
            nonlocal sent
            if cancelled.is_set():
                raise Cancelled
            if (now := time.monotonic()) - sent >= PACE:
                sent = now
                self._send(number, PROGRESS, share)

        try:
            if cancelled.is_set():
                raise Cancelled
            self._send(number, RESULT, work(*given, progress) if reports else work(*given))
        except BaseException as error:  # whatever it is, the caller must not wait for ever
            self._send_error(number, error)
        finally:
            del self._cancelled[number]

    def _send(self, number: int, kind: str, what: object) -> None:
        with self._sending:
            self._connection.send((number, kind, what))

    def _send_error(self, number: int, error: BaseException) -> None:
        told = RuntimeError(f"{type(error).__name__}: {error}")
        trace = "".join(traceback.format_exception(error))
        told.add_note(trace)
        # Exceptions of other packages would be loaded with their packages, such as torch.
        if isinstance(error, Exception) and type(error).__module__.partition(".")[0] in ("builtins", "core"):
            if not isinstance(error, UserError | Cancelled):
                error.add_note(trace)
            try:
                self._send(number, ERROR, error)
                return
            except Exception:
                log.exception("Cannot send %s", type(error).__name__)
        self._send(number, ERROR, told)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
