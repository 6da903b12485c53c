"""Parquet and Arrow files: read as the texts that a CSV with the same values would have, within the limits, and written in parts."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from core.formats.files import Upload
from core.formats.parsing.cells import Cell, Nested
from core.formats.streams import arrow_files, columnar, parquet_batches
from core.formats.streams.arrow_files import Kind, Size, write_columnar
from core.formats.streams.columnar import columnar_rows
from core.progress import no_progress
from tests.core.formats.problems import problems_of

Maker = Callable[[dict[str, list[Any]]], Upload]


def parquet_file(columns: dict[str, list[Any]]) -> Upload:
    raw = io.BytesIO()
    parquet.write_table(pa.table(columns), raw)
    return Upload("t.parquet", raw.getvalue())


def arrow_file(columns: dict[str, list[Any]]) -> Upload:
    raw = io.BytesIO()
    feather.write_feather(pa.table(columns), raw, compression="uncompressed")
    return Upload("t.arrow", raw.getvalue())


each_maker = pytest.mark.parametrize("make", [parquet_file, arrow_file])


def cells_of(file: Upload, limit: int | None = None) -> list[tuple[Cell, ...]]:
    return [row.cells for row in columnar_rows(file, limit, no_progress).rows]


def refused(file: Upload) -> list[tuple[int, str]]:
    return [(p.row, p.column) for p in problems_of(lambda: columnar_rows(file, None, no_progress).held())]


@each_maker
def test_values_become_the_cells_of_a_csv(make: Maker) -> None:
    file = make({
        "text": ["a", None, " é\n"], "number": [0.1, float("nan"), 3.0], "whole": [1, 2, None], "flag": [True, False, None],
        "references": [["r", "s"], [], None], "nested": [[1], [2, 3], None],
    })  # fmt: skip
    assert cells_of(file) == [
        ("a", "0.1", "1", "true", ("r", "s"), Nested("[1]")),
        (None, None, "2", "false", (), Nested("[2, 3]")),
        (" é\n", "3.0", None, None, None, None),
    ]


@each_maker
def test_a_limit_stops_within_a_batch_and_after_it(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "ROWS", 4)
    monkeypatch.setattr(parquet_batches, "MOST_ROWS", 4)
    file = make({"text": [str(i) for i in range(1, 11)]})
    for limit in (0, 3, 4, 6, 10, 12, None):
        rows = columnar_rows(file, limit, no_progress).rows
        assert [(row.line, row.cells[0]) for row in rows] == [(i, str(i)) for i in range(1, 11)][:limit]


@each_maker
def test_texts_and_names_that_cannot_be_stored_are_named_with_their_row(make: Maker) -> None:
    good_and_bad: list[tuple[Any, Any]] = [("x", "x\0"), (["x", "y"], ["x\0", "y\0"])]
    for good, bad in good_and_bad:
        file = make({"id": ["1", "2", "3", "4"], "text": [good, bad, good, bad]})
        assert sorted(set(refused(file))) == [(2, "text"), (4, "text")]
    assert refused(make({"text": ["x"], "a\0b": ["y"]})) == [(1, "a\\u0000b")]


@each_maker
def test_limits_name_the_first_row_beyond_them(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    # rows of 2 cells and lists of 2, so that the third row has cells 9 to 12; the fifth has a text of 7 characters
    file = make({"text": ["short"] * 4 + ["7 chars"], "references": [["r", "s"]] * 5})
    large = make({"text": ["x" * 400_000] * 4, "references": [["r" * 1000]] * 4})  # 401,000 characters per row
    assert len(cells_of(file)) == 5
    limits = [
        ("ROWS", "3", file, 4),
        ("CELLS", "11", file, 3),
        ("CELL_CHARS", "6", file, 5),
        ("TEXT_MB", "1", large, 3),
    ]
    for limit, value, of, row in limits:
        with monkeypatch.context() as patch:
            patch.setenv(f"ERRORSCOPE_MAX_{limit}", value)
            assert refused(of) == [(row, "")], limit


def test_files_are_the_same_read_by_column_and_cell_by_cell() -> None:
    columns = {"text": ["a", None, "ü"], "references": [["r"], None, []]}
    other = {"other": [{"a": 1}, None, None]}  # a structure is not checked by column
    assert [cells[:2] for cells in cells_of(parquet_file(columns | other))] == cells_of(parquet_file(columns))


@each_maker
def test_dates_beyond_the_range_of_python_are_their_numbers_and_lists_of_them_a_problem(make: Maker) -> None:
    for kind in (pa.timestamp("us"), pa.timestamp("ms", tz="UTC"), pa.date32(), pa.duration("ms")):
        size, far = (pa.int32(), 2**30) if kind == pa.date32() else (pa.int64(), 2**62)
        column = pa.array([1, far, None], size).view(kind)
        assert cells_of(make({"when": column})) == [(str(column[0].as_py()),), (str(far),), (None,)]
    dates = pa.array([2**62], pa.int64()).view(pa.timestamp("us"))
    assert refused(make({"when": pa.ListArray.from_arrays([0, 1], dates)})) == [(0, "")]


def test_damaged_offsets_are_a_problem() -> None:
    good = pa.array(["a" * 50, "b" * 50])
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little", signed=True) for n in (0, 2**30, 100)))
    damaged = pa.Array.from_buffers(pa.string(), 2, [None, offsets, good.buffers()[2]])
    raw = io.BytesIO()
    with pa.ipc.new_file(raw, pa.schema([("text", pa.string())])) as file:
        file.write(pa.record_batch([damaged], names=["text"]))
    assert refused(Upload("t.arrow", raw.getvalue())) == [(0, "")]


COLUMNS: list[tuple[str, Kind]] = [("id", "text"), ("references", "texts"), ("score", "number")]
SHORT: list[list[Any]] = [[str(i), None, 0.5] for i in range(7)]
LONG: list[list[Any]] = [["1234", ["567", "890"], 0.5] for _ in range(7)]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "BATCH", Size(3, 20))
    monkeypatch.setattr(arrow_files, "GROUP", Size(6, 40))


def written(rows: list[list[Any]], *, as_parquet: bool) -> io.BytesIO:
    file = io.BytesIO()
    write_columnar(file, COLUMNS, rows, parquet=as_parquet)
    file.seek(0)
    return file


def test_batches_and_row_groups_end_at_their_rows_or_their_characters() -> None:
    of: list[tuple[list[list[Any]], list[int], list[int]]] = [
        (SHORT, [3, 3, 1], [6, 1]), (LONG, [2, 2, 2, 1], [4, 3]), ([], [], []),
    ]  # fmt: skip
    for rows, batches, groups in of:
        with ipc.open_file(written(rows, as_parquet=False)) as file:
            assert [file.get_batch(i).num_rows for i in range(file.num_record_batches)] == batches
        whole = parquet.ParquetFile(written(rows, as_parquet=True))
        assert [whole.metadata.row_group(i).num_rows for i in range(whole.num_row_groups)] == groups
        assert [list(row.values()) for row in whole.read().to_pylist()] == rows
