"""Read tables in Parquet and Arrow (Feather) files, a few rows at a time, as the texts that a CSV with the same values would have."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from core.data import is_storable
from core.errors import ImportProblems, Problem
from core.formats.files import extension
from core.formats.parsing.cells import Cell, Nested, TableRow, TableStream
from core.formats.parsing.json_text import readable
from core.formats.parsing.limits import Meter, limits, too_much
from core.formats.problems import Collector, shown
from core.formats.streams.opened import AnyFile, opened, size_of
from core.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = frozenset({"parquet", "pq"})
ARROW = frozenset({"arrow", "feather", "ipc", "arrows"})
COLUMNAR_EXTENSIONS = PARQUET | ARROW
ROWS, MOST_ROWS = 500, 4000
"""Rows that are read at once: of Parquet files, whose batches take long to begin, more where rows are short."""
BATCH_BYTES = 4 << 20
LARGEST_BATCH = 128 << 20
"""Bytes of a record batch of an Arrow file, which is read whole."""


def stream_columnar(file: AnyFile, limit: int | None, progress: Progress) -> TableStream:
    """Return the rows of a Parquet or Arrow file as a stream; `limit` stops after that many rows.

    Numbers become their shortest texts, null and NaN missing cells, lists of texts several texts (references), and anything else nested a
    JSON value. Rows are counted from 1. Raises `ImportProblems` for a damaged file, repeated column names, texts that no database can
    store, and more rows, cells, columns, or text than the limits.
    """
    with opened(file) as raw, _ReadErrors(file):
        names = _batches_of(file, raw)[0]
    meter, problems = Meter(file.name), Collector()
    meter.columns(1, len(names))
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            problems.add(file.name, 1, name, "the name twice", "unique column names", "Rename one of them")
    problems.check()
    size = max(1, size_of(file))

    def rows(problems: Collector) -> Iterator[TableRow]:
        meter, characters, number = Meter(file.name), 0, 0
        most = limits().text_mb << 20
        with opened(file) as raw, _ReadErrors(file):
            for batch in _batches_of(file, raw)[1]():
                columns = [_cells(column) for column in batch.columns]
                plain = _plain_size(columns)
                if plain is not None and characters + plain > most:
                    plain = None  # look for the row that is too much
                characters += plain or 0
                for cells in zip(*columns, strict=True):
                    number += 1
                    if limit is not None and number > limit:
                        return
                    meter.row(number, len(cells) + sum(len(cell) for cell in cells if isinstance(cell, tuple)))
                    for name, cell in zip(names, cells, strict=True) if plain is None else ():
                        characters += _check(file.name, number, name, cell, meter, problems)
                    if characters > most:
                        raise too_much(file.name, number, "text_mb", limits().text_mb)
                    yield TableRow(number, cells)
                progress(min(1.0, raw.tell() / size))

    for _ in rows(problems):
        pass
    problems.check()
    return TableStream(file.name, names, lambda: rows(Collector()))


def _plain_size(columns: Sequence[Sequence[Cell]]) -> int | None:
    """Return the number of characters of columns, or None if their cells must be looked at one by one."""
    size = 0
    for column in columns:
        if not all(cell is None or isinstance(cell, str) for cell in column):
            return None
        text = "".join([cell for cell in column if isinstance(cell, str)])
        if len(text) > limits().cell_chars or not is_storable(text):
            return None
        size += len(text)
    return size


def _check(file: str, number: int, column: str, cell: Cell, meter: Meter, problems: Collector) -> int:
    """Return the number of characters of a cell; a text that cannot be stored is a problem."""
    texts = cell if isinstance(cell, tuple) else (cell.json,) if isinstance(cell, Nested) else (cell or "",)
    for text in texts:
        meter.length(number, len(text))
        if not is_storable(text):
            what = f"a NUL or half a surrogate pair, in {shown(readable(text))}"
            problems.add(file, number, column, what, "whole characters", "Remove that character")
    return sum(map(len, texts))


Batches = Callable[[], "Iterator[pa.RecordBatch]"]


def _batches_of(file: AnyFile, raw: Any) -> tuple[tuple[str, ...], Batches]:
    """Return the column names of a file, and what yields its rows in small batches."""
    import pyarrow as pa  # slow to load, and few imports need it
    from pyarrow import ipc, parquet

    if extension(file.name) in PARQUET:
        texts = [
            field.name
            for field in parquet.read_schema(raw)
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        raw.seek(0)
        # dictionaries stay as they are, so that a small file with a long text in many rows stays small
        table = parquet.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False, read_dictionary=texts)
        groups = (table.metadata.row_group(i).total_byte_size for i in range(table.num_row_groups))
        mean = sum(groups) // max(1, table.metadata.num_rows) + 1
        rows = max(ROWS, min(MOST_ROWS, BATCH_BYTES // mean))
        return tuple(table.schema_arrow.names), lambda: table.iter_batches(batch_size=rows, use_threads=False)
    begins = raw.read(6)
    raw.seek(0)
    if begins == b"ARROW1":
        whole = ipc.open_file(raw)
        found = (whole.get_batch(i) for i in range(whole.num_record_batches))
        return tuple(whole.schema.names), lambda: _sliced(file, found)
    stream = ipc.open_stream(raw)
    return tuple(stream.schema.names), lambda: _sliced(file, stream)


def _sliced(file: AnyFile, batches: Any) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.nbytes > LARGEST_BATCH:
            found, expected = f"a record batch of {batch.nbytes >> 20:,} MB", f"at most {LARGEST_BATCH >> 20} MB"
            todo = "Write the file in smaller batches, or as Parquet"
            raise ImportProblems([Problem(file.name, 0, "", found, expected, todo)])
        for start in range(0, batch.num_rows, ROWS):
            yield batch.slice(start, ROWS)


def _cells(column: Any) -> list[Cell]:
    import pyarrow as pa

    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _cells(column.storage)
    if pa.types.is_dictionary(kind):
        used = column.indices.unique().drop_null()
        texts = dict(zip(used.to_pylist(), _cells(column.dictionary.take(used)), strict=True))
        return [None if i is None else texts[i] for i in column.indices.to_pylist()]
    values = column.to_pylist()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return list(values)
    return [_cell(value) for value in values]


def _cell(value: Any) -> Cell:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return None if math.isnan(value) else repr(value)
        case list() if all(isinstance(item, str) for item in value):
            return tuple(value)
        case list() | dict() | tuple():
            return Nested(json.dumps(value, ensure_ascii=False, default=str))
        case bytes():
            return value.decode("utf-8", "surrogateescape")
    return str(value)


class _ReadErrors:
    """Convert errors of the library. Raises `ImportProblems`."""

    def __init__(self, file: AnyFile) -> None:
        self._name = file.name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowException | OSError | UnicodeDecodeError | MemoryError):
            what = "a Parquet file" if extension(self._name) in PARQUET else "an Arrow file"
            found = f"a file that cannot be read ({' '.join(str(error).split())[:120]})"
            todo = "Write the file again; is its name right?"
            raise ImportProblems([Problem(self._name, 0, "", found, what, todo)]) from error
