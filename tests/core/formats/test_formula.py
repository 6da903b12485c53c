"""CSV files: safe in a spreadsheet, exact for a program, and read back by every reader of our exports."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.evaluate import read_scores
from cli.human_scores import read_human
from cli.score import SET_COLUMNS
from core.data import Judgement, OutputKey, Score
from core.formats import error_cases
from core.formats.build import Builder
from core.formats.columns import guess
from core.formats.error_cases import read_cases, read_pairs
from core.formats.files import Upload
from core.formats.labels import judgements
from core.formats.parsing.cells import EXPORTED, raw_cell, safe_cell
from core.formats.table import read_table
from core.formats.write import SCORE_COLUMNS, LabelRow, csv_text, read_export, scores_csv, scores_jsonl
from core.mqm.scores import SegmentScore

UNSEEN = [
    " ", "\u00a0", "\u2007", "\u3000", "\u200b", "\u200e", "\u2060", "\ufeff", "\u00ad", "\u180e", "\ufe0f", "\u3164",
    "\u2800", "\u034f", "\x01", "\x85", "\u2028", "\U000e0001", "\U000e0100",
]  # fmt: skip
SIGNS = ["=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠", "﹦", "﹢", "﹣", "﹫"]
NAMES = ["=x", "'=x", "''=x", " =x", "' =x", "\u00a0=x", "\u200b'=x", "\ufeff-x", "＝x", "'", "''", "x", "@SUM(A1)"]
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
HOSTILE = st.builds("".join, st.lists(st.sampled_from([*UNSEEN, *SIGNS, "'", "x", '"', ","]), min_size=1, max_size=6))


def test_a_formula_is_escaped_behind_what_cannot_be_seen() -> None:
    texts = [begin + unseen + sign + "1" for unseen in UNSEEN for sign in SIGNS for begin in ("", "'" + unseen * 2)]
    assert [ascii(text) for text in texts if safe_cell(text) != "'" + text] == []
    assert [ascii(text) for text in texts if raw_cell(safe_cell(text)) != text] == []


@given(TEXT | HOSTILE)
def test_no_cell_shows_a_formula_character_first(text: str) -> None:
    safe = safe_cell(text)
    shown = next((c for c in safe if unicodedata.category(c)[0] not in "ZC" and c not in "".join(UNSEEN)), "")
    assert unicodedata.normalize("NFKC", shown)[:1] not in {"=", "+", "-", "@"} or not shown
    assert raw_cell(safe) == text


@given(st.lists(st.lists(TEXT | HOSTILE, min_size=3, max_size=3), min_size=1, max_size=4))
def test_any_export_reads_back_exactly(rows: list[list[str]]) -> None:
    written = csv_text(("=a", "'=b", " c"), rows)
    read = read_export(Upload("a.csv", written.encode()))
    assert read.columns == ("=a", "'=b", " c")
    assert [list(row.cells) for row in read.rows] == rows
    _, *others = csv.reader(io.StringIO(written, newline=""))  # any other reader sees the same cells
    assert [list(map(raw_cell, row)) for row in others] == rows


def test_the_headers_that_are_told_by_are_those_written() -> None:
    written = {SCORE_COLUMNS, SET_COLUMNS, LabelRow._fields, SegmentScore._fields, error_cases.COLUMNS}
    assert written == EXPORTED


@pytest.mark.parametrize("name", NAMES)
def test_every_export_keeps_its_names_for_every_command(name: str, tmp_path: Path) -> None:
    key, path = OutputKey(name, name, name), tmp_path / "scores.csv"
    path.write_text(scores_csv([Score(name, name, name, "chrf", "chrf|x", 1.5, "ok", "")]), "utf-8", newline="")
    _, values, _ = read_scores(path)
    assert [list(of) for of in values.values()] == [[key]]
    table = read_table(Upload("scores.csv", path.read_bytes()))
    builder = Builder()
    builder.add(table, guess(table).with_(output="status"))
    assert builder.staged().dataset().outputs[0].system == name
    mark = LabelRow(name, name, name, name, "output", 0, 1, name, "Major", name, name, "", "yes")
    labels = read_table(Upload("labels.csv", csv_text(LabelRow._fields, [mark]).encode()))
    assert labels.rows[0].cells[:4] == (name,) * 4
    judged = [Judgement(key, name, f"score {name}", 3.0)]
    for file, lines in (("j.csv", judgements.each_csv_line(judged)), ("j.jsonl", judgements.each_jsonl_line(judged))):
        assert [g.judgement for g in judgements.parse(Upload(file, "".join(lines).encode())).lines] == judged
    written = csv_text(SegmentScore._fields, [SegmentScore(name, name, name, -1.0, 2)])
    scores, _ = read_human(Upload("mqm.csv", written.encode()))
    assert scores == {key: (-1.0, 2)}
    row = (name, name, name, name, "", name, name + "!", "")
    suite = Upload("suite.csv", csv_text(error_cases.COLUMNS, [row]).encode())
    [case] = read_cases([suite]).cases
    assert (case.good.hypothesis, case.bad.hypothesis, case.good.references) == (name, name + "!", (name,))
    [pair] = read_pairs([suite]).pairs
    assert (pair.type, pair.good, pair.perturbed, pair.source) == (name, name, name + "!", name)


def test_a_table_that_is_not_ours_and_json_lines_keep_their_apostrophes() -> None:
    table = read_table(Upload("a.csv", b"system,segment_id,output\n'=A,1,'=x\n"))
    assert table.rows[0].cells == ("'=A", "1", "'=x")
    row = '{"system": "\'=A", "doc_id": "", "segment_id": "1", "score": 1}\n'
    assert list(read_human(Upload("h.jsonl", row.encode()))[0]) == [OutputKey("'=A", "", "1")]


def test_a_text_like_a_formula_gets_one_apostrophe_and_other_text_is_left_alone() -> None:
    formulas = ("=1+1", "+1", "-x", "@SUM(A1)", "\tx", "\rx", "\n=1", "＝1", "'=1", "''-")
    assert [text for text in formulas if safe_cell(text) != "'" + text] == []
    others = ("", "x=1", "'tis", "'", " x=1", "1", "<b>", "“=”", "\u3164", "−1")
    assert [text for text in others if not safe_cell(text) == text == raw_cell(text)] == []


SCORES = [
    Score("=A", "d", "1", "chrf", "chrf|beta:2", -0.1, "ok", ""),
    Score("B", "", "-2", "bleu", "bleu|x", None, "needs", 'no reference, "so"'),
]


def test_scores_are_written_with_numbers_as_numbers_and_null_for_none() -> None:
    assert scores_csv(SCORES) == (
        "system,doc_id,segment_id,metric,signature,score,status,reason\n"
        "'=A,d,1,chrf,chrf|beta:2,-0.1,ok,\n"
        'B,,\'-2,bleu,bleu|x,,needs,"no reference, ""so"""\n'
    )
    rows = [json.loads(line) for line in scores_jsonl(SCORES).splitlines()]
    assert [(row["system"], row["score"]) for row in rows] == [("=A", -0.1), ("B", None)]
