"""Small Parquet and Arrow files whose content is large are read in little memory, or refused before they are decompressed."""

from __future__ import annotations

import io
import traceback
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from core.errors import ImportProblems
from core.formats.files import Upload
from core.formats.streams import columnar, parquet_batches
from core.formats.streams.arrow_files import largest_sizes
from core.formats.streams.columnar import columnar_rows
from core.formats.streams.parquet_batches import pages_of_chunk
from core.progress import no_progress

N, LENGTH = 300, 300_000
MB = 1 << 20


@contextmanager
def counted() -> Iterator[pa.MemoryPool]:
    """Yield a pool that counts the bytes that Arrow takes."""
    usual = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counting)
    try:
        yield counting
    finally:
        pa.set_memory_pool(usual)


def parquet_file(column: Any, **options: Any) -> Upload:
    raw = io.BytesIO()
    parquet.write_table(pa.table({"c": column}), raw, store_schema=False, **options)
    return Upload("t.parquet", raw.getvalue())


def arrow_file(column: Any, compression: str | None = "zstd", *, stream: bool = False) -> Upload:
    raw = io.BytesIO()
    table = pa.table({"c": column})
    new = ipc.new_stream if stream else ipc.new_file
    with new(raw, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return Upload("t.arrow", raw.getvalue())


def repeated(value: str | bytes) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array([0] * N, pa.int32()), pa.array([value]))


def in_lists(items: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(range(N + 1), pa.int32()), items)


