"""Pools of processes that call functions of modules, with progress and cancellation."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Any, Generic, NamedTuple, TypeVar

from core import settings
from core.memory import RecentResults
from core.processes.child import ERROR, PROGRESS, RESULT, Child, ProcessEnded
from core.progress import Progress, no_progress

log = logging.getLogger(__name__)

T = TypeVar("T")
P = TypeVar("P")
V = TypeVar("V")
REPEAT_SECONDS = 0.2
"""The last progress is reported again after this time, so that a caller can stop while nothing is reported."""
KEPT = 4
"""Values of `PreparedArgument` that a process keeps."""


class NotPreparedError(Exception):
    """A process does not have what was prepared under a key (any more)."""


class PreparedArgument(NamedTuple, Generic[V, P]):
    """The first argument of many calls: `prepare(value)`.

    A process keeps the last few under their keys, so that a large value is sent and prepared once.
    """

    key: Hashable
    value: V
    prepare: Callable[[V], P]

    def call(
        self, work: Callable[..., T], arguments: tuple[Any, ...], *, send: bool
    ) -> tuple[Callable[..., T], tuple[Any, ...]]:
        """Return a function and its arguments, which call `work(prepare(value), *arguments)`; the value is among them on `send` only."""
        return _on_prepared, (self.key, (self.value,) if send else (), self.prepare, work, arguments)


_prepared = RecentResults[Any](KEPT)


def _on_prepared(
    key: Hashable, value: tuple[V, ...], prepare: Callable[[V], P], work: Callable[..., T], arguments: tuple[Any, ...], *progress: Progress
) -> T:  # fmt: skip
    def computed() -> P:
        if not value:
            raise NotPreparedError
        return prepare(*value)

    return work(_prepared.computed(key, computed), *arguments, *progress)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processes(asked: int | None = None) -> int:
    """Return the number of processes for a computation: as asked, else ERRORSCOPE_WORKERS, else one per available processor.

    Raises `UserError` if the setting is not valid.
    """
    return asked or settings.load_settings().workers or cores()


class Pool:
    """`size` processes that call functions of modules, `calls` at a time in each.

    They are started when they are needed. They end with the block of `with`, with this process, however that ends, and after `idle`
    seconds without a call. `environment` has variables that they have besides those of this process.
    """

    def __init__(
        self, size: int, *, calls: int = 1, idle: float | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._size, self._calls, self._idle, self._environment = size, calls, idle, dict(environment or {})
        self._lock, self._ready = Lock(), Event()
        self._children: list[Child] = []
        self._is_stopped = os.name != "posix"  # other systems cannot pass a socket on
        self.spent = 0.0
        """Seconds of processor time that `map` has computed in this process."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes now, for good. `map` goes on in this process; calls of `run` that are not finished raise `ProcessEnded`."""
        with self._lock:
            self._is_stopped = True
            for child in self._children:
                child.terminate()
        self._ready.set()
        for child in self._children:
            child.join()

    def run(
        self, work: Callable[..., T], *arguments: Any, progress: Progress | None = None, on: PreparedArgument[Any, Any] | None = None
    ) -> T:  # fmt: skip
        """Return `work(*arguments)`, or with a callback `work(*arguments, progress)`; with `on`, what it prepares is the first argument.

        `progress` is called in this thread, also without news every `REPEAT_SECONDS`; what it raises is raised here, and the work is
        cancelled there at its next progress. Raises what the work raises: user errors and built-in exceptions with their type, others
        as `RuntimeError`. Raises `ProcessEnded` if the process dies; the next call starts another.
        """
        if on is None:
            return self._run(work, arguments, progress)
        try:
            return self._run(*on.call(work, arguments, send=False), progress)
        except NotPreparedError:
            return self._run(*on.call(work, arguments, send=True), progress)

    def map(
        self,
        work: Callable[..., T],
        calls: Sequence[tuple[Any, ...]],
        *,
        sizes: Sequence[int] | None = None,
        progress: Progress = no_progress,
        on: PreparedArgument[Any, Any] | None = None,
        after: float = 0.0,
    ) -> Iterator[T]:
        """Yield `work(*call, progress)` for each call, in order; with `on`, what it prepares is the first argument.

        `sizes` are the shares of the calls in the work. `progress` is as in `run`. The processes start once `map` has computed for
        `after` seconds in this process, which goes on until one is ready. If a process dies, the rest is computed in this process.
        """
        return _Mapped(self, work, calls, sizes or [1] * len(calls), progress, on, after).results()

    def start(self, work: Callable[..., Any]) -> None:
        """Start the processes, which import the module of a function for `map`. If that fails, `map` computes in this process."""
        with self._lock:
            try:
                while not self._is_stopped and len(self._children) < self._size:
                    child = self._started()
                    child.call(partial(self._imported, child), _import, (work,), False)
            except ProcessEnded as error:
                failed = error.got
            else:
                return
        self.lose(failed)

    def free(self, work: Callable[..., Any], after: float) -> Child | None:
        """Return the process to which `map` sends its next call; None if there is none, or none that can take one more.

        A process has one call more than it computes, so that it need not wait for the next one.
        """
        if self.spent < after:
            return None
        self.start(work)
        if not after and not self._is_stopped:
            self._ready.wait()
        ready = [child for child in self._children if child.ready and not self._is_stopped]
        child = min(ready, key=lambda child: child.load, default=None)
        return child if child is not None and child.load <= self._calls else None

    def lose(self, why: str) -> None:
        """Do without the processes from now on."""
        if not self._is_stopped:
            log.warning("A process died or could not be started (%s): continuing in this process", why)
        self.stop()

    def _imported(self, child: Child, kind: str, what: Any) -> None:
        child.ready = True  # an error is that of the next call too
        self._ready.set()

    def _started(self) -> Child:
        """Start a process. The lock is held, so that `stop` ends it."""
        if self._is_stopped:
            raise ProcessEnded("the program is ending")
        child = Child(self._calls, self._idle, self._environment)
        self._children.append(child)
        return child

    def _run(self, work: Callable[..., T], arguments: tuple[Any, ...], progress: Progress | None) -> T:
        answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        number = None
        while number is None:
            with self._lock:
                self._children = [child for child in self._children if not child.ended]
                child = min(self._children, key=lambda child: child.load, default=None) or self._started()
            number = child.call(lambda kind, what: answers.put((kind, what)), work, arguments, progress is not None)
        share = 0.0
        try:
            while True:
                try:
                    kind, what = answers.get(timeout=None if progress is None else REPEAT_SECONDS)
                except Empty:
                    kind, what = PROGRESS, share
                if kind == ERROR:
                    raise what
                if kind == RESULT:
                    return what  # type: ignore[no-any-return]
                share = what
                if progress is not None:
                    progress(share)
        finally:
            child.cancel(number)


