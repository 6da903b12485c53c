"""The rows of the files of an upload as they are written, in a temporary database, so that every file is read once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from core.errors import ImportProblems, Problem
from core.formats.files import Upload
from core.formats.parsing.cells import Cell, FileTable, Nested, TableReading, TableRow, characters_in
from core.formats.streams.opened import read_lines
from core.formats.streams.stage import explained, temporary_database
from core.formats.table import kept_table
from core.progress import Progress, no_progress

CACHE_KB, PAGE_BYTES = 4_096, 16_384
"""Rows are written and read in order, so little of the file is needed in memory, in large pages."""
COLUMNS = 1_000
"""Columns of a table in the database. Further cells of a row are one value there: SQLite allows 2,000 columns."""


REPEATED = 64
"""Number of lists that are remembered as written and as read: the outputs of a segment have the same references."""
LARGEST_REPEATED = 20_000
"""Characters of a list, or bytes of its stored form, up to which it is remembered."""

_JSON = frozenset({tuple, Nested})
_encoded = json.JSONEncoder(ensure_ascii=False).encode


class KeptFile(NamedTuple):
    """A file whose rows are kept (those of a text file have a line as their only cell), or the problems because of which it cannot be
    read."""

    name: str
    rows: FileTable | None
    problems: tuple[Problem, ...] = ()


class FileRows:
    """A temporary database with the rows of tables and text files.

    A text is stored as TEXT, a missing cell as NULL, and lists of texts and nested values as JSON in a BLOB. Raises `UserError` if the
    disk is full.
    """

    def __init__(self) -> None:
        self._db, self._n = temporary_database(CACHE_KB, PAGE_BYTES), 0

    def add_table(self, file: Upload, progress: Progress = no_progress) -> KeptFile:
        """Keep the rows of a table, as `kept_table` reads them."""
        return _kept(file, lambda: kept_table(file, self._keep, progress=progress))

    def add_lines(self, file: Upload, progress: Progress = no_progress) -> KeptFile:
        """Keep the lines of a text file."""
        return _kept(file, lambda: self._keep(read_lines(file, progress)))

    def _keep(self, reading: TableReading) -> FileTable:
        self._n += 1
        name, n, width, rows = f"f{self._n}", 0, 0, iter(reading.rows)
        row = next(rows, None)

        def of_one_width() -> Iterator[Sequence[object]]:
            """Yield rows up to one with more cells, for which the table needs more columns."""
            nonlocal row
            while row is not None and len(row.cells) == width:
                plain = width <= COLUMNS and _JSON.isdisjoint(map(type, row.cells))
                yield row.line, *(row.cells if plain else _stored(row.cells))
                row = next(rows, None)

        with explained():
            self._db.execute(f"CREATE TABLE {name}(n INTEGER PRIMARY KEY, line INT)")
            while row is not None:
                for i in range(_stored_width(width), _stored_width(len(row.cells))):
                    self._db.execute(f"ALTER TABLE {name} ADD COLUMN c{i}")
                width = len(row.cells)
                marks = ", ?" * _stored_width(width)
                insert = f"INSERT INTO {name}({_columns(width)}) VALUES (?{marks})"
                n += self._db.executemany(insert, of_one_width()).rowcount
        stored = StoredRows(self._db, name, n, width, len(reading.columns))
        return FileTable(reading.name, tuple(reading.columns), stored, tuple(reading.notes), reading.sha256)


class StoredRows(Collection[TableRow]):
    """The rows of a table in a temporary database, which are read again at each iteration.

    `width` is the number of cells that are stored of each row; the others are missing.
    """

    def __init__(self, db: sqlite3.Connection, table: str, n: int, width: int, columns: int) -> None:
        self._db, self._n, self._width, self._columns = db, n, width, columns
        self._query = f"SELECT {_columns(width)} FROM {table}"

    def __len__(self) -> int:
        return self._n

    def __contains__(self, row: object) -> bool:
        return any(row == stored for stored in self)

    def __iter__(self) -> Iterator[TableRow]:
        return self._rows("ORDER BY n")

    def filled(self, columns: Sequence[int], after: int) -> Iterator[TableRow]:
        """Yield the rows after so many that have a cell in one of these columns."""
        cells = " OR ".join(f"c{i} <> ''" for i in columns if i < COLUMNS)
        return self._rows(f"WHERE n > {after} AND ({cells or 'FALSE'}) ORDER BY n")

    def _rows(self, which: str) -> Iterator[TableRow]:
        plain = self._width == self._columns <= COLUMNS
        with explained():
            for line, *cells in self._db.execute(f"{self._query} {which}"):
                if not plain:
                    cells = list(_read_back(cells))
                    cells += [None] * (self._columns - len(cells))
                elif bytes in map(type, cells):
                    cells = [_unpacked(cell) if type(cell) is bytes else cell for cell in cells]
                yield TableRow(line, tuple(cells))


def _read_back(values: Sequence[str | bytes | None]) -> Iterator[Cell]:
    """Yield the cells of a row that were stored as these values."""
    for value in values[:COLUMNS]:
        yield _unpacked(value) if isinstance(value, bytes) else value
    if len(values) > COLUMNS and (rest := values[-1]) is not None:
        yield from map(_as_cell, json.loads(rest))


def _kept(file: Upload, keep: Callable[[], FileTable]) -> KeptFile:
    try:
        return KeptFile(file.name, keep())
    except ImportProblems as error:
        return KeptFile(file.name, None, tuple(error.problems))


def _stored_width(cells: int) -> int:
    return min(cells, COLUMNS + 1)


def _columns(cells: int) -> str:
    return ", ".join(("line", *(f"c{i}" for i in range(_stored_width(cells)))))


def _stored(cells: Sequence[Cell]) -> list[str | bytes | None]:
    """Return the values with which a row is stored."""
    values = [cell if cell is None or isinstance(cell, str) else _packed_cell(cell) for cell in cells[:COLUMNS]]
    return [*values, _packed([_as_json(cell) for cell in cells[COLUMNS:]])] if len(cells) > COLUMNS else values


def _packed(value: Any) -> bytes:
    return _encoded(value).encode("utf-8")


def _packed_cell(cell: tuple[str, ...] | Nested) -> bytes:
    return _repeated_packed(cell) if characters_in((cell,)) <= LARGEST_REPEATED else _packed(_as_json(cell))


def _unpacked(value: bytes) -> Cell:
    return _repeated_unpacked(value) if len(value) <= LARGEST_REPEATED else _as_cell(json.loads(value.decode("utf-8")))


@lru_cache(REPEATED)
def _repeated_packed(cell: tuple[str, ...] | Nested) -> bytes:
    return _packed(_as_json(cell))


@lru_cache(REPEATED)
def _repeated_unpacked(value: bytes) -> Cell:
    return _as_cell(json.loads(value.decode("utf-8")))


def _as_json(cell: Cell) -> Any:
    """Return a cell as JSON: a list of texts as itself, a nested value as an object with its JSON text."""
    return {"json": cell.json} if isinstance(cell, Nested) else cell


def _as_cell(value: Any) -> Cell:
    return Nested(value["json"]) if isinstance(value, dict) else tuple(value) if isinstance(value, list) else value
