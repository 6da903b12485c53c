"""A table as read from a file: column names, and rows with the line they begin on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_REMEMBERED = 1 << 20  # distinct cells that later equal ones may share


@dataclass(frozen=True, slots=True)
class Nested:
    """A JSON value that does not fit a cell: an object, or a list of anything but texts."""

    json: str


Cell = str | tuple[str, ...] | Nested | None
"""A text; several texts (a JSON list); something nested; None if a JSON object has no such key or null."""


def cell_of(value: Any) -> Cell:
    """Return a value of JSON, or a nested one of a typed column, as a cell: a text, several texts, or JSON."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case list() if all(isinstance(item, str) for item in value):
            return tuple(value)
    return Nested(json.dumps(value, ensure_ascii=False, default=str))


def characters_in(cells: Sequence[Cell]) -> int:
    """Return the number of characters of all cells."""
    try:
        return len("".join(cells))  # type: ignore[arg-type]  # most rows have texts only
    except TypeError:
        return sum([len(cell) if isinstance(cell, str) else _characters(cell) for cell in cells])


def _characters(cell: tuple[str, ...] | Nested | None) -> int:
    if isinstance(cell, tuple):
        return sum(map(len, cell))
    return len(cell.json) if cell else 0


class TableRow(NamedTuple):
    """One row; `line` is the line it begins on, counted from 1."""

    line: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class FileTable:
    """A file with named columns; every row has one cell per column. `notes` say what is unusual in its layout, `sha256` is the digest of
    the file if it is known. Rows may be on disk (`streams.file_rows`)."""

    name: str
    columns: tuple[str, ...]
    rows: Collection[TableRow]
    notes: tuple[str, ...] = ()
    sha256: str = ""


@dataclass(slots=True)
class TableReading:
    """A table that is read once, row by row. `columns`, `notes` and `sha256` are complete after the last row.

    Rows have no cells for columns that only occur in later rows. Iterating over them raises `ImportProblems` as soon as a limit is
    exceeded, and after the last row for rows and texts that cannot be read.
    """

    name: str
    rows: Iterator[TableRow] = iter(())
    columns: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sha256: str = ""

    def held(self) -> FileTable:
        """Return the table with all rows in memory; equal cells are one object."""
        memo: dict[Cell, Cell] = {}

        def shared(cell: Cell) -> Cell:
            return memo.setdefault(cell, cell) if len(memo) < _REMEMBERED else memo.get(cell, cell)

        rows = [TableRow(row.line, tuple(map(shared, row.cells))) for row in self.rows]
        n = len(self.columns)
        filled = (row if len(row.cells) == n else TableRow(row.line, padded(row.cells, n)) for row in rows)
        return FileTable(self.name, tuple(self.columns), tuple(filled), tuple(self.notes), self.sha256)


def padded(cells: Sequence[Cell], n: int) -> tuple[Cell, ...]:
    """Return the cells of a row, with missing ones at the end up to `n` columns."""
    return (*cells, *(None,) * (n - len(cells)))


class FilePlace(NamedTuple):
    file: str
    line: int

    def seen_from(self, file: str) -> str:
        return f"line {self.line}" if self.file == file else f"{self.file}, line {self.line}"
