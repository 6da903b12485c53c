"""Planning and previewing an import."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Dataset, OutputKey, Segment
from core.formats import build
from core.formats.columns import guessed
from core.formats.files import Upload
from core.formats.mapping import LineRoles
from core.formats.mapping_warnings import mapping_warnings
from core.formats.parsing.cells import FileTable
from core.formats.streams import file_rows
from core.formats.table import read_table
from core.progress import Cancelled
from core.services.projects import importing
from core.services.projects.importing import ImportPlan, Preview, needs_project, preview, read_files
from tests.builders import small_dataset
from tests.paths import DATA


def up(name: str, text: str) -> Upload:
    return Upload(name, text.encode())


def seen(*files: Upload) -> Preview:
    return preview(read_files(files))


def plan(files: Sequence[Upload]) -> ImportPlan:
    return read_files(files).plan


def test_a_wide_csv_with_scores_of_each_system() -> None:
    head = "id,source,A,B,A_quality,B_quality,A_comet,B_comet,A_TER,B_TER\n"
    got = seen(up("a.csv", head + "1,s,x,y,3,4.5,.7,.8,50,40\n2,t,u,v,1,,.6,,30,20\n"))
    assert got.summary == "2 segments × 2 systems, no references, 1 human score, 7 metric scores (comet ↑, TER ↓)"
    assert got.staged is not None
    assert (got.problems, got.warnings) == ((), ())
    scores = [(h.system, h.segment_id, h.name, h.value) for h in got.staged.dataset().human_scores]
    assert scores == [("A", "1", "quality", 3), ("B", "1", "quality", 4.5), ("A", "2", "quality", 1)]
    comet, ter = got.staged.external()
    assert [comet.values[OutputKey(*key)].value for key in (("A", "", "1"), ("B", "", "2"))] == [0.7, None]
    assert comet.files[0].column == "A_comet, B_comet"
    assert (ter.higher_is_better, ter.values[OutputKey("B", "", "1")].value) == (False, 40)
    (problem,) = seen(up("a.csv", head + "1,s,x,y,3,good,.7,.8,50,40\n2,t,u,v,1,2,.6,.5,30,20\n")).problems
    assert (problem.row, problem.column, problem.got) == (2, "B_quality", "“good”")


def test_rows_of_a_wide_csv_that_repeat_a_segment_are_ratings() -> None:
    for ids in ("id,", ""):
        rows = (("1,", "s,x,y,1,4"), ("1,", "s,x,y,2,5"), ("2,", "t,u,v,3,3"), ("2,", "t,u,v,3,4"))
        text = f"{ids}source,A,B,A_quality,B_quality\n" + "".join(
            (first if ids else "") + row + "\n" for first, row in rows
        )
        got = seen(up("a.csv", text))
        assert got.staged is not None
        assert any("rated several times" in note for note in got.notes)
        assert [h.value for h in got.staged.dataset().human_scores] == [1.5, 4.5, 3, 3.5]
    (problem,) = seen(up("a.csv", "id,source,A,B,A_quality\n1,s,x,y,1\n1,s,x,z,2\n")).problems
    assert problem.expected == "each key once"


def test_files_of_every_kind_are_summed_up() -> None:
    long = 'doc\tseg\tsrc\tref1\tref2\tsystem\thyp\tscore\nd\t1\ts\tr\tq\tA\tx\t0.5\nd\t1\ts\tr\tq\tB\t"y\t\n'
    objects = b'{"id": 1, "references": ["r", "q"], "A": "x"}\n{"id": 2, "references": ["r"], "A": "y"}\n'
    missing = "No segment has a {}; metrics that need one cannot be computed."
    lines = [up("src.txt", "s\ns\n"), up("ref.txt", "r\nr\n"), up("A.txt", "x\n\n")]
    for files, summary, notes in (
        ([up("a.tsv", long)], "1 segment × 2 systems, 2 references, 1 human score", ()),
        (
            [Upload("a.jsonl.gz", gzip.compress(objects))],
            "2 segments × 1 system, 1–2 references",
            (missing.format("source"),),
        ),
        (lines, "2 segments × 1 system, 1 reference", ("1 output is empty.",)),
        ([up("a.csv", "id,source,A\n1,s,x\n")], "1 segment × 1 system, no references", (missing.format("reference"),)),
    ):
        got = seen(*files)
        assert got.staged is not None
        assert (got.summary, got.notes) == (summary, notes)
    staged = seen(up("a.tsv", long)).staged
    assert staged is not None
    assert staged.dataset().outputs[1].text == '"y'


def test_all_problems_of_all_files_are_reported_at_once() -> None:
    workbook = b"PK\x03\x04 xl/workbook.xml"
    files = [
        up("good.csv", "id,A\n1,x\n"), up("ragged.csv", "id,B\n1\n1,2,3\n"), Upload("book.csv", workbook),
        up("notes.txt", "hello\n"), Upload("real.xlsx", workbook),
    ]  # fmt: skip
    got = seen(*files)
    assert (got.staged, got.summary) == (None, "5 problems")
    assert [(p.file, p.got) for p in got.problems] == [
        ("ragged.csv", "1 field"), ("ragged.csv", "3 fields"), ("book.csv", "an Excel workbook"),
        ("notes.txt", "plain text beside tables"), ("real.xlsx", "an Excel workbook"),
    ]  # fmt: skip
    many = seen(up("a.csv", "id,A\n" + "x\n" * 300), up("b.csv", "id,B\n" + "x\n" * 50))
    assert (many.summary, len(many.problems), many.problems[-1].got) == ("350 problems", 201, "150 more problems")
    a = up("a.csv", "id,A\n1,x\n")
    assert seen(a, a).summary == "1 segment × 1 system, no references"
    assert [p.got for p in seen(a, up("a.csv", "id,A\n1,y\n")).problems] == ["2 different files of this name"]
    assert seen().problems[0].got == "no files"


def test_rows_that_cannot_be_read_are_found_wherever_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [up("a.csv", "id,A\n" + "".join(f"{i},x\n" for i in range(1500)) + "1\n")]
    assert [problem.row for problem in plan(files).problems] == [1502]
    assert [problem.row for problem in seen(*files).problems] == [1502]
    # a file that fails late does not make the next one wrong
    monkeypatch.setattr(build, "ROWS", 10)
    outputs = "system,segment_id,output\n" + "".join(f"A,{i},x\n" for i in range(50)) + "A,50,x,one field too many\n"
    scores = "system,segment_id,DA\n" + "".join(f"A,{i},{i}\n" for i in range(50))
    assert [(p.file, p.row) for p in seen(up("a.csv", outputs), up("b.csv", scores)).problems] == [("a.csv", 52)]


def test_averaging_human_scores_reports_progress_and_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "ROWS", 10)
    file = up("a.csv", "system,segment_id,output,DA\n" + "".join(f"A,{i},x,{i}\n" for i in range(100)))
    shares: list[float] = []
    assert preview(read_files([file]), progress=shares.append).staged
    assert shares == sorted(shares)
    assert len(set(shares)) > 10

    def cancel(share: float) -> None:
        if share >= shares[-2]:
            raise Cancelled

    with pytest.raises(Cancelled):
        preview(read_files([file]), progress=cancel)


def test_columns_are_judged_by_fewer_rows_if_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "CHARACTERS", 100)
    judged: list[int] = []

    def noted(judge: Callable[..., Any]) -> Callable[..., Any]:
        def note(table: FileTable, *more: Any) -> Any:
            judged.append(len(table.rows))
            return judge(table, *more)

        return note

    monkeypatch.setattr(importing, "guessed", noted(guessed))
    monkeypatch.setattr(importing, "mapping_warnings", noted(mapping_warnings))
    file = up("a.csv", "system,segment_id,output\n" + "".join(f"A,{i},{'x' * 30}\n" for i in range(10)))
    got = preview(read_files([file]))
    assert judged == [4, 4]
    assert got.summary == "10 segments × 1 system, no references"


def test_segments_without_a_reference_are_counted_in_a_note() -> None:
    some = seen(up("a.csv", "id,source,ref,A\n1,s,r,x\n2,s,,y\n"))
    assert some.notes == ("1 of 2 segments have no reference; metrics that need one leave them out.",)


def test_a_person_can_map_the_columns_and_change_the_roles_of_files() -> None:
    files = [up("a.csv", "k,Ausgangstext,Gold,Eins,Zwei\n1,s,r,x,y\n")]
    guess = plan(files)
    assert guess.tables[0].samples == ("1", "s", "r", "x", "y")
    mapping = guess.tables[0].mapping.with_(segment="k", source="Ausgangstext", systems=("Eins", "Zwei"))
    got = preview(read_files(files), replace(guess, tables=(replace(guess.tables[0], mapping=mapping),)))
    assert got.summary == "1 segment × 2 systems, 1 reference"
    assert got.staged is not None
    assert got.staged.dataset().segments[0].segment_id == "1"
    assert preview(read_files([up("b.csv", "id,A\n1,x\n")]), guess).problems[0].got == "no such file"
    files = [up("one.txt", "s\n"), up("two.txt", "r\n"), up("three.txt", "x\n")]
    roles = LineRoles("one.txt", ("two.txt",), (("three.txt", "My system"),))
    got = preview(read_files(files), replace(plan(files), roles=roles))
    assert got.staged is not None
    assert got.staged.dataset().systems == ("My system",)
    wrong = LineRoles("one.txt", ("one.txt",), (("two.txt", ""), ("gone.txt", "X")))
    refused = preview(read_files(files), replace(plan(files), roles=wrong)).problems
    assert [p.got for p in refused] == ["no such file", "the same file given twice", "a system without a name"]


def test_mqm_labels_are_recognised_and_left_to_their_own_reader() -> None:
    mqm = up(
        "m.tsv",
        "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\nA\td\t1\t1\tr\ts\tt\tNo-error\tNo-error\n",
    )
    assert plan([mqm]).kind == "labels"
    assert seen(mqm).problems == ()
    mixed = seen(mqm, up("a.csv", "id,A\n1,x\n"))
    assert [p.file for p in mixed.problems] == ["m.tsv"]


@pytest.mark.skipif(not DATA.exists(), reason="the shared data stand beside the repository")
def test_real_files_are_planned() -> None:
    def kind(name: str) -> ImportPlan:
        return plan([Upload(name, (DATA / name).read_bytes())])

    assert kind("mqm_ted_zhen.tsv.gz").kind == "labels"
    menli = kind("menli_wmt20_de_adversarial.csv.gz").tables[0].mapping
    assert (menli.segment, menli.source, menli.references) == ("id", "source", ("ref",))


CELLS = st.sampled_from(
    ["", "1", "2", "A", "x", "=1", '"', "é", "0.5", "\t", ",", "\n", "\r\n", "id", "system", "output", "ref", "source"]
)
NAMES = st.sampled_from(["a.csv", "b.tsv", "c.jsonl", "ref.txt", "d.txt", ""])


@given(st.lists(st.tuples(NAMES, st.binary(max_size=40)), max_size=4))
def test_nothing_that_is_uploaded_raises(files: list[tuple[str, bytes]]) -> None:
    got = seen(*(Upload(*f) for f in files))
    assert (got.staged is None) == bool(got.problems) or plan([Upload(*f) for f in files]).kind == "labels"


@given(st.lists(CELLS, max_size=40).map("".join), st.sampled_from(["a.csv", "a.tsv"]))
def test_nothing_that_looks_like_a_table_raises(text: str, name: str) -> None:
    got = seen(up(name, "id,system,output\n" + text))
    assert (got.staged is None) == bool(got.problems)


def test_json_is_lines_or_one_list_or_one_problem_and_a_campaign_is_none() -> None:
    (problem,) = seen(up("a.json", "{\n}")).problems
    assert (problem.row, problem.got) == (1, "one JSON object over several lines")
    assert seen(up("a.json", '[{"system": "A", "output": "x"},\n {"system": "B", "output": "y"}]')).problems == ()
    log = '{"camp": [\n{"user_id": "u", "item_i": 0, "annotation": [], "item": []}]}'
    assert plan([up("annotations.json", log)]) == ImportPlan("labels", formats=(("annotations.json", None),))


def test_a_column_with_the_same_cells_has_one_role_in_all_tables() -> None:
    texts = ("a long source", "another source")
    outputs = up("a.csv", "id,system,output,text\n" + "".join(f"{i},A,x,{text}\n" for i, text in enumerate(texts)))
    alone = up("b.csv", "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts)))
    assert plan([alone]).tables[0].mapping.output == "text"
    for files in ([outputs, alone], [alone, outputs]):
        assert {table.mapping.source for table in plan(files).tables} == {"text"}
        assert seen(*files).summary == "2 segments × 1 system, no references"
    assert "  source: text (as in a.csv)" in plan([outputs, alone]).as_read()
    other = up("b.csv", "id,text\n0,a long source\n1,different\n")
    assert [table.mapping.output for table in plan([outputs, other]).tables] == ["output", "text"]
    taken = up("b.csv", "id,source,text\n" + "".join(f"{i},s{i},{text}\n" for i, text in enumerate(texts)))
    assert [table.mapping.source for table in plan([outputs, taken]).tables] == ["text", "source"]


def test_a_column_that_is_empty_at_first_is_judged_by_later_rows() -> None:
    rows = "".join(f"A,{i},x,{i if i >= 1200 else ''}\n" for i in range(1300))
    assert plan([up("a.csv", "system,segment_id,output,DA\n" + rows)]).tables[0].mapping.human_scores == ("DA",)


def test_wide_tables_and_late_keys_are_kept_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rows, "COLUMNS", 3)
    values: list[dict[str, Any]] = [
        {"a": "1"},
        {"a": None, "b": ["x", "y"], "c": {"d": 1}},
        {f"k{i}": f"{i}" for i in range(9)},
        {"k3": ["z"]},
        {"a": ["a list too large to be remembered " * 1_000]},
    ]
    file = up("a.jsonl", "".join(json.dumps(value) + "\n" for value in values))
    kept = file_rows.FileRows().add_table(file).rows
    in_memory = read_table(file)
    assert kept is not None
    assert (kept.columns, list(kept.rows)) == (in_memory.columns, list(in_memory.rows))


def test_references_alone_belong_to_the_segments_of_a_project() -> None:
    known, numbered = small_dataset(2), Dataset(tuple(Segment("", str(i), None) for i in (1, 2)), ())
    head = "doc,id,reference\ndoc,0,r\ndoc,"
    for file, texts in ((up("r.csv", head + "1,s\n"), known), (up("ref.txt", "r\ns\n"), numbered)):
        read = read_files([file])
        assert needs_project(read.plan) == "references"
        assert preview(read).problems != ()
        got = preview(read, None, texts)
        assert (got.summary, got.problems) == ("references of 2 segments", ())
        assert got.staged is not None
        assert [segment.references for segment in got.staged.dataset().segments] == [("r",), ("s",)]
    for file, texts, wrong in (
        (up("r.csv", head + "7,s\n"), known, "segment “7” of “doc”, which the project does not have"),
        (up("ref.txt", "r\n"), numbered, "1 line"),
        (up("ref.txt", "r\ns\nt\n"), numbered, "3 lines"),
        (up("ref.txt", "r\ns\n"), known, "2 lines"),
    ):
        (problem,) = preview(read_files([file]), None, texts).problems
        assert (problem.file, problem.got) == (file.name, wrong)
