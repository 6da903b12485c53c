"""A table as read from a file: column names, and rows with the line they begin on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Nested:
    """A JSON value that does not fit a cell: an object, or a list of anything but texts."""

    json: str


Cell = str | tuple[str, ...] | Nested | None
"""A text; several texts (a JSON list); something nested; None if a JSON object has no such key or null."""


class TableRow(NamedTuple):
    """One row; `line` is the line it begins on, counted from 1."""

    line: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class FileTable:
    """A file with named columns; every row has one cell per column."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


class FilePlace(NamedTuple):
    file: str
    line: int

    def seen_from(self, file: str) -> str:
        return f"line {self.line}" if self.file == file else f"{self.file}, line {self.line}"
