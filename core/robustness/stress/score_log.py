"""A score log that grows during a run, so that a run continues after a stop, a crash or a power cut without scoring texts again.

One JSON object per line: first the format, then one chunk per line with metric, signature, seconds, and by content key the value,
status, reason and parts. Each chunk is on disk before the next one is scored. An incomplete last line is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from filelock import lock_descriptor

from core.data import Value
from core.errors import UserError
from core.scoring.values import InMemoryScores

FORMAT = "errorscope stress scores"
VERSION = 1
_STATUS = ("ok", "undefined", "needs")


class ScoredLog(InMemoryScores):
    """A score cache in an open file (`opened`). Errors are not written, so that the next run tries again; nor is `detail`."""

    def __init__(self, handle: IO[bytes], path: Path) -> None:
        super().__init__()
        self._handle, self._path = handle, path

    def remove(self) -> None:
        """Remove the file while this run still locks it. (Windows cannot remove an open file: there it is emptied.)"""
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
        """Read the file and cut off an incomplete last line."""
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
                stored = self.by_signature.setdefault(read["signature"], {})
                for key, (value, status, reason, parts) in read["values"].items():
                    if status not in _STATUS or (value is not None and type(value) is not float):
                        raise ValueError("a value of another kind")
                    stored[key] = Value(value, status, reason, parts)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise _other(where, f"line {number}") from error
        if whole < len(data):
            self._handle.truncate(whole)
            self._handle.seek(whole)
        if not lines:
            self._write({"format": FORMAT, "version": VERSION})


@contextmanager
def opened(path: Path) -> Iterator[ScoredLog]:
    """Open or create the log at a path and lock it for this process. Raises UserError if another run has locked it or the file is
    not a score log; then nothing is written to it."""
    try:
        handle = path.open("r+b" if path.exists() else "w+b")
    except OSError as error:
        raise UserError("the score log cannot be opened", where=str(path), got=error.strerror or "") from error
    with handle:
        _lock(handle, path)
        if not path.exists() or not os.path.samestat(os.fstat(handle.fileno()), path.stat()):
            raise UserError("another run has just removed this score log", where=str(path), hint="Try again")
        log = ScoredLog(handle, path)
        log._read(path)
        yield log


def _begins(data: bytes) -> bool:
    """Return whether the data is the beginning of a score log's first line."""
    return (json.dumps({"format": FORMAT, "version": VERSION})).encode().startswith(data)


def _lock(handle: IO[bytes], path: Path) -> None:
    """Lock the file until it is closed or this process ends. Raises `UserError` if another run holds it."""
    if not lock_descriptor(handle.fileno(), blocking=False):
        hint = "Wait for it, or name another file with --resume"
        raise UserError("another run is writing its scores here", where=str(path), hint=hint)


def _other(where: Path, line: str) -> UserError:
    hint = "Name another file with --resume, or remove this one to start over"
    return UserError("this score log cannot be read", where=f"{where}, {line}", hint=hint)
