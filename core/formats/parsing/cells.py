"""Cells and rows of a table as read from a file, their size limits, and the escaping of formulas.

An apostrophe is put before every text that begins with a formula character, also after apostrophes and invisible characters (blanks,
no-break and zero-width spaces, a byte order mark), since programs may drop those. The escaping is reversible. In an uploaded table a
leading apostrophe is part of the text, unless its header is one that only this program writes.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from core.errors import ImportProblems
from core.formats.problems import Collector, refused, shown
from core.settings import Limits, load_limits

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


_SIGNS = frozenset("=+-@")
_BREAKS = frozenset("\t\r\n")
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Invisible characters that Unicode counts among marks, letters and symbols."""

EXPORTED: frozenset[tuple[str, ...]] = frozenset(
    tuple(header.split())
    for header in (
        "system doc_id segment_id metric signature score status reason",
        "system metric score status reason signature",
        "system doc_id segment_id score n_raters",
        "system doc_id segment_id rater side start end quote severity category note verdict submitted",
        "error id source ref r hyp_para hyp_adv_based hyp_adv_free",
    )
)
"""Headers of the CSV files that this program writes and that may be uploaded again."""


@lru_cache(maxsize=4096)
def _starts_formula(char: str) -> bool:
    """Return whether a character is = + - or @ in any width or size, a tab or a line break."""
    return char in _BREAKS or unicodedata.normalize("NFKC", char)[:1] in _SIGNS


@lru_cache(maxsize=4096)
def _unseen(char: str) -> bool:
    """Return whether a character is invisible: blanks, control and format characters, variation selectors."""
    return (
        unicodedata.category(char)[0] in "ZC"
        or char in _UNSEEN
        or "\u180b" <= char <= "\u180f"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _risky(text: str) -> bool:
    if text[:1].isascii() and text[:1].isalnum():
        return False
    for char in text.lstrip("'"):
        if _starts_formula(char):
            return True
        if not _unseen(char):
            return False
    return False


def safe_cell(text: str) -> str:
    """Return the text with an apostrophe in front if a spreadsheet could run it as a formula.

    Apostrophes before a formula get one more, so that `raw_cell(safe_cell(text)) == text` for every text.
    """
    return "'" + text if _risky(text) else text


def raw_cell(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and _risky(cell) else cell


def unescaped(table: TableReading, *, always: bool = False) -> TableReading:
    """Apply `raw_cell` to the header and the text cells of a table whose columns are those that this program exports, or `always`."""
    as_read = table.rows

    def rows() -> Iterator[TableRow]:
        first = next(as_read, None)
        if first is None:
            return
        if not always and tuple(table.columns) not in EXPORTED:
            yield first
            yield from as_read
            return
        table.columns[:] = map(raw_cell, table.columns)
        for row in chain([first], as_read):
            yield TableRow(row.line, tuple(raw_cell(c) if isinstance(c, str) else c for c in row.cells))

    table.rows = rows()
    return table


_WORDS = {
    "text_mb": "MB of text",
    "rows": "rows, lines or outputs",
    "cells": "cells",
    "columns": "columns",
    "cell_chars": "characters in one cell, line or JSON record",
}


def too_much(file: str, line: int, field: str, limit: int) -> ImportProblems:
    """Return the error for a file that exceeds one of the `Limits`."""
    what = _WORDS[field]
    todo = f"Split the file, or set {Limits.variable(field)} to a higher number (docs/formats.md)"
    return refused(file, line, f"more than {limit:,} {what}", f"at most {limit:,}", todo)


class Meter:
    """Count the rows and cells of one file. Raises `ImportProblems` when a limit is exceeded."""

    def __init__(self, file: str) -> None:
        self.file, self.limits = file, load_limits()
        self.rows = self.cells = 0

    def row(self, line: int, cells: int = 1) -> None:
        self.rows += 1
        self.cells += cells
        if self.rows > self.limits.rows:
            raise too_much(self.file, line, "rows", self.limits.rows)
        if self.cells > self.limits.cells:
            raise too_much(self.file, line, "cells", self.limits.cells)

    def columns(self, line: int, n: int) -> None:
        if n > self.limits.columns:
            raise too_much(self.file, line, "columns", self.limits.columns)

    def outputs(self, n: int) -> None:
        if n > self.limits.rows:
            raise too_much(self.file, 0, "rows", self.limits.rows)

    def systems(self, n: int, column: str = "") -> None:
        """Raise `ImportProblems` if an import has too many systems; `column` is the column with their names."""
        most = self.limits.systems
        if n > most:
            where = f" (now {shown(column)})" if column else ""
            names = f"Choose the column with the names of the systems{where}."
            todo = f"{names} If all are systems, set {Limits.variable('systems')} to a higher number (docs/formats.md)"
            got = f"more than {most:,} systems"
            raise refused(self.file, 0, got, f"at most {most:,}", todo, column)

    def project(self, segments: int, systems: int) -> None:
        """Raise `ImportProblems` if a project would have too many cells: its segments times its systems."""
        most = self.limits.project_cells
        if segments * systems > most:
            split = "Import systems without common segments into separate projects"
            todo = f"{split}, or set {Limits.variable('project_cells')} to a higher number (docs/formats.md)"
            got = f"{segments:,} segments × {systems:,} systems = {segments * systems:,} cells of the project"
            raise refused(self.file, 0, got, f"at most {most:,} cells", todo)

    def length(self, line: int, chars: int) -> None:
        if chars > self.limits.cell_chars:
            raise too_much(self.file, line, "cell_chars", self.limits.cell_chars)


class CellReader:
    """Read the cells of one table by column name; a cell that is not a text is a problem."""

    def __init__(self, table: FileTable, problems: Collector) -> None:
        self.table, self.file, self.problems = table, table.name, problems
        self.at = {column: i for i, column in enumerate(table.columns)}

    def place(self, row: TableRow) -> FilePlace:
        return FilePlace(self.file, row.line)

    def problem(self, row: TableRow, column: str, got: str, expected: str, todo: str) -> None:
        self.problems.add(self.file, row.line, column, got, expected, todo)

    def cell(self, row: TableRow, column: str | None) -> Cell:
        return None if column is None else row.cells[self.at[column]]

    def text(self, row: TableRow, column: str | None) -> str | None:
        if column is None:
            return None
        cell = row.cells[self.at[column]]
        if cell is None or isinstance(cell, str):
            return cell
        got = "a list" if isinstance(cell, tuple) else shown(cell.json)
        todo = "Map another column, or write the texts in it as columns of their own"
        self.problem(row, column or "", got, "one text", todo)
        return None

    def needed(self, row: TableRow, column: str, expected: str = "a text", *, may_be_empty: bool = False) -> str:
        """Return the text; "", and a problem, if there is none."""
        text = self.text(row, column)
        if self.cell(row, column) is None or (text == "" and not may_be_empty):
            self.problem(row, column, "nothing", expected, "Fill it in, or remove the row")
        return text or ""

    def references(self, row: TableRow, columns: tuple[str, ...]) -> tuple[str, ...]:
        out: list[str] = []
        for column in columns:
            cell = self.cell(row, column)
            out.extend(cell if isinstance(cell, tuple) else [self.text(row, column) or ""])
        return tuple(text for text in out if text)
