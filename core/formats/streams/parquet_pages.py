"""Read from the page headers of a Parquet file how large its pages are once they are decompressed, without decompressing them.

The headers are structs of Thrift's compact protocol: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
The sizes in the footer are not those that a reader allocates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

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


def of_chunk(raw: BinaryIO, chunk: Any) -> ChunkPages:
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
