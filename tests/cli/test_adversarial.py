"""`adversarial` and `ranges` through the command line, as a user calls them."""

import json
from pathlib import Path

import pytest

from tests.cli.program import read_table, run
from tests.core.services.robustness.test_adversarial import CSV


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "menli.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def test_it_prints_a_table_and_writes_rows_with_intervals(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    done = run("adversarial", str(suite), "--metrics", "chrf,ter", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].split() == ["chrF", "TER"]
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[1:]] == [
        "number error", "spelling error", "all", "adequacy", "fluency",
    ]  # fmt: skip
    rows = list(read_table(out))
    assert (rows[0]["cases"], rows[0]["compared"], rows[0]["accuracy"]) == ("1", "1", "0.0")
    assert rows[0]["signature"].endswith("|adversarial|v:2|wilson:95")
    assert "equals the reference" in done.stderr


def test_json_and_html_list_failures(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    assert run("adversarial", str(suite), "--metrics", "chrf", "--failures", "1", "--out", str(out)).returncode == 0
    report = json.loads(out.read_text(encoding="utf-8"))
    assert [f["phenomenon"] for f in report["failures"]] == ["number error", "spelling error"]
    page = tmp_path / "a.html"
    assert run("adversarial", str(suite), "--metrics", "chrf", "--out", str(page)).returncode == 0
    assert "It costs 9 euros." in page.read_text(encoding="utf-8")


def test_ranges_are_taken_from_the_scores_of_a_file(tmp_path: Path) -> None:
    scores, out = tmp_path / "s.csv", tmp_path / "ranges.json"
    scores.write_text(
        "system,doc_id,segment_id,metric,signature,score,status,reason\n"
        "A,d,1,ter,ter|v:1,20.5,ok,\nA,d,2,ter,ter|v:1,90.0,ok,\nA,d,3,ter,ter|v:1,,undefined,why\n",
        encoding="utf-8",
    )
    done = run("ranges", str(scores), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "20.5..90  n = 2  ter|v:1\n"
    assert json.loads(out.read_text(encoding="utf-8")) == {"ter|v:1": {"low": 20.5, "high": 90.0, "n": 2}}


def test_an_error_type_named_like_an_average_is_no_average(tmp_path: Path) -> None:
    pairs, out = tmp_path / "p.csv", tmp_path / "a.json"
    pairs.write_text(
        "type,id,reference,good,perturbed\nall,1,a b c,a b c,x y z\nall,2,a b c,a b c,a b c\nswap,3,a b c,x y z,a b c\n",
        encoding="utf-8",
    )
    done = run("adversarial", str(pairs), "--metrics", "chrf", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert [line.split() for line in done.stdout.splitlines()[1:]] == [
        ["all", "(error", "type)", "50.0"], ["swap", "0.0"], ["all", "25.0"],
    ]  # fmt: skip
    assert "chrF: 1 of 3 cases are tied" in done.stderr
