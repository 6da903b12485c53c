"""`sensitivity` through the command line, as a user calls it."""

import json
from pathlib import Path

import pytest

from tests.cli.program import read_table, run

INPUT = """type,reference,good,perturbed
number,It cost 50 euros in all.,It cost 50 euros altogether.,It cost 70 euros altogether.
number,She is 31 years old.,She is 31 years old.,She is 13 years old.
=cmd,She left.,She left.,She left.
=cmd,,She left.,He left.
"""


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text(INPUT, encoding="utf-8")
    return path


def test_one_row_per_metric_and_type_with_counts_and_reasons(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.csv"
    done = run("sensitivity", str(pairs), "--metrics", "chrf,ter", "--seed", "7", "--out", str(out))
    assert done.returncode == 0, done.stderr
    rows = list(read_table(out))
    assert [(r["metric"], r["type"]) for r in rows] == [
        ("chrf", "number"), ("chrf", "'=cmd"), ("ter", "number"), ("ter", "'=cmd")
    ]  # fmt: skip
    number, formula = rows[:2]
    assert (number["pairs"], number["n"], number["accuracy"], number["undefined"]) == ("2", "2", "1.0", "0")
    assert float(number["z_low"]) <= float(number["z"]) <= float(number["z_high"])
    assert number["signature"].endswith("|draws:1000|seed:7")
    assert (formula["pairs"], formula["n"], formula["z"], formula["undefined"]) == ("2", "1", "0.0", "1")
    assert "needs a reference" in formula["reason"]
    assert "chrF: 1 of 4 pairs have no z" in done.stderr
    assert "two equal texts" in done.stderr


def test_json_holds_the_same_with_null_for_what_is_missing(pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    assert run("sensitivity", str(pairs), "--metrics", "chrf", "--out", str(out)).returncode == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert [r["type"] for r in report["rows"]] == ["number", "=cmd"]
    assert report["rows"][1]["z_low"] is None
    assert len(report["notes"]) == 2


def test_when_no_pair_can_be_scored_the_reason_is_said(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("type,source,good,perturbed\nt,s,g,p\n", encoding="utf-8")
    done = run("sensitivity", str(path), "--metrics", "chrf", "--out", str(tmp_path / "x.csv"))
    assert done.returncode == 2
    assert "needs a reference" in done.stderr
