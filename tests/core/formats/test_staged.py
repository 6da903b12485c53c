"""Tables that are checked in small batches on disk give the same import and the same problems as in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import ImportProblems
from core.formats import build
from core.formats.build import Builder
from core.formats.mapping import ColumnMapping, MetricColumn
from core.formats.parsing.cells import FileTable, Nested, TableRow
from core.formats.streams import row_numbers, stage
from tests.core.formats.builder_in_memory import BuilderInMemory
from tests.fakes import small_dataset

COLUMNS = ("doc", "seg", "src", "ref1", "ref2", "sys", "out", "DA", "COMET")
KEYS = st.sampled_from(["0", "1", "2"])
TEXTS = st.sampled_from(["x", "y", "", None])
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "doc": st.sampled_from(["doc", "e", None]),
    "seg": st.one_of(KEYS, st.sampled_from(["", None])),
    "src": st.sampled_from(["s", "s", "t", "", None]),
    "ref1": st.sampled_from(["r", "r", ("r", "q"), ("r",), "", None]),
    "ref2": st.sampled_from(["q", "", None]),
    "sys": st.sampled_from(["A", "B", "C", ""]),
    "out": st.one_of(TEXTS, st.just(Nested("{}"))),
    "DA": st.sampled_from(["1", "1", "2", "x", "", "NA", None]),
    "COMET": st.sampled_from(["0.5", "0.5", "1", "x", "", None]),
}
ROWS = st.lists(st.tuples(*(CELLS[c] for c in COLUMNS)), max_size=14)
LONG = ColumnMapping(
    document="doc", segment="seg", source="src", references=("ref1", "ref2"), system="sys", output="out",
    human_scores=("DA",), metrics=(MetricColumn("COMET", "COMET"),),
)  # fmt: skip
MAPPINGS = [
    LONG,
    LONG.with_(metrics=()),
    LONG.with_(segment=None),
    LONG.with_(segment=None, document=None, metrics=()),
    LONG.with_(document=None, human_scores=()),
    LONG.with_(system=None, system_name="S", segment=None),
    LONG.with_(output=None, source=None, references=()),
    LONG.with_(output=None, source=None, references=(), metrics=()),
    ColumnMapping("wide", "doc", "seg", "src", ("ref1",), systems=("out", "ref2")),
    ColumnMapping("wide", source="src", references=("ref1", "ref2"), systems=("out", "DA")),
]


@pytest.fixture(autouse=True, scope="module")
def small_batches() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "ROWS", 2)
        patch.setattr(stage, "HELD", 2 * stage.PER_SEGMENT)
        patch.setattr(row_numbers, "HELD", 2)
        yield


def result(builder: Builder | BuilderInMemory, tables: list[tuple[FileTable, ColumnMapping]]) -> object:
    try:
        for table, mapping in tables:
            builder.add(table, mapping, f"digest of {table.name}")
        dataset = builder.dataset()
    except ImportProblems as error:
        return error.problems
    notes = builder.staged().notes() if isinstance(builder, Builder) else builder.notes(dataset)
    external = [(e.name, e.higher_is_better, e.files, dict(e.values)) for e in builder.external()]
    human = dataset.human_scores
    if not dataset.outputs:  # scores of stored outputs may come by segment
        human = tuple(sorted(human))
    return dataset.segments, dataset.outputs, human, external, notes


def table(name: str, rows: list[tuple[Any, ...]]) -> FileTable:
    return FileTable(name, COLUMNS, tuple(TableRow(i, row) for i, row in enumerate(rows, start=2)))


@pytest.mark.parametrize("known", [None, small_dataset(2)], ids=["alone", "to a project"])
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(files=st.lists(st.tuples(ROWS, st.sampled_from(MAPPINGS)), min_size=1, max_size=3))
def test_batches_on_disk_are_checked_as_in_memory(
    known: Any, files: list[tuple[list[tuple[Any, ...]], ColumnMapping]]
) -> None:
    tables = [(table(f"{i}.csv", rows), mapping) for i, (rows, mapping) in enumerate(files)]
    assert result(Builder(known), tables) == result(BuilderInMemory(known), tables)


def consistent(n: int, systems: int, order: Callable[[tuple[int, int]], Any]) -> list[tuple[Any, ...]]:
    pairs = sorted(((i, s) for i in range(n) for s in range(systems)), key=order)
    return [(f"d{i // 3}", f"{i}", f"s{i}", f"r{i}", None, f"S{s}", f"{i}/{s}", f"{i}", f"0.{s}") for i, s in pairs]


@pytest.mark.parametrize(
    "order", [lambda p: p, lambda p: (p[1], p[0]), lambda p: hash((7, p))], ids=["segments", "systems", "mixed"]
)
def test_any_order_of_rows_gives_segments_in_their_first_order(order: Callable[[tuple[int, int]], Any]) -> None:
    tables = [(table("a.csv", consistent(40, 7, order)), LONG)]
    assert result(Builder(), tables) == result(BuilderInMemory(), tables)


def test_segments_without_sources_do_not_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "HELD", 10 * stage.PER_SEGMENT)
    builder = Builder()
    rows: list[tuple[Any, ...]] = [("", f"{i}", None, None, None, "A", "x", None, None) for i in range(100)]
    builder.add(table("a.csv", rows), LONG.with_(human_scores=()))
    assert builder.staged().counts().segments == 100
    assert len(builder.stage.segments) <= 12


@pytest.mark.parametrize("rows", [1, 10, 10_000])
def test_parts_hold_each_segment_whole_and_once(rows: int) -> None:
    builder = Builder()
    builder.add(table("a.csv", consistent(40, 7, lambda p: (p[1], p[0]))), LONG)
    staged = builder.staged()
    parts = list(staged.parts(lambda: rows))
    assert len(parts) == (40 if rows < 20 else 1)
    assert [s for part in parts for s in part.texts.segments] == list(staged.dataset().segments)
    assert all({o.key.segment for o in p.texts.outputs} == {s.key for s in p.texts.segments} for p in parts)
    assert sum(part.rows for part in parts) == staged.n_rows
