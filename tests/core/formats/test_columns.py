"""Columns: names that are recognised, and datasets that come of them."""

from __future__ import annotations

from core.data import Dataset, HumanScore, Output, Segment
from core.errors import Problem
from core.formats.build import Builder
from core.formats.columns import guess
from core.formats.files import Upload
from core.formats.mapping import ColumnMapping
from core.formats.parsing.cells import FileTable
from core.formats.table import read_table
from tests.core.formats.problems import problems_of


def table(text: str, name: str = "a.csv") -> FileTable:
    return read_table(Upload(name, text.encode()))


def to_dataset(table: FileTable, mapping: ColumnMapping) -> Dataset:
    builder = Builder()
    builder.add(table, mapping)
    return builder.staged().dataset()


def dataset(text: str, name: str = "a.csv") -> Dataset:
    t = table(text, name)
    return to_dataset(t, guess(t))


def problems(text: str, mapping: ColumnMapping | None = None, name: str = "a.csv") -> tuple[Problem, ...]:
    t = table(text, name)
    return problems_of(to_dataset, t, mapping or guess(t))


LONG = "doc_id,segment_id,source,reference,system,output,MQM\nd,1,s1,r1,A,a1,-2\nd,1,s1,r1,B,b1,\nd,2,s2,r2,A,a2,0.5\nd,2,s2,r2,B,,-1e1\n"


def test_a_long_table_becomes_a_dataset_in_file_order() -> None:
    got = dataset(LONG)
    assert got.segments == (Segment("d", "1", "s1", ("r1",)), Segment("d", "2", "s2", ("r2",)))
    texts = [("A", "1", "a1"), ("B", "1", "b1"), ("A", "2", "a2"), ("B", "2", "")]
    assert got.outputs == tuple(Output(system, "d", segment, text) for system, segment, text in texts)
    scores = [("A", "1", -2.0), ("A", "2", 0.5), ("B", "2", -10.0)]
    assert got.human_scores == tuple(HumanScore(system, "d", segment, "MQM", v) for system, segment, v in scores)


def test_a_wide_table_has_a_system_a_column() -> None:
    got = dataset("id,Source,Ref1,Ref2,GPT-4,Online A\n7,s,r,,x,y\n3,s2,r1,r2,,z\n")
    assert got.systems == ("GPT-4", "Online A")
    assert got.segments == (Segment("", "7", "s", ("r",)), Segment("", "3", "s2", ("r1", "r2")))
    assert [o.text for o in got.outputs] == ["x", "y", "", "z"]


def test_usual_names_are_recognised() -> None:
    expected: dict[str, dict[str, object]] = {
        "doc,seg,src,ref,sys,hyp": {
            "document": "doc", "segment": "seg", "source": "src", "references": ("ref",), "system": "sys", "output": "hyp",
        },
        "DocID,Line,Input,refA,refB,Model,MT": {
            "document": "DocID", "segment": "Line", "references": ("refA", "refB"), "system": "Model", "output": "MT",
        },
        "id,source,target,system_id,candidate": {"references": ("target",), "output": "candidate"},
        "id,source,target,system": {"references": (), "output": "target", "layout": "long"},
        "source,reference_1,reference-2,A,B": {
            "layout": "wide", "systems": ("A", "B"), "references": ("reference_1", "reference-2"),
        },
        "source,refined,lang": {"layout": "wide", "systems": ("refined",)},
    }  # fmt: skip
    for header, roles in expected.items():
        mapping = guess(table(header + "\n" + ",".join("x" * len(header.split(","))) + "\n"))
        assert {name: getattr(mapping, name) for name in roles} == roles
    mapping = guess(table("document,summary,model,id\n" + "a long story " * 20 + ",short,A,1\n"))
    assert (mapping.source, mapping.document, mapping.output) == ("document", None, "summary")


def test_numbers_left_over_are_human_scores_and_text_is_not() -> None:
    mapping = guess(table("id,system,output,score,DA,comment,segment_number,empty\n1,A,x,3,,3,9,\n2,A,y,,4.5,no,9,\n"))
    assert mapping.human_scores == ("score", "DA")  # segment_number is an ID by its name
    assert "comment" not in mapping.columns()


def test_rows_without_ids_are_numbered_by_document_and_system() -> None:
    got = dataset("source,output\ns,x\ns2,y\n", "my.system.csv.gz")  # without such a column, the file is the system
    assert (got.systems, [s.segment_id for s in got.segments]) == (("my.system",), ["1", "2"])
    got = dataset("doc,system,output\nd,A,a1\nd,A,a2\ne,A,a3\nd,B,b1\nd,B,b2\ne,B,b3\n")
    assert [s.key for s in got.segments] == [("d", "1"), ("d", "2"), ("e", "1")]
    assert [o.text for o in got.outputs] == ["a1", "b1", "a2", "b2", "a3", "b3"]
    (problem,) = problems("system,output\nA,1\nA,2\nB,1\n")
    assert (problem.got, problem.expected) == ("1 row of B", "2, as A has")