def _import(work: Callable[..., Any]) -> None:
    """Do nothing: the module of the function has been imported to read it."""


class _Mapped(Generic[T]):
    """One `Pool.map`: its calls that are neither computed nor sent, and those that a process has."""

    def __init__(
        self, pool: Pool, work: Callable[..., T], calls: Sequence[tuple[Any, ...]], sizes: Sequence[int], progress: Progress,
        on: PreparedArgument[Any, Any] | None, after: float,
    ) -> None:  # fmt: skip
        self.pool, self.work, self.calls, self.sizes, self.on, self.after = pool, work, calls, sizes, on, after
        self.progress, self.total, self.done = progress, sum(sizes), 0
        self.open = deque(range(len(calls)))
        self.sent: dict[int, tuple[Child, int]] = {}
        self.shares: dict[int, float] = {}
        self.computed: dict[int, T] = {}
        self.answers: SimpleQueue[tuple[int, str, Any]] = SimpleQueue()

    def results(self) -> Iterator[T]:
        try:
            for k in range(len(self.calls)):
                while k not in self.computed:
                    self._step()
                yield self.computed.pop(k)
        finally:
            for child, number in self.sent.values():
                child.cancel(number)

    def _step(self) -> None:
        self._report()
        while self.open and (child := self.pool.free(self.work, self.after)) is not None:
            self._send(child, self.open.popleft())
        if self.sent:
            self._take()
        else:
            self._compute(self.open.popleft())

    def _report(self) -> None:
        within = sum(self.sizes[k] * share for k, share in self.shares.items())
        self.progress(min(1.0, (self.done + within) / self.total))

    def _keep(self, k: int, result: T) -> None:
        self.computed[k] = result
        self.shares.pop(k, None)
        self.done += self.sizes[k]

    def _call(self, k: int, send: bool) -> tuple[Callable[..., T], tuple[Any, ...]]:
        return (self.work, self.calls[k]) if self.on is None else self.on.call(self.work, self.calls[k], send=send)

    def _send(self, child: Child, k: int, value: bool = False) -> None:
        work, arguments = self._call(k, value)
        number = child.call(lambda kind, what: self.answers.put((k, kind, what)), work, arguments, True)
        if number is None:
            self._lose(k, ProcessEnded("it had ended"))
        else:
            self.sent[k] = child, number

    def _take(self) -> None:
        """Wait for an answer, and take it."""
        try:
            k, kind, what = self.answers.get(timeout=REPEAT_SECONDS)
        except Empty:
            return
        if kind == PROGRESS:
            self.shares[k] = what
            return
        child, _ = self.sent.pop(k)
        if kind == RESULT:
            self._keep(k, what)
        elif isinstance(what, NotPreparedError):
            self._send(child, k, value=True)
        elif isinstance(what, ProcessEnded):
            self._lose(k, what)
        else:
            raise what

    def _lose(self, k: int, error: ProcessEnded) -> None:
        """Compute this call and those that processes have in this process."""
        self.pool.lose(error.got)
        self.open = deque(sorted([k, *self.open, *self.sent]))
        for child, number in self.sent.values():
            child.cancel(number)
        self.sent.clear()
        self.shares.clear()

    def _compute(self, k: int) -> None:
        def report(share: float) -> None:
            self.shares[k] = share
            self._report()

        began = time.thread_time()
        work, arguments = self._call(k, send=True)
        self._keep(k, work(*arguments, report))
        self.pool.spent += time.thread_time() - began
