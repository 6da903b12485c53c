"""Parquet and Arrow files are written in parts that fit into memory."""

from __future__ import annotations

import io
from typing import Any

import pytest
from pyarrow import ipc, parquet

from core.formats.streams import arrow_files
from core.formats.streams.arrow_files import Kind, Size, write_columnar

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


@pytest.mark.parametrize(("rows", "sizes"), [(SHORT, [3, 3, 1]), (LONG, [2, 2, 2, 1]), ([], [])])
def test_a_batch_ends_at_its_rows_or_its_characters(rows: list[list[Any]], sizes: list[int]) -> None:
    with ipc.open_file(written(rows, as_parquet=False)) as file:
        assert [file.get_batch(i).num_rows for i in range(file.num_record_batches)] == sizes


@pytest.mark.parametrize(("rows", "sizes"), [(SHORT, [6, 1]), (LONG, [4, 3]), ([], [])])
def test_a_row_group_ends_at_its_rows_or_its_characters(rows: list[list[Any]], sizes: list[int]) -> None:
    file = parquet.ParquetFile(written(rows, as_parquet=True))
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == sizes
    assert [list(row.values()) for row in file.read().to_pylist()] == rows