def test_an_output_rated_several_times_has_the_mean_and_a_note() -> None:
    staged = both("seg,system,output,DA,fluency\n1,A,x,80,\n1,A,x,90,3\n1,A,x,100,4\n2,A,y,50,1\n").staged()
    got = staged.dataset()
    means = [("1", "DA", 90.0), ("1", "fluency", 3.5), ("2", "DA", 50.0), ("2", "fluency", 1.0)]
    assert [h[2:] for h in got.human_scores] == means
    assert [o.text for o in got.outputs] == ["x", "y"]
    assert "rated several times (2 further rows)" in " ".join(staged.notes())
    equal = dataset("seg,system,output,DA\n1,A,x,0\n1,A,x,0\n1,A,x,0.3\n1,B,y,0\n1,B,y,0.1\n1,B,y,0.2\n")
    assert [score.value for score in equal.human_scores] == [0.1, 0.1]
    for text, column, first in (
        ("seg,system,source,output,DA\n1,A,Is it red?,Yes.,5\n1,A,Is it blue?,Yes.,1\n", "source", "“Is it red?”"),
        ("seg,system,ref,output,DA\n1,A,r,x,5\n1,A,R,x,1\n", "ref", "“r”"),
    ):
        (problem,) = problems(text)
        assert (problem.row, problem.column, problem.expected) == (3, column, first)


def test_without_ids_rows_of_the_same_texts_are_ratings_if_every_output_stands_in_several() -> None:
    rows = [f"{mr},{ref},{s},{s} {mr},{score}" for mr, ref in ("ab", "cd", "ab") for s in "AB" for score in (1, 2, 6)]
    got = dataset("mr,ref,system,output,quality\n" + "\n".join(rows) + "\n")
    assert [(s.source, s.references) for s in got.segments] == [("a", ("b",)), ("c", ("d",))]
    assert [h.value for h in got.human_scores] == [3.0] * 4
    once = dataset("mr,ref,system,output,quality\n" + "\n".join(rows[::3]) + "\n")
    assert len(once.segments) == 3  # each output stands once, or twice for equal sources: rows are matched by order


def test_no_score_is_no_problem_and_no_number() -> None:
    mapping = ColumnMapping(segment="seg", system="system", output="output", human_scores=("DA",))
    for score in ("", "NaN", "None", "n/a"):
        assert to_dataset(table(f"seg,system,output,DA\n1,A,x,{score}\n"), mapping).human_scores == ()


def test_every_problem_is_reported_at_once() -> None:
    rows = "seg,system,ref,output,DA\n1,A,r,x,1\n1,A,r,z,1\n1,B,R,y,2\n,B,R,y,2\n2,B,r,y,x\n2,,r,y,1\n"
    usual = ColumnMapping(segment="seg", system="system", references=("ref",), output="output", human_scores=("DA",))
    found = problems(rows, usual)
    assert [p.row for p in found] == [3, 4, 5, 6, 7]
    assert [(p.column, p.expected) for p in (found[2], found[4])] == [
        ("seg", "a segment id"), ("system", "the name of a system"),
    ]  # fmt: skip
    assert problems("source,reference\ns,r\n")[-1].got == "no outputs"


def test_a_mapping_that_does_not_fit_is_a_problem() -> None:
    found = problems(LONG, ColumnMapping(segment="sentence", output="output", source="output", system="system"))
    roles = [("sentence", "a column sentence"), ("output", "one role per column")]
    assert [(p.column, p.expected) for p in found] == roles
    for mapping, message in (
        (ColumnMapping(system_name="x"), "a column with outputs"),
        (ColumnMapping(layout="wide"), "a column with outputs, or one for each system"),
    ):
        assert problems("a,b\n1,2\n", mapping)[0].expected == message
    assert problems("a,b\n1,2\n", ColumnMapping(output="a"))[0].got == "no system"


def test_json_lists_are_references_and_nothing_else_and_null_is_no_output() -> None:
    got = dataset('{"id": 1, "references": ["r1", "r2"], "system": "A", "output": "x"}\n', "a.jsonl")
    assert got.segments[0].references == ("r1", "r2")
    for text, column in (
        ('{"id": 1, "system": "A", "output": ["x"]}\n', "output"),
        ('{"segment_id": ["1", "2"], "system": "A", "output": "a"}\n', "segment_id"),
    ):
        assert [(p.row, p.column, p.got) for p in problems(text, name="a.jsonl")] == [(1, column, "a list")]
    got = dataset('{"id": 1, "system": "A", "output": ""}\n{"id": 2, "system": "A", "output": null}\n', "a.jsonl")
    assert (got.outputs, len(got.segments)) == ((Output("A", "", "1", ""),), 2)


def both(*texts: str) -> Builder:
    builder = Builder()
    for i, text in enumerate(texts):
        t = table(text, f"{i}.csv")
        builder.add(t, guess(t))
    return builder


def test_what_tables_say_differently_names_the_other_file() -> None:
    builder = both("id,source,system,output\n1,s,A,x\n", "id,source,system,output\n1,S,A,y\n")
    problems = problems_of(lambda: builder.staged().dataset())
    assert [p.column for p in problems] == ["source", "output"]
    assert all("0.csv, line 2" in p.got and p.file == "1.csv" for p in problems)
