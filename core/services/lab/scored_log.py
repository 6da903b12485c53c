"""Scores in a file that grows while a run goes on: what was scored before a stop, a crash or a power cut is not scored again.

One JSON object a line: first the format, then a chunk a line with metric, signature, seconds, and by content key the value, status,
reason and parts. A chunk is on disk before the next one is scored. A last line that was not finished is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from core.data import Value
from core.errors import UserError
from core.services.scoring import Memory

FORMAT = "errorscope stress scores"
VERSION = 1
_STATUS = ("ok", "undefined", "needs")


class ScoredLog(Memory):
    """A cache over an open file (`opened`). Errors are remembered in this run only, so that the next one tries again; `detail` is
    not kept."""

    def __init__(self, handle: IO[bytes], path: Path) -> None:
        super().__init__()
        self._handle, self._path = handle, path

    def remove(self) -> None:
        """Remove the file while no other run can hold it. (Windows removes no file that is open: there it is emptied.)"""
        if os.name == "nt":
            self._handle.seek(0)
            self._handle.truncate()
        else:
            self._path.unlink(missing_ok=True)

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        super().put(metric, signature, values, seconds)
        kept = {k: [v.value, v.status, v.reason, dict(v.parts)] for k, v in values.items() if v.status in _STATUS}
        if kept:
            self._write({"metric": metric, "signature": signature, "seconds": seconds, "values": kept})

    def _write(self, line: Mapping[str, Any]) -> None:
        self._handle.write(json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n")
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def _read(self, where: Path) -> None:
        """Take in what stands in the file, and cut off a line that was not finished."""
        data = self._handle.read()
        whole = data.rfind(b"\n") + 1
        lines = data[:whole].splitlines()
        if not lines and data and not _begins(data):
            raise _other(where, "its first line")
        for number, line in enumerate(lines, start=1):
            try:
                read = json.loads(line)
                if number == 1:
                    if (read["format"], read["version"]) != (FORMAT, VERSION):
                        raise ValueError("another format or version")
                    continue
                for key, (value, status, reason, parts) in read["values"].items():
                    if status not in _STATUS or (value is not None and type(value) is not float):
                        raise ValueError("a value of another kind")
                    self.values[read["signature"], key] = Value(value, status, reason, parts)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise _other(where, f"line {number}") from error
        if whole < len(data):
            self._handle.truncate(whole)
            self._handle.seek(whole)
        if not lines:
            self._write({"format": FORMAT, "version": VERSION})


@contextmanager
def opened(path: Path) -> Iterator[ScoredLog]:
    """The log at a path, made where there is none, for this process alone. Raises UserError when another run holds it, or the file
    is no such log; then nothing is written to it."""
    try:
        handle = path.open("r+b" if path.exists() else "w+b")
    except OSError as error:
        raise UserError("the scores of this run cannot be kept", where=str(path), got=error.strerror or "") from error
    with handle:
        _lock(handle, path)
        if not path.exists() or not os.path.samestat(os.fstat(handle.fileno()), path.stat()):
            raise UserError("another run has just removed its scores here", where=str(path), hint="Try again")
        log = ScoredLog(handle, path)
        log._read(path)
        yield log


def _begins(data: bytes) -> bool:
    """A first line of ours, cut off."""
    return (json.dumps({"format": FORMAT, "version": VERSION})).encode().startswith(data)


def _lock(handle: IO[bytes], path: Path) -> None:
    """Hold the file until it is closed or this process ends, however it ends."""
    try:
        if os.name == "nt":
            import msvcrt

            handle.seek(1 << 40)
            msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            handle.seek(0)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        hint = "Wait for it, or name another file with --resume"
        raise UserError("another run is writing its scores here", where=str(path), hint=hint) from error


def _other(where: Path, line: str) -> UserError:
    hint = "Name another file with --resume, or remove this one to begin anew"
    return UserError("this is no log of scores that can be read", where=f"{where}, {line}", hint=hint)
