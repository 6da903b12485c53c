"""Read a Parquet file in batches that stay small in memory, checked by the sizes in its page headers.

The headers are structs of Thrift's compact protocol: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
The sizes in the footer are not those that a reader allocates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from core.errors import ImportProblems
from core.formats.parsing.cells import Meter, too_much
from core.formats.problems import refused
from core.settings import load_limits

if TYPE_CHECKING:
    import pyarrow as pa


HEADER_BYTES = 1 << 14
LONGEST_HEADER = 1 << 24
"""Bytes of a header, which may hold the smallest and the largest value of its page."""
_DICTIONARY = 2
"""Type of a page."""
_DELTA_TEXTS = (6, 7)
"""Encodings of texts by differences, whose decoded size is not in the header. Arrow cannot read them as dictionaries."""
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
Fields = Mapping[int, Any]
"""Numbers and structs by the number of their field; texts and lists are left out."""


class ChunkPages(NamedTuple):
    """Of the pages of a column in a row group: the bytes of all, of the largest dictionary and the largest other page, and their values.

    `delta` says whether texts are encoded by differences.
    """

    total: int
    dictionary: int
    data: int
    values: int
    delta: bool


def pages_of_chunk(raw: BinaryIO, chunk: Any) -> ChunkPages:
    """Return the sizes of the pages of a column chunk (`pyarrow.parquet.ColumnChunkMetaData`). Raises `ValueError` if they are damaged."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < at:
        at = chunk.dictionary_page_offset
    end, total, dictionary, data, values, delta = at + chunk.total_compressed_size, 0, 0, 0, 0, False
    while values < chunk.num_values and at < end:
        header, length = _header(raw, at)
        size, compressed = header.get(2, -1), header.get(3, -1)
        if size < 0 or compressed < 0:
            raise ValueError("a page has no size")
        total += size
        if header.get(1) == _DICTIONARY:
            dictionary = max(dictionary, size)
        else:
            data = max(data, size)
            of_page, encoding = (header[5], 2) if 5 in header else (header.get(8, {}), 4)
            values += max(0, of_page.get(1, 0))
            delta = delta or of_page.get(encoding) in _DELTA_TEXTS
        at += length + compressed
    return ChunkPages(total, dictionary, data, values, delta)


def _header(raw: BinaryIO, at: int) -> tuple[Fields, int]:
    """Return the header of the page at a place, and its length in bytes."""
    for most in (HEADER_BYTES, LONGEST_HEADER):
        raw.seek(at)
        read = _Compact(raw.read(most))
        try:
            return read.struct(), read.at
        except IndexError:  # it is longer
            continue
    raise ValueError("a page has no header")


class _Compact:
    """Values of Thrift's compact protocol, read one after the other. Raises `IndexError` at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def struct(self, depth: int = 0) -> Fields:
        """Return the fields of a struct. Raises `ValueError` if it is damaged."""
        return dict(self._fields(depth))

    def _fields(self, depth: int) -> Iterator[tuple[int, Any]]:
        if depth > 8:
            raise ValueError("a page header is nested too deeply")
        number = 0
        while kind := self._byte():
            step, kind = kind >> 4, kind & 15
            number = number + step if step else self._zigzag()
            if kind in (_TRUE, _FALSE):
                continue
            value = self._value(kind, depth)
            if value is not None:
                yield number, value

    def _value(self, kind: int, depth: int) -> Any:
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            head = self._byte()
            for _ in range(self._unsigned() if head >> 4 == 15 else head >> 4):
                if head & 15 in (_TRUE, _FALSE):
                    self._skip(1)
                else:
                    self._value(head & 15, depth + 1)
            return None
        if kind == _BINARY:
            return self._skip(self._unsigned())
        if kind in (_BYTE, _DOUBLE):
            return self._skip(1 if kind == _BYTE else 8)
        if kind == _MAP or kind > _STRUCT:
            raise ValueError("a page header is damaged")
        return self._zigzag()

    def _byte(self) -> int:
        value = self._data[self.at]
        self.at += 1
        return value

    def _skip(self, n: int) -> None:
        self.at += n
        if self.at > len(self._data):
            raise IndexError

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a page header is damaged")

    def _zigzag(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


FEWEST_ROWS, MOST_ROWS = 10, 4000
BATCH_BYTES = 4 << 20
LONGEST_FIXED = 1 << 16
"""Bytes of a value in a column whose values have one length: the library decodes 1,024 of them at once."""
LARGEST_PAGES = 128 << 20
"""Bytes of the pages that the library holds at once after decompression: of each column a dictionary and another page."""
LARGEST_FOOTER = 32 << 20
Batches = Callable[[], "Iterator[pa.RecordBatch]"]


def read_parquet(name: str, raw: Any) -> tuple[tuple[str, ...], Batches]:
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
        got, expected = f"metadata of {size >> 20:,} MB", f"at most {LARGEST_FOOTER >> 20} MB"
        raise refused(name, 0, got, expected, "Write the file with fewer columns or row groups")


def _check_rows(name: str, table: Any) -> None:
    """Raise `ImportProblems` if the table has too many columns, rows or cells."""
    n, width = table.metadata.num_rows, len(table.schema_arrow.names)
    Meter(name).columns(1, max(width, len(table.schema)))
    if n > (most := load_limits().rows):
        raise too_much(name, most + 1, "rows", most)
    if n * width > (most := load_limits().cells):
        raise too_much(name, most // width + 1, "cells", most)


def _row_bytes(name: str, raw: Any, table: Any) -> int:
    """Return the mean bytes of a row in the file, or in memory if these are more: runs of equal values take little room in a file."""
    columns = [table.schema.column(i) for i in range(len(table.schema))]
    widths = [column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else 8 for column in columns]
    if max(widths, default=0) > LONGEST_FIXED:
        column = columns[widths.index(max(widths))].path
        got, expected = f"binary values of {max(widths):,} bytes", f"at most {LONGEST_FIXED:,} bytes"
        raise refused(name, 0, got, expected, "Write the column as text", column)
    encoded = decoded = entries = 0
    for i in range(table.num_row_groups):
        group, held = table.metadata.row_group(i), 0
        for j, column in enumerate(columns):
            pages = pages_of_chunk(raw, group.column(j))
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
                got = f"pages of {held >> 20:,} MB in row group {i + 1:,}"
                raise _refused(
                    name,
                    column.path,
                    got,
                    f"at most {LARGEST_PAGES >> 20} MB",
                    "with smaller pages (pyarrow: data_page_size, write_batch_size)",
                )
            if entries > load_limits().cells:
                raise too_much(name, 0, "cells", load_limits().cells)
    return int(max(encoded, decoded) // max(1, table.metadata.num_rows) + 1)


def _refused(name: str, column: str, got: str, expected: str, todo: str) -> ImportProblems:
    todo = f"Write the file {todo}, or save it as CSV"
    return refused(name, 0, got, expected, todo, column)


def _of_group(compact: Any, plain: Any, group: int, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a row group: with dictionaries in lists as long as Arrow can read them, which it cannot if they change."""
    import pyarrow as pa

    done = 0
    try:
        for batch in compact.iter_batches(batch_size=rows, row_groups=[group], use_threads=False):
            yield batch
            done += batch.num_rows
    except pa.ArrowNotImplementedError:
        yield from _adaptive_batches(plain, group, rows, done)


def _adaptive_batches(table: Any, group: int, most: int, done: int) -> Iterator[pa.RecordBatch]:
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
