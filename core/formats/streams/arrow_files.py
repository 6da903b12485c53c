"""Read the decompressed sizes of the batches of Arrow files, and write rows as Parquet or Arrow files.

The metadata are flatbuffers: https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, BinaryIO, Literal, NamedTuple

MAGIC = b"ARROW1"
_DICTIONARY, _BATCH = 2, 3
"""Types of messages."""


class _Table(NamedTuple):
    """A table in a flatbuffer."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, *struct.unpack_from("<I", data))

    def place(self, field: int) -> int | None:
        """Return where a field is, by its number in the schema; None if it has its default."""
        fields = self.at - self.number_at("i", self.at)
        entry = 4 + 2 * field
        offset = self.number_at("H", fields + entry) if entry < self.number_at("H", fields) else 0
        return self.at + offset if offset else None

    def number_at(self, kind: str, at: int) -> int:
        return int(struct.unpack_from("<" + kind, self.data, at)[0])

    def number(self, field: int, kind: str) -> int:
        at = self.place(field)
        return 0 if at is None else self.number_at(kind, at)

    def table(self, field: int) -> _Table:
        at = self.place(field)
        if at is None:
            raise ValueError("the metadata are incomplete")
        return _Table(self.data, at + self.number_at("I", at))

    def structs(self, field: int, kind: str) -> Iterator[tuple[Any, ...]]:
        if (at := self.place(field)) is None:
            return iter(())
        at += self.number_at("I", at)
        size = self.number_at("I", at) * struct.calcsize(kind)
        return struct.iter_unpack(kind, self.data[at + 4 : at + 4 + size])


class BatchSizes(NamedTuple):
    """The bytes of the largest record batch, and of all dictionaries that are held at once, after decompression."""

    batch: int
    dictionaries: int


def largest_sizes(raw: BinaryIO) -> BatchSizes:
    """Return the largest sizes in an Arrow file.

    Raises `ValueError` or `struct.error` if the metadata are damaged.
    """
    batch, held, dictionaries = 0, 0, dict[int, int]()
    for message, body in _of_file(raw) if raw.read(len(MAGIC)) == MAGIC else _of_stream(raw):
        kind = message.number(1, "B")
        if kind == _BATCH:
            batch = max(batch, _size(raw, message.table(2), body))
        elif kind == _DICTIONARY:
            dictionary = message.table(2)
            number, delta = dictionary.number(0, "q"), dictionary.number(2, "?")
            size = _size(raw, dictionary.table(1), body)
            dictionaries[number] = size + (dictionaries.get(number, 0) if delta else 0)
            held = max(held, sum(dictionaries.values()))
    return BatchSizes(batch, held)


def _of_file(raw: BinaryIO) -> Iterator[tuple[_Table, int]]:
    """Yield the messages that the footer lists, each with the place of its body."""
    end = raw.seek(-len(MAGIC) - 4, 2)
    (size,) = struct.unpack("<i", raw.read(4))
    raw.seek(end - size)
    footer = _Table.root(raw.read(size))
    for field in (2, 3):
        for at, metadata, _ in footer.structs(field, "<qi4xq"):
            if (entry := _message(raw, at)) is not None:
                yield entry[0], at + metadata


def _of_stream(raw: BinaryIO) -> Iterator[tuple[_Table, int]]:
    """Yield the messages one after the other, each with the place of its body."""
    at = 0
    while (entry := _message(raw, at)) is not None:
        yield entry
        message, body = entry
        at = body + max(0, message.number(3, "q"))


def _message(raw: BinaryIO, at: int) -> tuple[_Table, int] | None:
    """Return the message at a place, and where its metadata end; None at the end of the stream."""
    raw.seek(at)
    size = int.from_bytes(raw.read(4), "little", signed=True)
    if size == -1:  # files before Arrow 0.15 lack this marker
        size = int.from_bytes(raw.read(4), "little", signed=True)
    if size <= 0:
        return None
    data = raw.read(size)
    return _Table.root(data), raw.tell()


def _size(raw: BinaryIO, batch: _Table, body: int) -> int:
    """Return the bytes of a batch; each compressed buffer begins with its size, or -1 if it is stored as it is."""
    compressed = batch.place(3) is not None or b"ARROW:experimental_compression" in batch.data
    total = 0
    for offset, length in batch.structs(2, "<qq"):
        size = length
        if compressed and length >= 8:
            raw.seek(body + offset)
            size = max(length, int.from_bytes(raw.read(8), "little", signed=True))
        total += size
    return total


class Size(NamedTuple):
    """What ends a part of a file: this many rows, or about this many characters."""

    rows: int
    characters: int


BATCH = Size(5000, 4_000_000)
GROUP = Size(20_000, 16_000_000)
"""A row group of a Parquet file."""
Kind = Literal["text", "texts", "number"]
"""The type of a column: a text, several texts, or a number; each may be missing."""


def write_columnar(
    file: IO[bytes], columns: Sequence[tuple[str, Kind]], rows: Iterable[Sequence[Any]], *, parquet: bool
) -> None:
    """Write rows to a file, as Parquet or as an Arrow file. Texts stay as they are: nothing is escaped."""
    import pyarrow as pa  # slow to load, and few exports need it
    from pyarrow import ipc
    from pyarrow.parquet import ParquetWriter

    types = {"text": pa.string(), "texts": pa.list_(pa.string()), "number": pa.float64()}
    schema = pa.schema([(name, types[kind]) for name, kind in columns])
    most = GROUP if parquet else BATCH
    with ParquetWriter(file, schema) if parquet else ipc.new_file(file, schema) as writer:
        held, size = list[pa.RecordBatch](), Size(0, 0)
        for some, characters in _batches(rows):
            arrays = [
                pa.array(values, kind) for values, kind in zip(zip(*some, strict=True), schema.types, strict=True)
            ]
            held.append(pa.record_batch(arrays, schema=schema))
            size = Size(size.rows + len(some), size.characters + characters)
            if size.rows >= most.rows or size.characters >= most.characters:
                writer.write_table(pa.Table.from_batches(held))
                held, size = [], Size(0, 0)
        if held:
            writer.write_table(pa.Table.from_batches(held))


def _batches(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[list[Sequence[Any]], int]]:
    """Yield the rows in lists of the size `BATCH`, each with its number of characters."""
    some, characters = list[Sequence[Any]](), 0
    for row in rows:
        some.append(row)
        for value in row:
            if isinstance(value, str):
                characters += len(value)
            elif isinstance(value, list):
                characters += sum(map(len, value))
        if len(some) >= BATCH.rows or characters >= BATCH.characters:
            yield some, characters
            some, characters = [], 0
    if some:
        yield some, characters
