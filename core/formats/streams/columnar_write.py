"""Write rows as Parquet or Arrow (Feather) files, some thousands at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, Any, Literal

from core.formats.streams.stage import batched

ROWS = 5000
"""Rows of a record batch."""
ROWS_OF_A_GROUP = 20_000
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
    groups = ROWS_OF_A_GROUP // ROWS if parquet else 1
    with ParquetWriter(file, schema) if parquet else ipc.new_file(file, schema) as writer:
        held = []
        for some in batched(rows, ROWS):
            arrays = [
                pa.array(values, kind) for values, kind in zip(zip(*some, strict=True), schema.types, strict=True)
            ]
            held.append(pa.record_batch(arrays, schema=schema))
            if len(held) == groups:
                writer.write_table(pa.Table.from_batches(held))
                held = []
        if held:
            writer.write_table(pa.Table.from_batches(held))
