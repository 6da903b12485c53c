"""Tables: CSV, TSV, JSONL, and the ways in which they go wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
from functools import partial
from itertools import product
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.errors import Problem
from core.formats.columns import guessed
from core.formats.files import Upload, raw_lines
from core.formats.parsing.cells import FileTable, Nested, TableRow, characters_in
from core.formats.table import clearly_quoted, read_table, sample_values
from tests.core.formats.problems import problems_of

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


def table(name: str, text: str) -> FileTable:
    return read_table(Upload(name, text.encode()))


def cells(name: str, text: str) -> list[tuple[object, ...]]:
    return [row.cells for row in table(name, text).rows]


def refused(name: str, text: str) -> tuple[Problem, ...]:
    return problems_of(table, name, text)


def test_csv_keeps_quotes_line_breaks_html_and_formulas() -> None:
    got = table("a.csv", 'id,text\n1,"a ""b"",\r\nc"\r\n2,<b>x</b>\n3,=1+1\n4, x \n')
    assert got.columns == ("id", "text")
    assert [row.cells[1] for row in got.rows] == ['a "b",\r\nc', "<b>x</b>", "=1+1", " x "]
    assert [row.line for row in got.rows] == [2, 4, 5, 6]  # the first record takes two lines


def test_odd_line_separators_stay_in_their_field() -> None:
    assert cells("a.csv", "id,text\n1,a\u2028b\x0b\x85c\rd\n") == [("1", "a\u2028b\x0b\x85c\rd")]
    assert cells("a.tsv", "id\ttext\n1\ta\u2028b\x0b\x85c\rd\r\n") == [("1", "a\u2028b\x0b\x85c\rd")]


def test_every_ragged_row_is_a_problem_with_both_counts() -> None:
    problems = refused("a.csv", "a,b,c\n1,2,3\n1,2\n1,2,3,4\n")
    assert [(p.row, p.got) for p in problems] == [(3, "2 fields"), (4, "4 fields")]
    assert {p.expected for p in problems} == {"3, as the header has"}
    problems = refused("a.csv", "a,b\n" + "x\n" * 1000)
    assert (len(problems), problems[-1].got) == (201, "800 more problems")


def test_blank_lines_are_no_rows_and_the_delimiter_is_checked_against_the_header() -> None:
    assert cells("a.csv", "a,b\n\n1,2\n\r\n\n") == [("1", "2")]
    for name, end, mark in product(("a.csv", "a.tsv"), ("\n", "\r\n"), ",\t;"):
        got = table(name, f"{end}{end}a{mark}b{end}1{mark}2{end}")
        assert (got.columns, got.rows) == (("a", "b"), ((4, ("1", "2")),))
    assert table("a.csv", ",text\n0,x\n").columns == ("column 1", "text")


def test_quotes_are_text_or_a_problem_but_never_a_guess() -> None:
    assert cells("a.csv", 'a,b\n5" tall,2\n') == [('5" tall', "2")]
    (problem,) = refused("a.csv", 'a,b\n1,2\n3,"open\n4,5\n')
    assert (problem.row, problem.got) == (3, "a quote that is never closed")
    (problem,) = refused("a.csv", 'a,b\n"x" y,2\n')
    assert (problem.row, "broken" in problem.got) == (2, True)


def test_a_faulty_header_is_one_problem() -> None:
    for name, text, row, column, got in (
        ("a.csv", "a,b\n", 0, "", "a header and no rows"),
        ("a.jsonl", "\n\n", 0, "", "no rows"),
        ("a.csv", "id,text,id\n1,2,3\n", 1, "id", "the name twice, in columns 1 and 3"),
        ("a.csv", "id,text\n1,x\nid,text\n2,y\n", 3, "", "the header again"),
        ("a.tsv", "id\ttext\n1\tx\nid\ttext\n2\ty\n", 3, "", "the header again"),
    ):
        (problem,) = refused(name, text)
        assert (problem.row, problem.column, problem.got) == (row, column, got)
    for text in ("a,b\r1,2\r", "a,b\r1,2\r\n3,4\n"):
        assert "carriage return" in refused("a.csv", text)[0].got
    pivot = ",score,score\nsystem,A,B\nsegment,,\n1,2,3\n"
    assert "write the names in one line if they are in several" in refused("a.csv", pivot)[0].todo


def test_lines_that_spreadsheets_put_above_the_header_are_no_header() -> None:
    for above, mark in (
        ("sep=;\n", ";"), ('"sep=;"\n', ";"), ("SEP=\t\n", "\t"), ("sep=|\r\n", "|"), ("# exported, 2024\n", ","), ("# a\n# b, c\n\n", ","),
        ("#made; by; hand\n", ";"),
    ):  # fmt: skip
        got = table("a.csv", f"{above}id{mark}text{mark}note\n1{mark}x{mark}\n2{mark}y{mark}z\n")
        assert got.columns == ("id", "text", "note"), above
        assert [row.line for row in got.rows] == [above.count("\n") + 2, above.count("\n") + 3]
        assert got.notes
    assert table("a.csv", "#,text\n1,x\n2,y\n").columns == ("#", "text")
    assert table("a.csv", "# by me\n# id,text\n1,x\n").columns == ("# id", "text")


def test_the_delimiter_is_the_one_that_gives_as_many_fields_in_every_row() -> None:
    for header in ("id;score, human;text", 'id;"score, human";text', "id;source, tokenized, lower;text"):
        for rows in ("1;3;x\n2;4;y\n", "1;3,5;x\n2;4,5;y\n", '1;3;"x, y; z"\n2;4;y\n'):
            got = table("a.csv", f"{header}\n{rows}")
            assert (len(got.columns), got.notes) == (3, ("delimiter: semicolon",)), (header, rows)
    assert table("a.csv", "id,text; raw\n1,x; y\n2,z; w\n").columns == ("id", "text; raw")
    assert table("a.tsv", 'id\ttext, raw\n1\t"Yes, he said.\n2\tno, "x\n').columns == ("id", "text, raw")
    assert [p.row for p in refused("a.csv", "id,text; raw\n1,x; y\n2,z, w; v\n3,x; y\n")] == [3]


def test_a_first_line_that_is_no_header_is_named() -> None:
    for above in ("Results\n", "Results,of,2024\n", "Results,,,\n", "sys,doc,seg\n"):
        for mark in ",;":
            (problem,) = refused("a.csv", f"{above}system,doc,seg,out\nA,d,1,x\nB,d,1,y\n".replace(",", mark))
            assert problem.row == 1, (above, mark)
    assert table("a.csv", "system,out,,,,\nA,x,,,,\n").columns[:2] == ("system", "out")


def test_plain_tsv_takes_quotes_as_text() -> None:
    got = cells("a.tsv", 'id\ttext\n1\t"Yes," he said.\n2\t"Yes."\n3\tsay "hi"\n4\t"open\n')
    assert [c[1] for c in got] == ['"Yes," he said.', '"Yes."', 'say "hi"', '"open']


def test_quoted_tsv_is_recognised() -> None:
    rows: list[list[object]] = [["id", "text"], [1, 'say "hi"'], [2, "tab\there"], [3, "two\nlines"], [4, "plain"]]
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC):
        out = io.StringIO()
        csv.writer(out, delimiter="\t", quoting=quoting, lineterminator="\n").writerows(rows)
        assert clearly_quoted(partial(raw_lines, out.getvalue().encode()))
        assert [c[1] for c in cells("a.tsv", out.getvalue())] == [row[1] for row in rows[1:]]


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
def test_csv_text_round_trips(rows: list[tuple[str, str]]) -> None:
    # "\r\n" as line terminator makes csv quote a lone "\r"; a row must not be blank, so a third cell is constant
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([("a", "b", "c"), *((x, y, "z") for x, y in rows)])
    assert cells("a.csv", out.getvalue()) == [(x, y, "z") for x, y in rows]


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_characters='\0\t\n\r"', exclude_categories=["Cs"]))] * 2), min_size=1
    )
)
def test_plain_tsv_text_round_trips(rows: list[tuple[str, str]]) -> None:
    text = "a\tb\tc\n" + "".join(f"{x}\t{y}\tz\n" for x, y in rows)
    assert cells("a.tsv", text) == [(x, y, "z") for x, y in rows]


def test_jsonl_reads_texts_lists_numbers_and_gaps() -> None:
    got = table(
        "a.jsonl",
        '{"id": 1.50, "refs": ["x", "y"]}\n\n{"id": 2, "out": "", "more": {"a": 1}}\r\n{"id": null, "ok": true}\n',
    )
    assert got.columns == ("id", "refs", "out", "more", "ok")
    assert got.rows[0].cells == ("1.50", ("x", "y"), None, None, None)
    assert got.rows[1].cells == ("2", None, "", Nested('{"a": "1"}'), None)
    assert got.rows[2].cells == (None, None, None, None, "true")
    assert [row.line for row in got.rows] == [1, 3, 4]


def test_every_broken_json_line_is_a_problem() -> None:
    text = '{"a": 1}\n{"a": \n[1]\n"x"\n{"a": 1, "a": 2}\n{"a": "\\ud800"}\n{"a": "\\u0000"}\n' + "[" * 100_000 + "\n"
    problems = refused("a.jsonl", text)
    assert [p.row for p in problems] == [2, 3, 4, 5, 6, 7, 8]
    assert problems[0].expected == "one JSON object per line"
    assert "repeated key" in problems[3].got
    assert "surrogate" in problems[4].got
    assert "nesting" in problems[6].got


def test_escapes_and_separators_in_json_are_texts() -> None:
    assert cells("a.jsonl", '{"a": "\\\\u0000 \\ud83d\\ude00 a\u2028b"}\n') == [("\\u0000 😀 a\u2028b",)]


def test_samples_are_the_first_values_shortened_and_characters_of_all_cells_counted() -> None:
    assert sample_values(table("a.csv", f"a,b\n,x\n1,{'y' * 200}\n"), 5) == ("1", "x")
    assert sample_values(table("a.csv", f"a,b\n1,{'y' * 200}\n"), 5) == ("1", "yyyyy…")
    assert characters_in(("ab", "c")) == 3
    assert characters_in(("ab", None, ("c", "de"), Nested("{}"))) == 7


def test_a_list_of_objects_is_read_however_it_is_laid_out(tmp_path: Path) -> None:
    objects = [{"system": "A", "output": "x\ny", "DA": 1.50}, {"system": "B", "output": "ü", "refs": ["r", "s"]}]
    for indent in (None, 2):
        data = gzip.compress(json.dumps(objects, indent=indent).encode()) if indent else json.dumps(objects).encode()
        (tmp_path / "a.json").write_bytes(data)
        for file in (Upload("a.json", data), Upload("a.json", tmp_path / "a.json")):
            got = read_table(file)
            assert got.columns == ("system", "output", "DA", "refs")
            assert [row.cells for row in got.rows] == [("A", "x\ny", "1.5", None), ("B", "ü", None, ("r", "s"))]
    assert read_table(Upload("a.json", b'[{"a": 1},\n{"a": 2}]'), 1).rows == (TableRow(1, ("1",)),)
    for text, found in (
        ('[{"a": 1}, 2]', "2"), ('[{"a": 1}\n', "does not end"), ('[{"a": 1}] x', "after the list"), ("[]", "no rows"),
    ):  # fmt: skip
        assert found in refused("a.json", text)[0].got


def test_the_keys_of_an_object_of_lists_are_systems() -> None:
    """As comet-score --to_json writes it."""
    of = {s: [{"src": f"s {i}", "mt": f"{s} {i}", "ref": f"r {i}", "COMET": 0.5} for i in range(3)] for s in "AB"}
    for indent in (None, 4):
        got = read_table(Upload("comet.json", json.dumps(of, indent=indent).encode()))
        assert got.notes == ("the keys of the object are systems: “A”, “B”",)
        mapping = guessed(got).mapping
        assert (mapping.system, mapping.output, mapping.source, mapping.references) == ("system", "mt", "src", ("ref",))
        assert [m.name for m in mapping.metrics] == ["COMET"]
        assert [row.cells[0] for row in got.rows] == ["A"] * 3 + ["B"] * 3
    whole = read_table(Upload("a.json", b'{"data": [{"system": "A", "output": "x"}]}'))
    assert (whole.columns, whole.notes) == (("system", "output"), ())
    lines = '{"turns": [{"a": 1}], "output": "x"}\n{"turns": [{"a": 1}], "output": "y"}\n'
    assert cells("a.jsonl", lines) == [(Nested('[{"a": "1"}]'), "x"), (Nested('[{"a": "1"}]'), "y")]
    assert "“0.5}” " in refused("a.json", '{"A": [{"a": 1}], "B": 0.5}')[0].got + " "


def test_json_that_is_no_list_of_rows_is_refused_with_one_problem() -> None:
    for text, found in (
        ('{\n "name": "BLEU",\n "score": 31.2\n}', "one JSON object over several lines"),
        ('{"system": {"0": "A"}, "output": {"0": "x"}}', "lists or objects: “system”, “output”"),
        ('{"predictions": ["x", "y"], "references": [["r"], ["s"]]}', "lists or objects: “predictions”, “references”"),
    ):
        (problem,) = refused("a.json", text)
        assert found in problem.got
        assert "lines=True" in problem.todo


def test_other_quotes_than_double_ones_are_named() -> None:
    (problem,) = refused("a.csv", "'system','output'\n'A','one, two'\n'B','three, four'\n")
    assert (
        problem.sentence()
        == 'a.csv, line 1: found names of columns in \'\'; expected texts in " ". Save the table again with " as the text delimiter'
    )
    assert table("a.csv", "'a',b\n'x',y\n").columns == ("'a'", "b")
    assert "semicolon" in refused("a.csv", "a;b\nx;y;z\nx;y\nx;y\n")[0].todo
