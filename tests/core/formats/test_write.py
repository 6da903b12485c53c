"""Written files: safe in a spreadsheet, exact for a program."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Score
from core.formats.files import Upload
from core.formats.parsing.cells import raw_cell, safe_cell
from core.formats.write import LabelRow, csv_text, read_export, scores_csv, scores_jsonl

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
RISKY = st.builds(lambda a, b: a + b, st.text("'=+-@\t\r\n＝ x", max_size=4), TEXT)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@SUM(A1)", "\tx", "\rx", "\n=1", "＝1", "'=1", "''-"])
def test_a_text_like_a_formula_gets_one_apostrophe(text: str) -> None:
    assert safe_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "x=1", "'tis", "'", " x=1", "1", "<b>", "“=”", "\u3164", "−1"])
def test_other_text_is_left_alone(text: str) -> None:
    assert safe_cell(text) == text
    assert raw_cell(text) == text


@given(TEXT | RISKY)
def test_a_safe_cell_never_begins_like_a_formula_and_goes_back(text: str) -> None:
    safe = safe_cell(text)
    assert safe[:1] not in tuple("=+-@\t\r\n")
    assert raw_cell(safe) == text


SCORES = [
    Score("=A", "d", "1", "chrf", "chrf|beta:2", -0.1, "ok", ""),
    Score("B", "", "-2", "bleu", "bleu|x", None, "needs", 'no reference, "so"'),
]


def test_scores_are_written_with_numbers_as_numbers() -> None:
    assert scores_csv(SCORES) == (
        "system,doc_id,segment_id,metric,signature,score,status,reason\n"
        "'=A,d,1,chrf,chrf|beta:2,-0.1,ok,\n"
        'B,,\'-2,bleu,bleu|x,,needs,"no reference, ""so"""\n'
    )


def test_scores_are_written_as_json_lines_with_null_for_none() -> None:
    rows = [json.loads(line) for line in scores_jsonl(SCORES).splitlines()]
    assert rows[0]["system"] == "=A"
    assert rows[0]["score"] == -0.1
    assert rows[1]["score"] is None


def test_labels_are_written_with_their_offsets() -> None:
    row = LabelRow("A", "d", "1", "ann", "output", 0, 5, "=😀 x", "Major", "Accuracy", "-", "", "yes")
    (got,) = csv.DictReader(io.StringIO(csv_text(LabelRow._fields, [row])))
    assert (got["start"], got["end"], got["quote"], got["note"], got["submitted"]) == ("0", "5", "'=😀 x", "'-", "yes")


@given(
    st.lists(
        st.tuples(TEXT | RISKY, TEXT | RISKY, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=5
    )
)
def test_an_export_reads_back_exactly(rows: list[tuple[str, str, float]]) -> None:
    written = csv_text(("a", "b", "c"), rows)
    got = read_export(Upload("a.csv", written.encode()))
    assert [(a, b, float(str(c))) for a, b, c in (row.cells for row in got.rows)] == rows
    again = list(csv.reader(io.StringIO(written, newline="")))  # and any other reader sees the same cells
    assert [tuple(map(raw_cell, r[:2])) for r in again[1:]] == [(a, b) for a, b, _ in rows]
