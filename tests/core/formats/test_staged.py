"""Tables that are checked in small batches on disk give the same import and the same problems as in one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Dataset, HumanScore, Output, OutputKey, Segment, Value
from core.errors import ImportProblems
from core.formats import build
from core.formats.build import Builder
from core.formats.mapping import ColumnMapping, MetricColumn
from core.formats.parsing.cells import FileTable, Nested, TableRow
from core.formats.streams import row_numbers, stage
from tests.builders import small_dataset

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


@contextmanager
def batches_of(rows: int) -> Iterator[None]:
    """Check so many rows at once, and hold as many segments in memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "ROWS", rows)
        patch.setattr(stage, "HELD", rows * stage.PER_SEGMENT)
        patch.setattr(row_numbers, "HELD", rows)
        yield


def result(tables: list[tuple[FileTable, ColumnMapping]], known: Dataset | None = None, rows: int = 2) -> Any:
    with batches_of(rows):
        builder = Builder(known)
        try:
            for table, mapping in tables:
                builder.add(table, mapping)
            dataset = builder.staged().dataset()
        except ImportProblems as error:
            return error.problems
        external = [(e.name, e.higher_is_better, e.files, dict(e.values)) for e in builder.staged().external()]
        human = dataset.human_scores
        if not dataset.outputs:  # scores of stored outputs may come by segment
            human = tuple(sorted(human))
        return dataset.segments, dataset.outputs, human, external, builder.staged().notes()


def table(name: str, rows: list[tuple[Any, ...]]) -> FileTable:
    return FileTable(name, COLUMNS, [TableRow(i, row) for i, row in enumerate(rows, start=2)], (), f"digest of {name}")


@pytest.mark.parametrize("known", [None, small_dataset(2)], ids=["alone", "to a project"])
@given(files=st.lists(st.tuples(ROWS, st.sampled_from(MAPPINGS)), min_size=1, max_size=3))
def test_batches_on_disk_are_checked_as_one_in_memory(
    known: Any, files: list[tuple[list[tuple[Any, ...]], ColumnMapping]]
) -> None:
    tables = [(table(f"{i}.csv", rows), mapping) for i, (rows, mapping) in enumerate(files)]
    assert result(tables, known) == result(tables, known, rows=1000)


def consistent(n: int, systems: int, order: Callable[[tuple[int, int]], Any]) -> list[tuple[Any, ...]]:
    pairs = sorted(((i, s) for i in range(n) for s in range(systems)), key=order)
    return [(f"d{i // 3}", f"{i}", f"s{i}", f"r{i}", None, f"S{s}", f"{i}/{s}", f"{i}", f"0.{s}") for i, s in pairs]


@pytest.mark.parametrize(
    "order", [lambda p: p, lambda p: (p[1], p[0]), lambda p: hash((7, p))], ids=["segments", "systems", "mixed"]
)
def test_any_order_of_rows_gives_segments_in_their_first_order(order: Callable[[tuple[int, int]], Any]) -> None:
    rows = consistent(40, 7, order)
    names, systems = list(dict.fromkeys(row[1] for row in rows)), list(dict.fromkeys(row[5] for row in rows))
    segments, outputs, human, [external], notes = result([(table("a.csv", rows), LONG)])
    place = {name: f"d{int(name) // 3}" for name in names}
    assert segments == tuple(Segment(place[name], name, f"s{name}", (f"r{name}",)) for name in names)
    keys = [OutputKey(system, place[name], name) for name in names for system in systems]
    assert outputs == tuple(Output(*key, f"{key.segment_id}/{key.system[1:]}") for key in keys)
    assert human == tuple(HumanScore(*key, "DA", float(key.segment_id)) for key in keys)
    assert external[:2] == ("COMET", True)
    assert external[3] == {key: Value(float(f"0.{key.system[1:]}")) for key in keys}


def test_tables_complete_each_other() -> None:
    rows = [("d", "1", None, ("r", "q"), None, "A", "x", "1", None), ("d", "1", "s", None, None, "A", "x", "3", "0.5")]
    more = [("d", "1", "s", None, None, "B", "y", None, "0.25"), ("d", "1", "s", "r", None, "A", "x", "2", "NA")]
    rated = LONG.with_(metrics=())
    segments, outputs, human, external, notes = result([(table("a.csv", rows), rated), (table("b.csv", more), LONG)])
    assert segments == (Segment("d", "1", "s", ("r", "q")),)
    assert [(o.system, o.text) for o in outputs] == [("A", "x"), ("B", "y")]
    assert human == (HumanScore("A", "d", "1", "DA", 2.0),)  # the mean of a.csv, which b.csv repeats
    assert {key.system: value.value for key, value in external[0][3].items()} == {"A": None, "B": 0.25}
    assert any("rated several times (1 further row)" in note for note in notes)
    assert any("1 output already in another file" in note for note in notes)
    assert any("COMET: 1 output without a score" in note for note in notes)


