"""Run model code in a separate process that exits when idle.

`run` calls a function in that process if the program has set one up (`use`), and otherwise here. Functions, arguments and results are
pickled. They pass over a pair of sockets that only these two processes have.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Pipe
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from core.errors import UserError
from core.memory import RecentResults
from core.progress import Progress

log = logging.getLogger(__name__)

T = TypeVar("T")
P = TypeVar("P")
V = TypeVar("V")
ROOT = Path(__file__).resolve().parents[2]
IDLE_SECONDS = 300.0
"""The process ends after this time without a call."""
REPEAT_SECONDS = 0.2
"""The last progress is reported again after this time, so that a caller can stop while a model is loaded."""
PREPARED = 4
"""Values that `run_on` keeps."""
PROGRESS, RESULT, ERROR = "progress", "result", "error"
Answers = SimpleQueue[tuple[str, Any]]
"""`PROGRESS` with a share, then `RESULT` with the value or `ERROR` with the exception."""


class ModelProcessEnded(UserError):  # noqa: N818  (a state, not a fault)
    """The model process ended during a call. The next call starts another one."""

    def __init__(self, got: str) -> None:
        super().__init__(
            "the process that computes with models ended before it had a result",
            got=got,
            hint="Try again. SIGKILL often means that memory is short: then configure smaller models, or provide more memory",
        )


class ModelProcess:
    """A process that calls module-level functions, several at once. The first call starts it, and it ends after `idle` seconds without one.

    It also ends with this process, however that ends.
    """

    def __init__(self, idle: float = IDLE_SECONDS) -> None:
        self._idle, self._lock = idle, Lock()
        self._child: _Child | None = None

    @property
    def pid(self) -> int | None:
        """The id of the running process, or None."""
        child = self._child
        return None if child is None or child.ended else child.pid

    def run(self, work: Callable[..., T], *given: Any, progress: Progress | None = None) -> T:
        """Return `work(*given)`, or with a callback `work(*given, progress)`.

        `progress` is called in this thread, also without news every `REPEAT_SECONDS`; what it raises is raised here, and the work is
        cancelled there at its next progress. Raises what the work raises: user errors and built-in exceptions with their type, others
        as `RuntimeError`. Raises `ModelProcessEnded` if the process dies.
        """
        answers: Answers = SimpleQueue()
        child, number = self._begin(answers)
        try:
            child.send((number, work, given, progress is not None))
            result: T = _awaited(answers, progress)
            return result
        except BaseException:
            child.send((number, None, (), False))
            raise
        finally:
            child.forget(number)

    def stop(self) -> None:
        """End the process now. Calls that are not finished raise `ModelProcessEnded`."""
        with self._lock:
            if self._child is not None:
                self._child.terminate()

    def _begin(self, answers: Answers) -> tuple[_Child, int]:
        with self._lock:
            while self._child is None or (number := self._child.begin(answers)) is None:
                self._child = _Child(self._idle)
            return self._child, number


def _awaited(answers: Answers, progress: Progress | None) -> Any:
    """Return the result of a call, and report its progress until then."""
    share = 0.0
    while True:
        try:
            kind, what = answers.get(timeout=None if progress is None else REPEAT_SECONDS)
        except Empty:
            kind, what = PROGRESS, share
        if kind == ERROR:
            raise what
        if kind == RESULT:
            return what
        share = what
        if progress is not None:
            progress(share)


class _Child:
    """The running process, seen from the program that asks. `ended`: it takes no more calls."""

    def __init__(self, idle: float) -> None:
        self.ended, self._idle, self._used = False, idle, time.monotonic()
        self._numbers, self._waiting = count(1), dict[int, Answers]()
        self._lock, self._sending = Lock(), Lock()
        self._connection, theirs = Pipe()
        command = [sys.executable, "-P", "-m", "core.models.process_server", str(theirs.fileno())]
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command,
                    env={**os.environ, "PYTHONPATH": path},
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # what libraries print goes to the log of this program
                )
            except OSError as error:
                raise ModelProcessEnded(f"it did not start: {error.strerror}") from error
        self.pid = self._process.pid
        Thread(target=self._read, name="model process", daemon=True).start()

    def begin(self, answers: Answers) -> int | None:
        """Return the number of a new call, whose answers go to the queue; None if the process has ended."""
        with self._lock:
            if self.ended:
                return None
            number = next(self._numbers)
            self._waiting[number] = answers
            return number

    def forget(self, number: int) -> Answers | None:
        """Take a call off the list of those that wait, and return the queue for its answers if it was on it."""
        with self._lock:
            self._used = time.monotonic()
            return self._waiting.pop(number, None)

    def send(self, message: tuple[Any, ...]) -> None:
        """Send a message. If the process is gone, its reader has told all calls or will."""
        with self._sending, suppress(OSError):
            self._connection.send(message)

    def terminate(self) -> None:
        self._process.terminate()

    def _read(self) -> None:
        """Pass answers on to their calls until the process ends or is idle."""
        try:
            while not self._is_idle():
                if self._connection.poll(self._patience()):
                    number, kind, what = self._connection.recv()
                    answers = self._waiting.get(number) if kind == PROGRESS else self.forget(number)
                    if answers is not None:
                        answers.put((kind, what))
        except (EOFError, OSError):
            pass
        except Exception:
            log.exception("The answer of the model process cannot be read")
        finally:
            self._end()

    def _patience(self) -> float | None:
        with self._lock:
            return None if self._waiting else max(0.0, self._used + self._idle - time.monotonic())

    def _is_idle(self) -> bool:
        """Return whether nobody has called for long; then nobody can any more."""
        with self._lock:
            self.ended = not self._waiting and time.monotonic() >= self._used + self._idle
            return self.ended

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
            for answers in self._waiting.values():
                answers.put((ERROR, ModelProcessEnded(_described(status))))


def _described(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


_used: ModelProcess | None = None


def use(process: ModelProcess | None) -> None:
    """Let `run` call functions in this model process; None: in the process that asks."""
    global _used
    _used = process


def is_elsewhere() -> bool:
    """Return whether `run` calls functions in another process."""
    return _used is not None


def run(work: Callable[..., T], *given: Any, progress: Progress | None = None) -> T:
    """Return `work(*given)`, or with a callback `work(*given, progress)`, computed in the model process if this program has one.

    `work` is a function of a module. See `ModelProcess.run`.
    """
    if _used is not None:
        return _used.run(work, *given, progress=progress)
    return work(*given) if progress is None else work(*given, progress)


class NotPreparedError(Exception):
    """The model process does not have what was prepared under a key (any more)."""


def run_on(
    key: Hashable,
    value: V,
    prepare: Callable[[V], P],
    work: Callable[..., T],
    *given: Any,
    progress: Progress | None = None,
) -> T:
    """Return `work(prepare(value), *given)` as `run` does.

    The last few prepared values are kept under their keys, so that a large value is sent and prepared once for many calls.
    """
    result: T
    try:
        result = run(_on_prepared, key, None, prepare, work, given, progress=progress)
    except NotPreparedError:
        result = run(_on_prepared, key, (value,), prepare, work, given, progress=progress)
    return result


_prepared = RecentResults[Any](PREPARED)


def _on_prepared(
    key: Hashable, value: tuple[V, ...] | None, prepare: Callable[[V], P], work: Callable[..., T], given: tuple[Any, ...],
    *progress: Progress,
) -> T:  # fmt: skip
    def computed() -> P:
        if value is None:
            raise NotPreparedError
        return prepare(*value)

    return work(_prepared.computed(key, computed), *given, *progress)
