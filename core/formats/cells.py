"""A table as it was read: column names, and rows with the line each began on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Nested:
    """A JSON value that no column can take: an object, or a list of something other than texts."""

    json: str


Cell = str | tuple[str, ...] | Nested | None
"""A text; several texts (a JSON list); something nested; None where a JSON object lacks the key or says null."""


class Row(NamedTuple):
    """One row; `line` counts from 1, as an editor does, and is the line the row begins on."""

    line: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A file with named columns; every row has one cell a column."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class Place(NamedTuple):
    """Where something was read."""

    file: str
    line: int

    def seen_from(self, file: str) -> str:
        return f"line {self.line}" if self.file == file else f"{self.file}, line {self.line}"