def row(**cells: Any) -> tuple[Any, ...]:
    usual = {"doc": "d", "seg": "1", "src": "s", "ref1": "r", "sys": "A", "out": "x", "DA": "1", "COMET": "0.5"}
    return tuple((usual | cells).get(column) for column in COLUMNS)


PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    # first row, second row, the problem in one table (of another system) and in two tables; "" for none
    "same": ({}, {}, "", ""),
    "no source": ({}, {"src": None}, "", ""),
    "source later": ({"src": None}, {}, "", ""),
    "other source": ({}, {"src": "t"}, "another source", "another source"),
    "more references": ({}, {"ref1": ("r", "q")}, "other references", ""),
    "fewer references": ({"ref1": ("r", "q")}, {}, "other references", ""),
    "no references": ({}, {"ref1": None}, "", ""),
    "references later": ({"ref1": None}, {}, "", ""),
    "other references": ({}, {"ref1": "q"}, "other references", "other references"),
    "other output": ({}, {"out": "y"}, "", "another output of A"),
    "other human score": ({}, {"DA": "2"}, "", "2"),
    "other metric score": ({}, {"COMET": "0.25"}, "", "0.25"),
    "metric score later": ({"COMET": "NA"}, {}, "", ""),
    "no number": ({}, {"DA": "many"}, "many", "many"),
    "no system": ({}, {"sys": ""}, "nothing", "nothing"),
    "no segment": ({}, {"seg": None}, "nothing", "nothing"),
}


@pytest.mark.parametrize("rows", [1, 1000])
def test_rows_of_a_segment_agree_within_and_between_tables(rows: int) -> None:
    for name, (first, second, in_one, in_two) in PAIRS.items():
        one = [(table("a.csv", [row(**first), row(**({"sys": "B"} | second))]), LONG)]
        two = [(table("a.csv", [row(**first)]), LONG), (table("b.csv", [row(**second)]), LONG)]
        for tables, expected in ((one, in_one), (two, in_two)):
            found = result(tables, rows=rows)
            problems = [] if isinstance(found[0], tuple) and isinstance(found[0][0], Segment) else found
            assert [expected in problem.got for problem in problems] == [True] * bool(expected), (name, found)


def test_rows_without_outputs_and_repeated_keys_are_named() -> None:
    *_, notes = result([(table("a.csv", [row(), row(sys="C"), row(sys="B", out=None, DA=None, COMET=None)]), LONG)])
    assert "a.csv: 1 row without an output." in notes
    [problem] = result([(table("a.csv", [row(), row()]), LONG)])
    assert (problem.row, problem.got) == (3, "A, segment 1 of d again, as in line 2")
    [problem] = result([(table("a.csv", [row(), row(sys="B", out=None)]), LONG.with_(metrics=()))])
    assert "a score of B for segment" in problem.got
    mapping = LONG.with_(output=None, source=None, references=(), metrics=())
    [problem] = result([(table("a.csv", [row(sys="Z", doc="doc")]), mapping)], known=small_dataset(2))
    assert problem.got == "a system named “Z”"


def test_outputs_up_to_the_row_limit_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [(table("a.csv", [row()]), ColumnMapping("wide", "doc", "seg", systems=("src", "out", "sys")))]
    monkeypatch.setenv("ERRORSCOPE_MAX_ROWS", "3")
    assert len(result(tables)[1]) == 3
    monkeypatch.setenv("ERRORSCOPE_MAX_ROWS", "2")
    assert [problem.got for problem in result(tables)] == ["more than 2 rows, lines or outputs"]


def test_segments_without_sources_do_not_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "ROWS", 2)
    monkeypatch.setattr(stage, "HELD", 10 * stage.PER_SEGMENT)
    builder = Builder()
    rows: list[tuple[Any, ...]] = [("", f"{i}", None, None, None, "A", "x", None, None) for i in range(100)]
    builder.add(table("a.csv", rows), LONG.with_(human_scores=()))
    assert builder.staged().counts().segments == 100
    assert len(builder.stage.segments) <= 12


def test_parts_hold_each_segment_whole_and_once() -> None:
    with batches_of(2):
        builder = Builder()
        builder.add(table("a.csv", consistent(40, 7, lambda p: (p[1], p[0]))), LONG)
        staged = builder.staged()
        for rows, n_parts in ((1, 40), (10, 40), (10_000, 1)):
            parts = list(staged.parts(lambda rows=rows: rows))  # type: ignore[misc]
            assert len(parts) == n_parts
            assert [s for part in parts for s in part.texts.segments] == list(staged.dataset().segments)
            assert all({o.key.segment for o in p.texts.outputs} == {s.key for s in p.texts.segments} for p in parts)
            assert sum(part.rows for part in parts) == staged.n_rows
