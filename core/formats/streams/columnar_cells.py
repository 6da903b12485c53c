"""Convert columns of Arrow to the cells that a CSV with the same values would have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from core.formats.parsing.cells import Cell, Nested, cell_of

if TYPE_CHECKING:
    import pyarrow as pa

CHARACTERS = 4 << 20
"""Characters after which cells that have no text in common are yielded."""
ROWS, BYTES = 100, 16 << 20
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
                    apart[i] = _few(batch.column(i).slice(start, n))
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


def _few(column: Any) -> list[Cell]:
    """Return the first cells of a column, until they have `CHARACTERS`. Raises `LargeCell` if the first one is too large."""
    import pyarrow as pa

    while isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    cells, characters = list[Cell](), 0
    rows = max(1, min(ROWS, BYTES // max(1, column.nbytes)))
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
