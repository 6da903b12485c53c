"""Progress on stderr: one line that is rewritten in a terminal; elsewhere one line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, TextIO

from core.progress import Progress

if TYPE_CHECKING:
    from core.scoring.progress import ScoringProgress

FIRST, EVERY = 2.0, 10.0
"""Seconds until the first line, and between two lines, if stderr is not a terminal."""
SHOWN_NOTES = 10


class StatusLine:
    """Print a status ("BLEU · 12 of 160") or a message, which ends in a line feed and is always printed.

    A thread repeats the last status with the elapsed time, so that long steps show that the program is running. `quiet` hides
    every status.
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
        """Show the progress of a command during the `with` block."""
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
        """Remove the status from the terminal and stop repeating it, so that other output starts on an empty line."""
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
        elapsed = f"{duration(now - self._started)} elapsed" if self._started and (repeated or not terminal) else ""
        text = " · ".join(part for part in (self._status or self._command, elapsed) if part)
        self._last = now
        if terminal:
            print(f"\r\x1b[K{text}", end="", file=self._out, flush=True)
        else:
            print(text, file=self._out, flush=True)

    def _clear(self) -> None:
        if self._out.isatty():
            print("\r\x1b[K", end="", file=self._out, flush=True)


status = StatusLine()
"""The status of the command that runs in this process."""


def show_scoring(at: ScoringProgress) -> None:
    """Show the progress of scoring."""
    status(at.sentence())


def print_note(*lines: str) -> None:
    """Print lines on stderr without disturbing the progress line."""
    for line in lines:
        status(f"{line}\n")


def print_notes(notes: Sequence[str]) -> None:
    """Print the first notes on stderr, and the number of the others."""
    print_note(*(f"note: {note}" for note in notes[:SHOWN_NOTES]))
    if len(notes) > SHOWN_NOTES:
        print_note(f"note: {len(notes) - SHOWN_NOTES} more notes like these")


def print_result(text: str) -> None:
    """Remove the progress line, then print a result on stdout."""
    status.done()
    print(text.removesuffix("\n"))


def counted(what: str, total: int) -> Progress:
    """Return a callback that shows "what · 12 of 160 · about 2 min left"."""
    started = time.monotonic()

    def report(share: float) -> None:
        done = round(share * total)
        left = (time.monotonic() - started) / done * (total - done) if done else 0.0
        ending = f" · about {duration(left)} left" if 0 < done < total else ""
        status(f"{what} · {done:,} of {total:,}{ending}")

    return report


def percent(what: str) -> Progress:
    """Return a callback that shows "what · 12%"."""
    return lambda share: status(f"{what} · {share:.0%}")


def duration(seconds: float) -> str:
    """Return a duration in seconds, or in whole minutes from two minutes on."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
