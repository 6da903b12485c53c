"""Columns: names that are recognised, and datasets that come of them."""

from __future__ import annotations

import pytest

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
    assert got.outputs == (
        Output("A", "d", "1", "a1"),
        Output("B", "d", "1", "b1"),
        Output("A", "d", "2", "a2"),
        Output("B", "d", "2", ""),
    )
    assert got.human_scores == (
        HumanScore("A", "d", "1", "MQM", -2.0),
        HumanScore("A", "d", "2", "MQM", 0.5),
        HumanScore("B", "d", "2", "MQM", -10.0),
    )


def test_a_wide_table_has_a_system_a_column() -> None:
    got = dataset("id,Source,Ref1,Ref2,GPT-4,Online A\n7,s,r,,x,y\n3,s2,r1,r2,,z\n")
    assert got.systems == ("GPT-4", "Online A")
    assert got.segments == (Segment("", "7", "s", ("r",)), Segment("", "3", "s2", ("r1", "r2")))
    assert [o.text for o in got.outputs] == ["x", "y", "", "z"]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            "doc,seg,src,ref,sys,hyp",
            {
                "document": "doc",
                "segment": "seg",
                "source": "src",
                "references": ("ref",),
                "system": "sys",
                "output": "hyp",
            },
        ),
        (
            "DocID,Line,Input,refA,refB,Model,MT",
            {"document": "DocID", "segment": "Line", "references": ("refA", "refB"), "system": "Model", "output": "MT"},
        ),
        ("id,source,target,system_id,candidate", {"references": ("target",), "output": "candidate"}),
        ("id,source,target,system", {"references": (), "output": "target", "layout": "long"}),
        (
            "source,reference_1,reference-2,A,B",
            {"layout": "wide", "systems": ("A", "B"), "references": ("reference_1", "reference-2")},
        ),
        ("source,refined,lang", {"layout": "wide", "systems": ("refined",)}),
    ],
)
def test_usual_names_are_recognised(header: str, expected: dict[str, object]) -> None:
    mapping = guess(table(header + "\n" + ",".join("x" * len(header.split(","))) + "\n"))
    assert {name: getattr(mapping, name) for name in expected} == expected


def test_numbers_left_over_are_human_scores_and_text_is_not() -> None:
    mapping = guess(table("id,system,output,score,DA,comment,segment_number,empty\n1,A,x,3,,3,9,\n2,A,y,,4.5,no,9,\n"))
    assert mapping.human_scores == ("score", "DA")  # segment_number is an ID by its name
    assert "comment" not in mapping.columns()


def test_a_long_document_beside_summaries_is_the_source() -> None:
    text = "document,summary,model,id\n" + "a long story " * 20 + ",short,A,1\n"
    mapping = guess(table(text))
    assert (mapping.source, mapping.document, mapping.output) == ("document", None, "summary")


def test_without_a_system_column_the_file_is_the_system() -> None:
    got = dataset("source,output\ns,x\ns2,y\n", "my.system.csv.gz")
    assert got.systems == ("my.system",)
    assert [s.segment_id for s in got.segments] == ["1", "2"]


def test_rows_without_ids_are_numbered_by_document_and_system() -> None:
    got = dataset("doc,system,output\nd,A,a1\nd,A,a2\ne,A,a3\nd,B,b1\nd,B,b2\ne,B,b3\n")
    assert [s.key for s in got.segments] == [("d", "1"), ("d", "2"), ("e", "1")]
    assert [o.text for o in got.outputs] == ["a1", "b1", "a2", "b2", "a3", "b3"]


def test_without_ids_systems_need_equally_many_rows() -> None:
    (problem,) = problems("system,output\nA,1\nA,2\nB,1\n")
    assert (problem.got, problem.expected) == ("1 row of B", "2, as A has")


def test_an_output_rated_several_times_has_the_mean_and_a_note() -> None:
    builder = both("seg,system,output,DA,fluency\n1,A,x,80,\n1,A,x,90,3\n1,A,x,100,4\n2,A,y,50,1\n")
    got = builder.staged().dataset()
    assert got.human_scores == (
        HumanScore("A", "", "1", "DA", 90.0),
        HumanScore("A", "", "1", "fluency", 3.5),
        HumanScore("A", "", "2", "DA", 50.0),
        HumanScore("A", "", "2", "fluency", 1.0),
    )
    assert [o.text for o in got.outputs] == ["x", "y"]
    assert "rated several times (2 further rows)" in " ".join(builder.staged().notes())
    equal = (
        both("seg,system,output,DA\n1,A,x,0\n1,A,x,0\n1,A,x,0.3\n1,B,y,0\n1,B,y,0.1\n1,B,y,0.2\n").staged().dataset()
    )
    assert [score.value for score in equal.human_scores] == [0.1, 0.1]