REPEATED = {
    "lists": lambda: in_lists(repeated("x" * LENGTH)),
    "lists of lists": lambda: in_lists(in_lists(repeated("x" * LENGTH))),
    "structs": lambda: pa.StructArray.from_arrays([repeated("x" * LENGTH)], ["a"]),
    "bytes": lambda: repeated(b"x" * LENGTH),
    "texts": lambda: repeated("x" * LENGTH),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_long_text_in_many_rows_takes_little_memory(kind: str) -> None:
    file = parquet_file(REPEATED[kind]())
    assert len(file.data) < 100_000
    with counted() as pool:
        tracemalloc.start()
        n = sum(1 for _ in columnar_rows(file, None, no_progress).rows)
        in_python = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert n == N
    assert in_python < 64 * MB
    assert (pool.max_memory() or 0) < 64 * MB


@pytest.mark.parametrize("rows_of_a_group", [50, 1000])
@pytest.mark.parametrize("dictionary", [False, 100, 1 << 20])
def test_lists_are_the_same_however_a_file_stores_them(
    rows_of_a_group: int, dictionary: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_batches, "MOST_ROWS", 64)
    monkeypatch.setattr(parquet_batches, "FEWEST_ROWS", 3)
    lists = [None if i % 7 == 0 else [f"text {i}", "same"][: i % 3] for i in range(500)]
    options = {"dictionary_pagesize_limit": dictionary, "data_page_size": 100} if dictionary else {}
    file = parquet_file(lists, row_group_size=rows_of_a_group, use_dictionary=bool(dictionary), **options)
    rows = columnar_rows(file, None, no_progress).rows
    assert [row.cells[0] for row in rows] == [None if texts is None else tuple(texts) for texts in lists]


def test_columns_that_cannot_be_read_in_little_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    long_bytes = parquet_file(pa.array([b"x" * LENGTH] * N, pa.binary(LENGTH)))
    with pytest.raises(ImportProblems, match="binary values of 300,000 bytes; expected at most 65,536 bytes"):
        columnar_rows(long_bytes, 1, no_progress).held()
    for encoding in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"):
        file = parquet_file(["a", "ab"], use_dictionary=False, column_encoding={"c": encoding})
        assert "c: found texts encoded by differences (DELTA_…)" in refused(file)
    many_entries = parquet_file([[1] * 1000] * 100)
    monkeypatch.setenv("ERRORSCOPE_MAX_CELLS", "99999")
    with pytest.raises(ImportProblems, match="more than 99,999 cells"):
        columnar_rows(many_entries, 1, no_progress).held()


def refused(file: Upload) -> str:
    """Return why a file is refused, with little memory taken."""
    said = ""
    with counted() as pool:
        try:
            columnar_rows(file, None, no_progress).held()
        except ImportProblems as error:
            said = str(error)
            traceback.clear_frames(error.__traceback__)  # arrays in the frames of the error are of this pool
    assert (pool.max_memory() or 0) < 8 * MB
    return said


def test_pages_that_are_too_large_are_not_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_batches, "LARGEST_PAGES", MB)
    texts, large = [f"{'x' * 20_000}{i}" for i in range(110)], 1 << 30
    for options in (
        {"use_dictionary": True, "dictionary_pagesize_limit": large},
        {"use_dictionary": False, "data_page_size": large},
        {"use_dictionary": False, "data_page_size": large, "data_page_version": "2.0"},
    ):
        for column in (texts, [[text] for text in texts]):
            file = parquet_file(column, compression="zstd", **options)
            assert len(file.data) < 100_000
            assert "found pages of 2 MB in row group 1; expected at most 1 MB" in refused(file), options
    small = {"dictionary_pagesize_limit": MB // 4, "data_page_size": MB // 4, "write_batch_size": 10}
    assert sum(1 for _ in columnar_rows(parquet_file(texts, **small), None, no_progress).rows) == len(texts)


def test_page_sizes_are_those_of_the_file() -> None:
    texts = [f"text {i}" for i in range(5000)]
    for version in ("1.0", "2.0"):
        for column in (texts, [texts[: n % 3] for n in range(2000)], list(range(5000))):
            file = parquet_file(column, data_page_size=2000, data_page_version=version, dictionary_pagesize_limit=3000)
            chunk = parquet.ParquetFile(io.BytesIO(file.data)).metadata.row_group(0).column(0)
            pages = pages_of_chunk(io.BytesIO(file.data), chunk)
            assert pages.values == chunk.num_values
            assert 0 <= chunk.total_uncompressed_size - pages.total < 60 * chunk.num_values  # with the headers
            assert 0 < pages.data < 40_000


def test_tables_beyond_the_limits_are_refused_from_their_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    file = parquet_file(pa.nulls(10_000_000, pa.int8()))
    assert len(file.data) < 50_000
    assert "line 2000001: found more than 2,000,000 rows" in refused(file)
    monkeypatch.setenv("ERRORSCOPE_MAX_ROWS", "100000000")
    monkeypatch.setenv("ERRORSCOPE_MAX_CELLS", "9999999")
    assert "line 10000000: found more than 9,999,999 cells" in refused(file)
    monkeypatch.setattr(parquet_batches, "LARGEST_FOOTER", 100)
    assert "found metadata of 0 MB" in refused(file)


def test_a_cell_of_too_many_nested_values_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columnar, "VALUES", 1000)
    rows = [[{"a": 1}] * 300] * 7 + [[{"a": 1}] * 600]
    whole = [str(row.cells[0]) for row in columnar_rows(parquet_file(rows[:7]), None, no_progress).rows]
    assert whole == [str(row.cells[0]) for row in columnar_rows(parquet_file(rows[:1] * 7), None, no_progress).rows]
    for file in (parquet_file(rows), arrow_file(rows), arrow_file(rows, stream=True)):
        assert "line 8, c: found a cell with 1,201 nested values" in refused(file)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dictionaries", [False, True])
def test_the_size_of_a_batch_is_known_and_one_that_is_too_large_is_not_decompressed(
    stream: bool, dictionaries: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = pa.array([f"text {i % 900} " * 10 for i in range(1000)])
    stored = texts.dictionary_encode() if dictionaries else texts
    for compression in (None, "zstd", "lz4"):
        largest = largest_sizes(io.BytesIO(arrow_file(stored, compression, stream=stream).data))
        expected = stored.dictionary.nbytes if dictionaries else texts.nbytes
        assert 0 <= (largest.dictionaries if dictionaries else largest.batch) - expected < 256
    monkeypatch.setattr(columnar, "LARGEST_BATCH", MB)
    texts = pa.array([f"{'x' * 10_000}{i}" for i in range(400)])
    file = arrow_file(texts.dictionary_encode() if dictionaries else texts, stream=stream)
    message = "dictionaries of 3 MB" if dictionaries else "a record batch of 3 MB"
    with counted() as pool, pytest.raises(ImportProblems, match=message):
        columnar_rows(file, 1, no_progress).held()
    assert (pool.max_memory() or 0) < MB
