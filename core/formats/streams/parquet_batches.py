"""Read a Parquet file in batches that stay small in memory, also where the file is small because texts repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from core.errors import ImportProblems, Problem
from core.formats.parsing.limits import Meter, limits, too_much
from core.formats.streams import parquet_pages

if TYPE_CHECKING:
    import pyarrow as pa

FEWEST_ROWS, MOST_ROWS = 10, 4000
BATCH_BYTES = 4 << 20
LONGEST_FIXED = 1 << 16
"""Bytes of a value in a column whose values have one length: the library decodes 1,024 of them at once."""
LARGEST_PAGES = 128 << 20
"""Bytes of the pages that the library holds at once after decompression: of each column a dictionary and another page."""
LARGEST_FOOTER = 32 << 20
Batches = Callable[[], "Iterator[pa.RecordBatch]"]


def read(name: str, raw: Any) -> tuple[tuple[str, ...], Batches]:
    """Return the column names of a file, and what yields its rows in batches. Texts are dictionaries, so that equal ones are held once.

    The sizes of pages, rows and lists are compared with the limits before anything is decoded. Raises `ImportProblems` if they exceed
    them, and for encodings that cannot be read in little memory.
    """
    from pyarrow import parquet  # slow to load, and few imports need it

    _check_footer(name, raw)
    table = parquet.ParquetFile(raw)
    _check_rows(name, table)
    rows = max(1, min(MOST_ROWS, BATCH_BYTES // _row_bytes(name, raw, table)))
    columns = [table.schema.column(i) for i in range(len(table.schema))]
    texts = [i for i, column in enumerate(columns) if column.physical_type == "BYTE_ARRAY"]
    flat = [i for i in texts if "." not in columns[i].path or columns[i].path in table.schema_arrow.names]

    def reader(dictionaries: list[int]) -> Any:
        raw.seek(0)
        return parquet.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False, read_dictionary=dictionaries)

    def batches() -> Iterator[pa.RecordBatch]:
        if flat == texts:
            yield from reader(texts).iter_batches(batch_size=rows, use_threads=False)
        else:
            compact, plain = reader(texts), reader(flat)
            for group in range(table.num_row_groups):
                yield from _of_group(compact, plain, group, rows)

    return tuple(table.schema_arrow.names), batches


def _check_footer(name: str, raw: Any) -> None:
    raw.seek(0, 2)
    end = raw.seek(max(0, raw.tell() - 8))
    size = int.from_bytes(raw.read(4), "little")
    raw.seek(0)
    if LARGEST_FOOTER < size <= end:
        found, expected = f"metadata of {size >> 20:,} MB", f"at most {LARGEST_FOOTER >> 20} MB"
        raise ImportProblems([Problem(name, 0, "", found, expected, "Write the file with fewer columns or row groups")])


def _check_rows(name: str, table: Any) -> None:
    """Raise `ImportProblems` if the table has too many columns, rows or cells."""
    n, width = table.metadata.num_rows, len(table.schema_arrow.names)
    Meter(name).columns(1, max(width, len(table.schema)))
    if n > (most := limits().rows):
        raise too_much(name, most + 1, "rows", most)
    if n * width > (most := limits().cells):
        raise too_much(name, most // width + 1, "cells", most)


def _row_bytes(name: str, raw: Any, table: Any) -> int:
    """Return the mean bytes of a row in the file, or in memory if these are more: runs of equal values take little room in a file."""
    columns = [table.schema.column(i) for i in range(len(table.schema))]
    widths = [column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else 8 for column in columns]
    if max(widths, default=0) > LONGEST_FIXED:
        column = columns[widths.index(max(widths))].path
        found, expected = f"binary values of {max(widths):,} bytes", f"at most {LONGEST_FIXED:,} bytes"
        raise ImportProblems([Problem(name, 0, column, found, expected, "Write the column as text")])
    encoded = decoded = entries = 0
    for i in range(table.num_row_groups):
        group, held = table.metadata.row_group(i), 0
        for j, column in enumerate(columns):
            pages = parquet_pages.of_chunk(raw, group.column(j))
            if pages.delta:
                raise _refused(
                    name,
                    column.path,
                    "texts encoded by differences (DELTA_…)",
                    "plain texts",
                    "with the defaults of pandas or Polars",
                )
            encoded += pages.total
            held += pages.dictionary + pages.data
            decoded += pages.values * widths[j]
            entries += pages.values * column.max_repetition_level
            if held > LARGEST_PAGES:
                found = f"pages of {held >> 20:,} MB in row group {i + 1:,}"
                raise _refused(
                    name,
                    column.path,
                    found,
                    f"at most {LARGEST_PAGES >> 20} MB",
                    "with smaller pages (pyarrow: data_page_size, write_batch_size)",
                )
            if entries > limits().cells:
                raise too_much(name, 0, "cells", limits().cells)
    return int(max(encoded, decoded) // max(1, table.metadata.num_rows) + 1)


def _refused(name: str, column: str, found: str, expected: str, todo: str) -> ImportProblems:
    todo = f"Write the file {todo}, or save it as CSV"
    return ImportProblems([Problem(name, 0, column, found, expected, todo)])


def _of_group(compact: Any, plain: Any, group: int, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a row group: with dictionaries in lists as long as Arrow can read them, which it cannot if they change."""
    import pyarrow as pa

    done = 0
    try:
        for batch in compact.iter_batches(batch_size=rows, row_groups=[group], use_threads=False):
            yield batch
            done += batch.num_rows
    except pa.ArrowNotImplementedError:
        yield from _growing(plain, group, rows, done)


def _growing(table: Any, group: int, most: int, done: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a row group after the first `done`, in batches of few rows, then of as many as the longest rows so far allow."""
    rows, longest = min(FEWEST_ROWS, most), 1
    while True:
        begin = 0
        for batch in table.iter_batches(batch_size=rows, row_groups=[group], use_threads=False):
            longest = max(longest, batch.nbytes // max(1, batch.num_rows))
            begin += batch.num_rows
            if begin <= done:
                continue
            yield batch.slice(batch.num_rows - (begin - done))
            done = begin
            fit = min(most, BATCH_BYTES // longest)
            if fit >= 2 * rows:
                rows = min(fit, 8 * rows)
                break
        else:
            return
