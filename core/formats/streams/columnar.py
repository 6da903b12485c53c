"""Read tables in Parquet and Arrow files in parts, with the texts that a CSV of the same values would have."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from core.data import is_storable
from core.errors import ImportProblems, Problem
from core.formats.files import Upload, extension
from core.formats.parsing.cells import Cell, Meter, Nested, TableReading, TableRow, cell_of, too_much
from core.formats.parsing.json_text import readable
from core.formats.problems import Collector, refused, shown
from core.formats.streams import arrow_files, parquet_batches
from core.progress import Progress
from core.settings import load_limits

if TYPE_CHECKING:
    import pyarrow as pa


CHARACTERS = 4 << 20
"""Characters after which cells that have no text in common are yielded."""
CELLS_AT_ONCE, BYTES = 100, 16 << 20
"""Rows that are converted at once if each needs memory of its own: fewer if each had all texts of the column and these took more bytes."""


VALUES = 1_000_000
"""Values in one nested cell, each of which takes 30 to 250 bytes in Python."""


class LargeCell(Exception):  # noqa: N818  (the caller says where it is)
    """A nested cell has more than `VALUES`: the number of its row in the batch, of its column, and of its values."""

    def __init__(self, row: int, column: int, values: int) -> None:
        super().__init__(f"{values:,} nested values")
        self.row, self.column, self.values = row, column, values


def columns_of(batch: pa.RecordBatch) -> Iterator[list[list[Cell]]]:
    """Yield the cells of a batch by column: all rows at once, or fewer if long texts would be copied. Raises `LargeCell`."""
    together = [_cells(column) for column in batch.columns]
    if None not in together:
        yield [cells for cells in together if cells is not None]
        return
    start = 0
    while start < batch.num_rows:
        apart, n = dict[int, list[Cell]](), batch.num_rows - start
        for i, cells in enumerate(together):
            if cells is None:
                try:
                    apart[i] = _first_cells(batch.column(i).slice(start, n))
                except LargeCell as error:
                    raise LargeCell(start + error.row, i, error.values) from None
                n = len(apart[i])
        yield [apart[i][:n] if cells is None else cells[start : start + n] for i, cells in enumerate(together)]
        start += n


def _cells(column: Any) -> list[Cell] | None:
    """Return the cells of a column, in which equal texts of a dictionary are one object; None if each cell needs memory of its own."""
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _cells(column.storage)
    if pa.types.is_dictionary(kind):
        used = column.indices.unique().drop_null()
        cells = _cells(column.dictionary.take(used))
        if cells is None:
            return None
        by_index = dict(zip(used.to_pylist(), cells, strict=True))
        return [None if i is None else by_index[i] for i in column.indices.to_pylist()]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists_of_texts(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return list(column.to_pylist())
    if pa.types.is_primitive(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [_cell(value) for value in _values(column)]
    return None


def _lists_of_texts(column: Any) -> list[Cell] | None:
    import pyarrow as pa

    kind = column.type.value_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    items = _cells(column.flatten())
    if items is None or None in items:
        return None
    texts: Iterator[Any] = iter(items)
    return [None if n is None else tuple(islice(texts, n)) for n in column.value_lengths().to_pylist()]


def _first_cells(column: Any) -> list[Cell]:
    """Return the first cells of a column, until they have `CHARACTERS`. Raises `LargeCell` if the first one is too large."""
    import pyarrow as pa

    while isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    cells, characters = list[Cell](), 0
    rows = max(1, min(CELLS_AT_ONCE, BYTES // max(1, column.nbytes)))
    while len(cells) < len(column) and characters <= CHARACTERS:
        part = column.slice(len(cells), rows)
        while (n := _n_values(part)) > VALUES and len(part) > 1:
            part = part.slice(0, len(part) // 2)
        if n > VALUES and not cells:
            raise LargeCell(0, 0, n)
        if n > VALUES:
            break
        some = [_cell(value) for value in _values(part)]
        cells += some
        characters += sum(map(_length, some))
    return cells


def _n_values(column: Any) -> int:
    """Return how many values a column has in all lists and structs of its cells."""
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        return _n_values(column.storage)
    if pa.types.is_struct(column.type):
        return len(column) + sum(map(_n_values, column.flatten()))
    if pa.types.is_nested(column.type) and hasattr(column, "flatten"):
        return len(column) + _n_values(column.flatten())
    return len(column)


def _length(cell: Cell) -> int:
    if isinstance(cell, tuple):
        return sum(map(len, cell))
    return len(cell.json if isinstance(cell, Nested) else cell or "")


def _values(column: Any) -> list[Any]:
    try:
        return list(column.to_pylist())
    except OverflowError:
        return [_in_range(value) for value in column]


def _in_range(value: Any) -> Any:
    """Return the value of a scalar, or the stored number of a date, time or duration that Python cannot hold."""
    import pyarrow as pa

    try:
        return value.as_py()
    except OverflowError:
        if pa.types.is_temporal(value.type):
            return str(value.value)
        raise


def _cell(value: Any) -> Cell:
    match value:
        case None | str() | bool() | list() | dict() | tuple():
            return cell_of(value)
        case float():
            return None if math.isnan(value) else repr(value)
        case bytes():
            return value.decode("utf-8", "surrogateescape")
    return str(value)


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
    with file.open() as raw, _explained(file):
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
                where, got = (done + error.row + 1, names[error.column]), f"a cell with {error}"
                todo = "Split the cell into rows, or write it as JSON text"
                raise ImportProblems([Problem(file.name, *where, got, f"at most {VALUES:,}", todo)]) from error
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
        self._meter, self._limits = Meter(file), load_limits()
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
        return parquet_batches.read_parquet(file.name, raw)
    begins = raw.read(len(arrow_files.MAGIC))
    raw.seek(0)
    if begins == arrow_files.MAGIC:
        whole = ipc.open_file(raw)
        record_batches = (whole.get_batch(i) for i in range(whole.num_record_batches))
        return tuple(whole.schema.names), lambda: _slices(file, record_batches)
    stream = ipc.open_stream(raw)
    return tuple(stream.schema.names), lambda: _slices(file, stream)


def _slices(file: Upload, batches: Any) -> Iterator[pa.RecordBatch]:
    """Yield a few rows at a time. Raises `ImportProblems` if Arrow would have to read more than `LARGEST_BATCH` at once."""
    with file.open() as raw:
        largest = arrow_files.largest_sizes(raw)
    for size, what, todo in (
        (largest.batch, "a record batch", "Write the file in smaller batches, or save it as Parquet"),
        (
            largest.dictionaries,
            "dictionaries",
            "Write the columns without dictionary encoding, or save the file as Parquet",
        ),
    ):
        if size > LARGEST_BATCH:
            got, expected = f"{what} of {size >> 20:,} MB", f"at most {LARGEST_BATCH >> 20} MB"
            raise refused(file.name, 0, got, expected, todo)
    for batch in batches:
        batch.validate(full=True)  # damaged offsets would crash the process
        for start in range(0, batch.num_rows, ROWS):
            yield batch.slice(start, ROWS)


@contextmanager
def _explained(file: Upload) -> Iterator[None]:
    """Convert errors of the library. Raises `ImportProblems`."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, struct.error, OSError, OverflowError, ValueError, MemoryError) as error:
        what = "a Parquet file" if extension(file.name) in PARQUET else "an Arrow file"
        got = f"a file that cannot be read ({' '.join(str(error).split())[:120]})"
        todo = "Write the file again; is its name right?"
        raise refused(file.name, 0, got, what, todo) from error
