"""Group commit: writes that arrive while another one is being committed share the next transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")
LARGEST = 200
"""Size of the writes of a transaction, so that nobody waits long for the others. A larger one has a transaction of its own."""


@dataclass(eq=False)
class _Entry(Generic[T]):
    value: T
    done: bool = False
    error: Exception | None = None


class GroupCommit(Generic[T]):
    """Pass values that several threads add at the same time to `write`, many in one call.

    `write` returns the error of each value, or None where it was written. If it raises, every value of the call gets that error.
    `size` returns what a value counts for in a transaction.
    """

    def __init__(
        self, write: Callable[[Sequence[T]], Sequence[Exception | None]], size: Callable[[T], int] = lambda value: 1
    ) -> None:
        self._write, self._size = write, size
        self._waiting: list[_Entry[T]] = []
        self._arriving = Lock()
        self._turn = Lock()

    def add(self, value: T) -> None:
        """Return once the value is written. Raises its error."""
        mine = _Entry(value)
        with self._arriving:
            self._waiting.append(mine)
        while not mine.done:
            with self._turn:  # whoever has the turn writes what the others added meanwhile
                if not mine.done:
                    self._write_waiting()
        if mine.error is not None:
            raise mine.error

    def _write_waiting(self) -> None:
        entries = self._next()
        errors: Sequence[Exception | None] = [RuntimeError("the write was interrupted")] * len(entries)
        try:
            written = self._write([entry.value for entry in entries])
            if len(written) != len(entries):
                raise RuntimeError(f"the write answered {len(written)} of {len(entries)} values")
            errors = written
        except Exception as error:
            errors = [error] * len(entries)
        finally:  # also if this thread is stopped, so that the others do not wait for ever
            for entry, outcome in zip(entries, errors, strict=True):
                entry.error, entry.done = outcome, True

    def _next(self) -> Sequence[_Entry[T]]:
        """Take the values of the next transaction."""
        with self._arriving:
            n = total = 0
            for entry in self._waiting:
                total += self._size(entry.value)
                if n and total > LARGEST:
                    break
                n += 1
            entries, self._waiting = self._waiting[:n], self._waiting[n:]
        return entries
