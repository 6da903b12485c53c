"""Formula characters in CSV files: escaped behind whatever cannot be seen, and read back by every reader of our exports."""

from __future__ import annotations

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
from core.formats.write import SCORE_COLUMNS, LabelRow, csv_text, read_export, scores_csv
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
    read = read_export(Upload("a.csv", csv_text(("=a", "'=b", " c"), rows).encode()))
    assert read.columns == ("=a", "'=b", " c")
    assert [list(row.cells) for row in read.rows] == rows


def test_the_headers_that_are_told_by_are_those_written() -> None:
    written = {SCORE_COLUMNS, SET_COLUMNS, LabelRow._fields, SegmentScore._fields, error_cases.COLUMNS}
    assert written == EXPORTED


@pytest.mark.parametrize("name", NAMES)
def test_exported_scores_and_labels_keep_their_names(name: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(scores_csv([Score(name, name, name, "chrf", "chrf|x", 1.5, "ok", "")]), "utf-8", newline="")
    _, values, _ = read_scores(path)
    assert [list(of) for of in values.values()] == [[OutputKey(name, name, name)]]
    table = read_table(Upload("scores.csv", path.read_bytes()))
    builder = Builder()
    builder.add(table, guess(table).with_(output="status"))
    assert builder.dataset().outputs[0].system == name
    mark = LabelRow(name, name, name, name, "output", 0, 1, name, "Major", name, name, "", "yes")
    assert (
        read_table(Upload("labels.csv", csv_text(LabelRow._fields, [mark]).encode())).rows[0].cells[:4] == (name,) * 4
    )


@pytest.mark.parametrize("name", NAMES)
def test_exported_judgements_keep_their_names(name: str) -> None:
    given = [Judgement(OutputKey(name, name, name), name, f"score {name}", 3.0)]
    read = judgements.parse(Upload("judgements.csv", "".join(judgements.each_csv_line(given)).encode()))
    assert [g.judgement for g in read.lines] == given
    read = judgements.parse(Upload("judgements.jsonl", "".join(judgements.each_jsonl_line(given)).encode()))
    assert [g.judgement for g in read.lines] == given


@pytest.mark.parametrize("name", NAMES)
def test_exported_mqm_scores_keep_their_names(name: str) -> None:
    written = csv_text(SegmentScore._fields, [SegmentScore(name, name, name, -1.0, 2)])
    found, _ = read_human(Upload("mqm.csv", written.encode()))
    assert found == {OutputKey(name, name, name): (-1.0, 2)}


@pytest.mark.parametrize("name", NAMES)
def test_exported_suites_keep_their_texts_for_every_command(name: str) -> None:
    row = (name, name, name, name, "", name, name + "!", "")
    upload = Upload("suite.csv", csv_text(error_cases.COLUMNS, [row]).encode())
    [case] = read_cases([upload]).cases
    assert (case.good.hypothesis, case.bad.hypothesis, case.good.references) == (name, name + "!", (name,))
    [pair] = read_pairs([upload]).pairs
    assert (pair.type, pair.good, pair.perturbed, pair.source) == (name, name, name + "!", name)


def test_a_table_that_is_not_ours_keeps_its_apostrophes() -> None:
    table = read_table(Upload("a.csv", b"system,segment_id,output\n'=A,1,'=x\n"))
    assert table.rows[0].cells == ("'=A", "1", "'=x")


def test_json_lines_keep_their_apostrophes() -> None:
    row = '{"system": "\'=A", "doc_id": "", "segment_id": "1", "score": 1}\n'
    assert list(read_human(Upload("h.jsonl", row.encode()))[0]) == [OutputKey("'=A", "", "1")]
