"""Write rows as Parquet or Arrow (Feather) files, some thousands at a time, and fewer where texts are long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple


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
