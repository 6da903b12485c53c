"""Read tables in Parquet and Arrow (Feather) files, a few rows at a time, as the texts that a CSV with the same values would have."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from core.data import is_storable
from core.errors import ImportProblems, Problem
from core.formats.files import Upload, extension
from core.formats.parsing.cells import Cell, Nested, TableReading, TableRow
from core.formats.parsing.json_text import readable
from core.formats.parsing.limits import Meter, limits, too_much
from core.formats.problems import Collector, shown
from core.formats.streams import arrow_messages, parquet_batches
from core.formats.streams.columnar_cells import VALUES, LargeCell, columns_of
from core.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = frozenset({"parquet", "pq"})
ARROW = frozenset({"arrow", "feather", "ipc", "arrows"})
COLUMNAR_EXTENSIONS = PARQUET | ARROW
ROWS = 500
"""Rows that are converted at once."""
LARGEST_BATCH = 128 << 20
"""Bytes of a record batch of an Arrow file, which is read whole, and of all dictionaries."""
LONG = 10_000
"""Characters of a text that is checked on its own."""
_NOT_STORABLE = "a NUL or half a surrogate pair"


def columnar_rows(file: Upload, limit: int | None, progress: Progress) -> TableReading:
    """Read the rows of a Parquet or Arrow file; `limit` stops after that many rows.

    Numbers become their shortest texts, null and NaN missing cells, lists of texts several texts (references), and anything else nested a
    JSON value. A date, time or duration beyond the range of Python becomes its stored number. Rows are counted from 1. The rows raise
    `ImportProblems` for a damaged file, repeated column names, too many columns, names that no database can store, as soon as rows, cells
    or text exceed the limits, and at their end for texts that no database can store.
    """
    reading = TableReading(file.name)
    reading.rows = _rows(file, reading, limit, progress)
    return reading


def _rows(file: Upload, reading: TableReading, limit: int | None, progress: Progress) -> Iterator[TableRow]:
    size, line, problems = max(1, file.size), itertools.count(1), Collector()
    with file.open() as raw, _ReadErrors(file):
        names, batches = _batches_of(file, raw)
        _check_names(file.name, names)
        reading.columns[:] = names
        check, done, left = _Check(file.name, names, problems), 0, limit
        for batch in batches():
            try:
                for columns in columns_of(batch.slice(0, left)):
                    check.add(columns)
                    if not problems:  # after one, rows are only checked
                        for cells in zip(*columns, strict=True):
                            yield TableRow(next(line), cells)
            except LargeCell as error:
                where, found = (done + error.row + 1, names[error.column]), f"a cell with {error}"
                todo = "Split the cell into rows, or write it as JSON text"
                raise ImportProblems([Problem(file.name, *where, found, f"at most {VALUES:,}", todo)]) from error
            done += batch.num_rows
            left = None if left is None else left - batch.num_rows
            if left is not None and left <= 0:
                break
            progress(min(1.0, raw.tell() / size))
    problems.check()
    reading.sha256 = file.sha256() if limit is None else ""


def _check_names(file: str, names: Sequence[str]) -> None:
    """Raise `ImportProblems` for too many columns, and for names that occur twice or that no database can store."""
    problems = Collector()
    Meter(file).columns(1, len(names))
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            problems.add(file, 1, readable(name), "the name twice", "unique column names", "Rename one of them")
        if not is_storable(name):
            problems.add(file, 1, readable(name), _NOT_STORABLE, "valid Unicode text", "Rename the column")
    problems.check()


class _Check:
    """Check the cells of a file, a few rows at a time: by column, and cell by cell where that finds something."""

    def __init__(self, file: str, names: Sequence[str], problems: Collector) -> None:
        self._file, self._names, self._problems = file, names, problems
        self._meter, self._limits = Meter(file), limits()
        self._characters = 0

    def add(self, columns: Sequence[Sequence[Cell]]) -> None:
        """Check these cells, by column. Raises `ImportProblems` if the file exceeds a limit."""
        if (plain := self._plain(columns)) is not None:
            self._meter.rows, self._meter.cells, self._characters = plain
            return
        for cells in zip(*columns, strict=True):
            line = self._meter.rows + 1
            self._meter.row(line, len(cells) + sum(len(cell) for cell in cells if isinstance(cell, tuple)))
            for name, cell in zip(self._names, cells, strict=True):
                self._cell(line, name, cell)
            if self._characters > self._limits.text_mb << 20:
                raise too_much(self._file, line, "text_mb", self._limits.text_mb)

    def _plain(self, columns: Sequence[Sequence[Cell]]) -> tuple[int, int, int] | None:
        """Return the numbers of rows, cells and characters with these cells, or None if the cells must be looked at one by one."""
        n = len(columns[0]) if columns else 0
        rows, cells, characters = self._meter.rows + n, self._meter.cells + n * len(columns), self._characters
        for column in columns:
            texts = [cell for cell in column if isinstance(cell, str)]
            lists = [cell for cell in column if isinstance(cell, tuple)]
            if len(texts) + len(lists) + column.count(None) < n:
                return None
            texts += itertools.chain.from_iterable(lists)
            cells += sum(map(len, lists))
            characters += sum(map(len, texts))
            if max(map(len, texts), default=0) > self._limits.cell_chars or characters > self._limits.text_mb << 20:
                return None
            if not _all_storable(texts):
                return None
        over = rows > self._limits.rows or cells > self._limits.cells
        return None if over else (rows, cells, characters)

    def _cell(self, line: int, column: str, cell: Cell) -> None:
        texts = cell if isinstance(cell, tuple) else (cell.json,) if isinstance(cell, Nested) else (cell or "",)
        for text in texts:
            self._meter.length(line, len(text))
            if not is_storable(text):
                what = f"{_NOT_STORABLE}, in {shown(readable(text))}"
                self._problems.add(self._file, line, column, what, "whole characters", "Remove that character")
        self._characters += sum(map(len, texts))


def _all_storable(texts: Sequence[str]) -> bool:
    """Return whether all texts can be stored; long ones are not joined, because they may be one object in many rows."""
    long = [text for text in texts if len(text) > LONG]
    return is_storable("".join(text for text in texts if len(text) <= LONG)) and all(map(is_storable, set(long)))


def _batches_of(file: Upload, raw: Any) -> tuple[tuple[str, ...], parquet_batches.Batches]:
    """Return the column names of a file, and what yields its rows in small batches."""
    from pyarrow import ipc

    if extension(file.name) in PARQUET:
        return parquet_batches.read(file.name, raw)
    begins = raw.read(len(arrow_messages.MAGIC))
    raw.seek(0)
    if begins == arrow_messages.MAGIC:
        whole = ipc.open_file(raw)
        found = (whole.get_batch(i) for i in range(whole.num_record_batches))
        return tuple(whole.schema.names), lambda: _slices(file, found)
    stream = ipc.open_stream(raw)
    return tuple(stream.schema.names), lambda: _slices(file, stream)


def _slices(file: Upload, batches: Any) -> Iterator[pa.RecordBatch]:
    """Yield a few rows at a time. Raises `ImportProblems` if Arrow would have to read more than `LARGEST_BATCH` at once."""
    with file.open() as raw:
        largest = arrow_messages.largest_sizes(raw)
    for size, what, todo in (
        (largest.batch, "a record batch", "Write the file in smaller batches, or save it as Parquet"),
        (
            largest.dictionaries,
            "dictionaries",
            "Write the columns without dictionary encoding, or save the file as Parquet",
        ),
    ):
        if size > LARGEST_BATCH:
            found, expected = f"{what} of {size >> 20:,} MB", f"at most {LARGEST_BATCH >> 20} MB"
            raise ImportProblems([Problem(file.name, 0, "", found, expected, todo)])
    for batch in batches:
        batch.validate(full=True)  # damaged offsets would crash the process
        for start in range(0, batch.num_rows, ROWS):
            yield batch.slice(start, ROWS)


class _ReadErrors:
    """Convert errors of the library. Raises `ImportProblems`."""

    def __init__(self, file: Upload) -> None:
        self._name = file.name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException | struct.error | OSError | OverflowError | ValueError | MemoryError):
            what = "a Parquet file" if extension(self._name) in PARQUET else "an Arrow file"
            found = f"a file that cannot be read ({' '.join(str(error).split())[:120]})"
            todo = "Write the file again; is its name right?"
            raise ImportProblems([Problem(self._name, 0, "", found, what, todo)]) from error