def test_a_further_rating_with_other_texts_is_a_problem() -> None:
    (problem,) = problems("seg,system,source,output,DA\n1,A,Is it red?,Yes.,5\n1,A,Is it blue?,Yes.,1\n")
    assert (problem.row, problem.column, problem.expected) == (3, "source", "“Is it red?”")
    (problem,) = problems("seg,system,ref,output,DA\n1,A,r,x,5\n1,A,R,x,1\n")
    assert (problem.row, problem.column, problem.expected) == (3, "ref", "“r”")


def test_without_ids_rows_of_the_same_texts_are_ratings_if_every_output_stands_in_several() -> None:
    rows = [f"{mr},{ref},{s},{s} {mr},{score}" for mr, ref in ("ab", "cd", "ab") for s in "AB" for score in (1, 2, 6)]
    got = dataset("mr,ref,system,output,quality\n" + "\n".join(rows) + "\n")
    assert [(s.source, s.references) for s in got.segments] == [("a", ("b",)), ("c", ("d",))]
    assert [h.value for h in got.human_scores] == [3.0] * 4
    once = dataset("mr,ref,system,output,quality\n" + "\n".join(rows[::3]) + "\n")
    assert len(once.segments) == 3  # each output stands once, or twice for equal sources: rows are matched by order


@pytest.mark.parametrize("score", ["", "NaN", "None", "n/a"])
def test_no_score_is_no_problem_and_no_number(score: str) -> None:
    mapping = ColumnMapping(segment="seg", system="system", output="output", human_scores=("DA",))
    assert to_dataset(table(f"seg,system,output,DA\n1,A,x,{score}\n"), mapping).human_scores == ()


def test_an_empty_segment_id_or_system_is_a_problem() -> None:
    found = problems("seg,system,output\n,A,x\n1,,x\n")
    assert [(p.row, p.column, p.expected) for p in found] == [
        (2, "seg", "a segment id"),
        (3, "system", "the name of a system"),
    ]


def test_every_problem_is_reported_at_once() -> None:
    found = problems(
        "seg,system,ref,output,DA\n1,A,r,x,1\n1,A,r,z,1\n1,B,R,y,2\n,B,R,y,2\n2,B,r,y,x\n",
        ColumnMapping(segment="seg", system="system", references=("ref",), output="output", human_scores=("DA",)),
    )
    assert [p.row for p in found] == [3, 4, 5, 6]


def test_a_mapping_that_does_not_fit_is_a_problem() -> None:
    found = problems(LONG, ColumnMapping(segment="sentence", output="output", source="output", system="system"))
    assert [(p.column, p.expected) for p in found] == [
        ("sentence", "a column sentence"),
        ("output", "one role per column"),
    ]
    assert problems("a,b\n1,2\n", ColumnMapping(system_name="x"))[0].expected == "a column with outputs"
    assert (
        problems("a,b\n1,2\n", ColumnMapping(layout="wide"))[0].expected
        == "a column with outputs, or one for each system"
    )
    assert problems("a,b\n1,2\n", ColumnMapping(output="a"))[0].got == "no system"


def test_references_alone_are_no_dataset() -> None:
    assert problems("source,reference\ns,r\n")[-1].got == "no outputs"


def test_json_lists_are_references_and_nothing_else() -> None:
    got = dataset('{"id": 1, "references": ["r1", "r2"], "system": "A", "output": "x"}\n', "a.jsonl")
    assert got.segments[0].references == ("r1", "r2")
    (problem,) = problems('{"id": 1, "system": "A", "output": ["x"]}\n', name="a.jsonl")
    assert (problem.row, problem.column, problem.got) == (1, "output", "a list")


def test_a_missing_json_output_is_no_output_and_an_empty_one_is() -> None:
    got = dataset('{"id": 1, "system": "A", "output": ""}\n{"id": 2, "system": "A", "output": null}\n', "a.jsonl")
    assert got.outputs == (Output("A", "", "1", ""),)
    assert len(got.segments) == 2


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


def test_a_list_where_a_text_belongs_is_one_problem() -> None:
    found = problems('{"segment_id": ["1", "2"], "system": "A", "output": "a"}\n', name="a.jsonl")
    assert [(p.row, p.column, p.got) for p in found] == [(1, "segment_id", "a list")]
