"""How far a command is, on stderr: one line that is written over in a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TextIO

FIRST, EVERY = 2.0, 10.0
"""Seconds until the first line, and between two lines where stderr is no terminal."""


class Progress:
    """Called with a status ("BLEU · 12 of 160"), or with a message, which ends in a line feed and is always printed.

    A thread repeats the last status with the time that has passed, so that a long step without news is not silent. `quiet`
    hides every status.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.quiet = False
        self._stream = stream
        self._status = self._command = ""
        self._started = self._last = 0.0
        self._lock = Lock()
        self._ended = Event()

    def __call__(self, line: str) -> None:
        with self._lock:
            if line.endswith("\n"):
                self._clear()
                print(line, end="", file=self._out, flush=True)
            else:
                self._status = line
                self._show()

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """Show the progress of a command until the block ends."""
        self._ended = Event()
        self._command, self._status = command, ""
        self._started = time.monotonic()
        self._last = self._started + FIRST - EVERY
        thread = Thread(target=self._repeat, args=(self._ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.done()
            thread.join()
            self._started = 0.0

    def done(self) -> None:
        """Take the status off the terminal and repeat it no more, so that what is printed next has the line to itself."""
        with self._lock:
            self._ended.set()
            self._clear()

    @property
    def _out(self) -> TextIO:
        return self._stream or sys.stderr

    def _repeat(self, ended: Event) -> None:
        while not ended.wait(FIRST / 4):
            with self._lock:
                if not ended.is_set() and time.monotonic() - self._last >= EVERY:
                    self._show(repeated=True)

    def _show(self, *, repeated: bool = False) -> None:
        now = time.monotonic()
        terminal = self._out.isatty()
        if self.quiet or (not terminal and (not self._started or now - self._last < EVERY)):
            return
        passed = f"{duration(now - self._started)} so far" if self._started and (repeated or not terminal) else ""
        text = " · ".join(part for part in (self._status or self._command, passed) if part)
        self._last = now
        if terminal:
            print(f"\r\x1b[K{text}", end="", file=self._out, flush=True)
        else:
            print(text, file=self._out, flush=True)

    def _clear(self) -> None:
        if self._out.isatty():
            print("\r\x1b[K", end="", file=self._out, flush=True)


def counted(say: Callable[[str], None], what: str) -> Callable[[int, int], None]:
    """A callback for (done, total) that says "what · 12 of 160 · about 2 min left"."""
    started = time.monotonic()

    def step(done: int, total: int) -> None:
        left = (time.monotonic() - started) / done * (total - done) if done else 0.0
        ending = f" · about {duration(left)} left" if 0 < done < total else ""
        say(f"{what} · {done:,} of {total:,}{ending}")

    return step


def shared(say: Callable[[str], None], what: str) -> Callable[[float], None]:
    """A callback for the share of the work that is done."""
    step = counted(say, what)

    def tell(share: float) -> None:
        step(round(100 * share), 100)

    return tell


def duration(seconds: float) -> str:
    """Seconds up to two minutes, then whole minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
