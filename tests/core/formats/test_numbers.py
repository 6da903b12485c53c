"""Numbers in files and on the command line: what is one, what is out of bounds, and one clear error for the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from cli import calibrate, evaluate, human_scores, metrics, reproduce
from cli.__main__ import program
from cli.adversarial import sensitivity_command as sensitivity
from core.data import Dataset, Output, Segment
from core.errors import ImportProblems, UserError
from core.formats.build import Builder
from core.formats.columns import guess
from core.formats.files import Upload
from core.formats.labels import judgements
from core.formats.labels.label_file import Severities
from core.formats.mapping import ColumnMapping
from core.formats.parsing.cells import FileTable
from core.formats.parsing.numbers import expected_number, json_number, parse_lambda, parse_number
from core.formats.table import read_table
from core.metrics import ranges as stored_ranges
from core.metrics.base import Option
from core.services.projects import label_import

EXTREME = [
    "1e16",
    "-1e16",
    "1e308",
    "-1e308",
    "1e400",
    "9" * 400,
    "9" * 5000,
    "-" + "9" * 5000,
    "0." + "0" * 5000 + "1",
]


NOT_NUMBERS = ["inf", "-inf", "Infinity", "１２", "١٢", "1_000", "0x10", "1,5", "1,000.5", "1e", "--1", "1 2", "½", "Ⅻ"]
NAN = float("nan")


def test_numbers_as_people_write_them() -> None:
    texts = {"1": 1.0, " -0.50\t": -0.5, "+.5": 0.5, "5.": 5.0, "1e-3": 0.001, "1E15": 1e15, "\u00a07": 7.0}
    assert {text: parse_number(text) for text in texts} == texts
    assert [text[:20] for text in (*EXTREME, *NOT_NUMBERS, "nan", "") if parse_number(text) is not None] == []
    values = [True, None, [], {}, 10**16, 10**400, 1e308, math.inf, NAN, "1_0", "9" * 400]
    assert [value for value in values if json_number(value) is not None] == []
    lambdas = {"0": 0.0, "1.7": 1.7, "inf": math.inf, "∞": math.inf, " INF ": math.inf}
    assert {text: parse_lambda(text) for text in lambdas} == lambdas
    others = ["-1", "nan", "1e400", "9" * 5000, "１", "1_0", "", "-inf", "None"]
    assert [text[:20] for text in others if parse_lambda(text) is not None] == []


@given(st.floats(-1e15, 1e15) | st.integers(-(10**15), 10**15))
def test_what_python_writes_is_read_back(value: float) -> None:
    assert parse_number(repr(value)) == value == json_number(value)


TEXTS = Dataset((Segment("", "1", "s"),), (Output("A", "", "1", "x"),))


def upload(path: Path) -> Upload:
    return Upload(path.name, path.read_bytes())


def column(path: Path) -> None:
    table = read_table(upload(path))
    imported(table, guess(table).with_(human_scores=("adequacy",)))


def labels(path: Path) -> None:
    if problems := label_import.read_label_files([upload(path)], texts=TEXTS).problems:
        raise ImportProblems(problems)


ROW = '{"system": "A", "doc_id": "", "segment_id": "1", '
ESA = '{"src": "s", "tgt": "t", "doc_id": "", "line_id": 1, "system": "A", "annotator": "r", "esa_spans": '
SAID = '{"text": "x", "human": {"coherence": VALUE, "consistency": 1, "fluency": 1, "relevance": 1}}'
READERS: list[tuple[str, str, Callable[[Path], object]]] = [
    ("human.csv", 'system,doc_id,segment_id,score\nA,,1,"VALUE"\n', lambda p: human_scores.read_human(upload(p))),
    ("human.jsonl", ROW + '"score": VALUE}\n', lambda p: human_scores.read_human(upload(p))),
    ("refined.jsonl", ROW + '"dist_exp": VALUE, "dist_imp": 1}\n', lambda p: calibrate.read_refined(upload(p))),
    ("scores.csv", 'system,doc_id,segment_id,metric,score\nA,,1,chrf,"VALUE"\n', evaluate.read_scores),
    ("ranges.csv", 'system,metric,signature,score,status\nA,chrf,chrf|x,"VALUE",ok\n', lambda p: metrics.ranges_command([p], p.with_suffix(".json"))),
    ("range", "0..VALUE", lambda p: stored_ranges.parse(p.read_text())),
    ("summeval.jsonl", '{"source": "s", "references": ["r"], "outputs": {"A": ' + SAID + ', "B": ' + SAID + "}}\n", reproduce.summeval),
    ("column.csv", 'system,segment_id,output,adequacy\nA,1,x,"VALUE"\n', column),
    ("by_rater.csv", 'system,segment_id,rater,score\nA,1,r,"VALUE"\nA,1,q,1\n', lambda p: judgements.read_judgements(upload(p), Severities(), TEXTS)),
    ("a.mqm.seg.score", "A\tVALUE\n", labels),
    ("score.esa.jsonl", ESA + '[], "esa_score": VALUE}\n', labels),
    ("span.esa.jsonl", ESA + '[{"start_i": VALUE, "end_i": 0, "severity": "minor"}]}\n', labels),
    ("pairs.json", '[{"type": VALUE, "good": "g", "perturbed": [1], "reference": "r"}]', lambda p: sensitivity([p], p.with_suffix(".csv"), "chrf")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "read"), READERS, ids=[name for name, *_ in READERS])
def test_every_reader_refuses_what_is_no_number(
    name: str, text: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path, read_or_long = tmp_path / name, []
    for value in EXTREME + NOT_NUMBERS:
        path.write_text(text.replace("VALUE", value))
        if not 0 < len(error_of(partial(read, path))) < 1000:
            read_or_long.append(value[:20])
    assert read_or_long == []


def imported(table: FileTable, mapping: ColumnMapping) -> Dataset:
    builder = Builder()
    builder.add(table, mapping)
    return builder.staged().dataset()


def error_of(call: Callable[[], object]) -> str:
    """The message of the `UserError` that a call raises; "" if it raises none."""
    try:
        call()
    except UserError as error:
        return str(error)
    return ""


def test_options_of_metrics_refuse_what_is_no_number() -> None:
    for option in (Option("x", "whole", 1, "", high=1e9), Option("x", "decimal", 1, "", high=1e9)):
        errors = {value[:20]: error_of(partial(option.parse, value)) for value in EXTREME + NOT_NUMBERS}
        assert [value for value, error in errors.items() if not error] == []


def test_numbers_on_the_command_line_are_checked(tmp_path: Path) -> None:
    for arguments in (
        *(["sensitivity", "p.csv", "--out", "o.csv", "--lambda", v] for v in ("-1", "nan", "1e400", "１", "9" * 5000)),
        *(["calibrate", "r", "--human", "h", "--out", "o", "--seed", v] for v in ("-1", "1e3", "9" * 30, "9" * 5000)),
        ["evaluate", "--human", "h", "--out", "o.csv", "--seed", "-1"], ["stress", "f", "--seeds", "9" * 12],
        *(["attack", "f", "--out", "o.csv", "--bound", v] for v in ("nan", "1e400", "inf", "１")),
        ["attack", "f", "--out", "o.csv", "--expected", "9" * 30], ["stress", "f", "--draws", "9" * 30],
        ["attack", "f", "--out", "o.csv", "--limit", "0"],
    ):  # fmt: skip
        done = CliRunner().invoke(program(arguments[0]), arguments)
        assert (done.exit_code, "Invalid value" in done.output) == (2, True), arguments
    arguments = ["sensitivity", str(tmp_path / "none.csv"), "--out", "o.csv", "--lambda", "inf"]
    assert isinstance(CliRunner().invoke(program("sensitivity"), arguments).exception, UserError)


def test_a_number_out_of_bounds_keeps_a_number_column() -> None:
    table = read_table(Upload("t.csv", b"system,segment_id,output,adequacy\nA,1,x,1e308\nA,2,y,3\n"))
    assert guess(table).human_scores == ("adequacy",)
    with pytest.raises(ImportProblems, match="line 2, adequacy: found “1e308”; expected a number from −10¹⁵ to 10¹⁵"):
        imported(table, guess(table))


def test_what_is_wrong_with_a_number_is_said() -> None:
    for texts, expected in (
        (("4,5", "0,435e2", "12,34"), "a number with a point, not a comma"),
        (("12,345", "1,234.5", "1.234,5", "1 234", "1\u202f234,5", "1'234"), "a number with a point for decimals and no separator of thousands"),
        (("80%", "80\u00a0%"), "a number without %"),
    ):  # fmt: skip
        assert {expected_number(text) for text in texts} == {expected}
