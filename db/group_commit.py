"""Group commit: writes that arrive while another one is being committed share the next transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")
LARGEST = 200
"""Writes per transaction, so that nobody waits long for the others."""


@dataclass(eq=False)
class _Entry(Generic[T]):
    value: T
    done: bool = False
    error: Exception | None = None


class GroupCommit(Generic[T]):
    """Pass values that several threads add at the same time to `write`, many in one call.

    `write` returns the error of each value, or None where it was written. If it raises, every value of the call gets that error.
    """

    def __init__(self, write: Callable[[Sequence[T]], Sequence[Exception | None]]) -> None:
        self._write = write
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
        with self._arriving:
            entries, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
        try:
            errors = self._write([entry.value for entry in entries])
        except Exception as error:
            errors = [error] * len(entries)
        for entry, found in zip(entries, errors, strict=True):
            entry.error, entry.done = found, True
