"""A process that calls functions of modules, as seen from the one that started it, and its own end.

Functions, arguments and results are pickled. They pass over a pair of sockets that only these two processes have. The process is
`python -m core.processes.child FILE_DESCRIPTOR CALLS`.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from math import inf
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from core.errors import UserError
from core.memory import collect_garbage_rarely
from core.progress import Cancelled
from core.settings import offline, share_cores

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
PROGRESS, RESULT, ERROR = "progress", "result", "error"
Deliver = Callable[[str, Any], None]
"""Called with `PROGRESS` and a share, then with `RESULT` and the value or `ERROR` and the exception."""
PACE = 0.05
"""Seconds between two reports of progress, which pass from process to process."""


class ProcessEnded(UserError):  # noqa: N818  (a state, not a fault)
    """A process ended during a call."""

    def __init__(self, got: str) -> None:
        super().__init__(
            "the process that computes with models ended before it had a result",
            got=got,
            hint="Try again. SIGKILL often means that memory is short: then configure smaller models, or provide more memory",
        )


class Child:
    """A running process, seen from the one that started it. `ended`: it takes no more calls."""

    def __init__(self, calls: int, idle: float | None, environment: Mapping[str, str]) -> None:
        self.ended, self.ready = False, False
        self._idle, self._used = idle, time.monotonic()
        self._numbers, self._waiting = count(1), dict[int, Deliver]()
        self._lock, self._sending = Lock(), Lock()
        self._connection, theirs = Pipe()
        command = [sys.executable, "-P", "-m", "core.processes.child", str(theirs.fileno()), str(calls)]
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command,
                    env={**os.environ, **environment, "PYTHONPATH": path},
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # what libraries print goes to the log of this program
                )
            except OSError as error:
                raise ProcessEnded(f"it did not start: {error.strerror}") from error
        self.pid = self._process.pid
        self._reader = Thread(target=self._read, name="answers of a process", daemon=True)
        self._reader.start()

    @property
    def load(self) -> int:
        """The number of calls that have no result yet."""
        return len(self._waiting)

    def call(self, deliver: Deliver, work: Callable[..., Any], arguments: tuple[Any, ...], reports: bool) -> int | None:
        """Send a call, whose answers are delivered in another thread, and return its number; None if the process has ended."""
        with self._lock:
            if self.ended:
                return None
            number = next(self._numbers)
            self._waiting[number] = deliver
        try:
            self._send((number, work, arguments, reports))
        except BaseException:
            self.cancel(number)
            raise
        return number

    def cancel(self, number: int) -> None:
        """Deliver nothing more of a call. If it is not finished, it is cancelled at its next progress."""
        if self._forget(number) is not None:
            self._send((number, None, (), False))

    def terminate(self) -> None:
        self._process.terminate()

    def join(self) -> None:
        """Wait until the process has ended."""
        self._reader.join()

    def _forget(self, number: int) -> Deliver | None:
        with self._lock:
            self._used = time.monotonic()
            return self._waiting.pop(number, None)

    def _send(self, message: tuple[Any, ...]) -> None:
        """Send a message. If the process is gone, its reader has answered all calls or will."""
        with self._sending, suppress(OSError):
            self._connection.send(message)

    def _read(self) -> None:
        """Pass answers on to their calls until the process ends or is idle."""
        try:
            while not self.ended:
                patience = self._patience()
                if not self.ended and self._connection.poll(patience):
                    number, kind, what = self._connection.recv()
                    deliver = self._waiting.get(number) if kind == PROGRESS else self._forget(number)
                    if deliver is not None:
                        deliver(kind, what)
        except (EOFError, OSError):
            pass
        except Exception:
            log.exception("The answer of a process cannot be read")
        finally:
            self._end()

    def _patience(self) -> float | None:
        """Return how long to wait for an answer (None: without end). If nobody has called for long, nobody can any more."""
        with self._lock:
            if self._waiting or self._idle is None:
                return None
            left = self._used + self._idle - time.monotonic()
            self.ended = left <= 0
            return max(0.0, left)

    def _end(self) -> None:
        with self._lock:
            self.ended = True
        with self._sending:
            self._connection.close()  # the process exits when it reads the end
        try:
            status = self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        with self._lock:
            waiting = list(self._waiting.values())
        for deliver in waiting:
            deliver(ERROR, ProcessEnded(_described(status)))


def _described(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def serve(connection: Connection, calls: int) -> None:
    """Compute up to `calls` at a time until the other end of the connection is closed, then exit."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C in the terminal is for the program that asks
    with suppress(OSError):  # Linux: if memory is short, end this process and not the program that asks
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as setting:
            setting.write("500")
    share_cores()
    collect_garbage_rarely()
    offline()
    running, pool = _Running(connection), ThreadPoolExecutor(calls)
    while True:
        try:
            number, work, arguments, reports = connection.recv()
        except (EOFError, OSError):
            os._exit(0)  # also if threads compute
        if work is None:
            running.cancel(number)
        else:
            running.begin(number)
            pool.submit(running.compute, number, work, arguments, reports)


class _Running:
    """The calls that have no result yet."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._sending = connection, Lock()
        self._cancelled: dict[int, Event] = {}

    def begin(self, number: int) -> None:
        self._cancelled[number] = Event()

    def cancel(self, number: int) -> None:
        if call := self._cancelled.get(number):
            call.set()

    def compute(self, number: int, work: Callable[..., object], arguments: tuple[Any, ...], reports: bool) -> None:
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
            self._send(number, RESULT, work(*arguments, progress) if reports else work(*arguments))
        except BaseException as error:  # whatever it is, the caller must not wait for ever
            self._send_error(number, error)
        finally:
            del self._cancelled[number]

    def _send(self, number: int, kind: str, what: object) -> None:
        with self._sending:
            self._connection.send((number, kind, what))

    def _send_error(self, number: int, error: BaseException) -> None:
        sent_error = RuntimeError(f"{type(error).__name__}: {error}")
        trace = "".join(traceback.format_exception(error))
        sent_error.add_note(trace)
        # Exceptions of other packages would be loaded with their packages, such as torch.
        if isinstance(error, Exception) and type(error).__module__.partition(".")[0] in ("builtins", "core"):
            if not isinstance(error, UserError | Cancelled):
                error.add_note(trace)
            try:
                self._send(number, ERROR, error)
                return
            except Exception:
                log.exception("Cannot send %s", type(error).__name__)
        self._send(number, ERROR, sent_error)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), int(sys.argv[2]))
