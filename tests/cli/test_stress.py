"""`stress` through the command line, as a user calls it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from cli.stress import stress_command as in_process
from core.data import Value
from core.errors import UserError
from core.metrics import registry
from core.robustness.stress.report import Report, from_json
from tests.cli.program import ROOT, read_table, run

NAMES = ("Ada", "Bert", "Carla", "Dino", "Emil", "Frida", "Greta", "Hugo")


def written(path: Path, n: int = 8, words: int = 12) -> Path:
    rows = []
    for i in range(n):
        who, more = NAMES[i % len(NAMES)], " ".join(f"word{i}x{j}" for j in range(words))
        gold = f"{who} walked slowly to the old market on day {i}, {more}."
        rows.append({
            "doc_id": "d", "segment_id": str(i), "system": "S", "source": f"source {i}", "output": gold.replace("slowly", "fast"),
            "references": [gold, gold.replace("walked", "went")],
        })  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return written(tmp_path / "in.jsonl")


def test_it_writes_a_page_json_and_csv_and_prints_the_catalogue(texts: Path, tmp_path: Path) -> None:
    out, whole, table = tmp_path / "r.html", tmp_path / "r.json", tmp_path / "r.csv"
    done = run(
        "stress", str(texts), "--metrics", "chrf,ter", "--tests", "truncation,token-drop", "--seeds", "2", "--draws", "200",
        "--out", str(out), "--json", str(whole), "--csv", str(table), "--workers", "1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["chrF", "TER"]
    assert lines[1][0] == "truncation"
    report = from_json(whole.read_text(encoding="utf-8"))
    assert [t.name for t in report.tests] == ["truncation", "token-drop"]
    assert lines[1][1:] == [report.cell("truncation", m).verdict for m in ("chrf", "ter")]
    assert report.cell("truncation", "chrf").verdict == "pass"
    assert "<title>Stress test: in.jsonl</title>" in out.read_text(encoding="utf-8")
    rows = list(read_table(table))
    assert len(rows) == sum(len(t.levels) for t in report.tests) * 2
    assert not list(tmp_path.glob("*.scores.jsonl"))


def test_a_test_that_is_failed_ends_with_status_1_and_says_which(texts: Path, tmp_path: Path) -> None:
    lines = tmp_path / "mine.txt"
    lines.write_text("Yes.\n\nA very long text that has nothing at all to do with it.\n", encoding="utf-8")
    mild = tmp_path / "mild.jsonl"
    mild.write_text(texts.read_text(encoding="utf-8"), encoding="utf-8")
    options = (
        "--metrics",
        "rouge1",
        "--tests",
        "noised-punctuation",
        "--json",
        str(tmp_path / "r.json"),
        "--workers",
        "1",
    )
    done = run("stress", str(mild), *options, "--inject", str(lines), "--fail-on", "noised-punctuation")
    assert done.returncode == 1, done.stderr
    assert "failed: ROUGE-1 fails noised-punctuation: At " in done.stderr  # ROUGE reads words alone
    report = from_json((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [len(t.levels) for t in report.tests if t.name.startswith("injection-")] == [2]
    assert run("stress", str(mild), *options, "--inject", str(lines), "--fail-on", "injection").returncode == 0
    assert run("stress", str(mild), *options).returncode == 0


def test_gold_may_be_a_system_and_texts_may_be_fewer(texts: Path, tmp_path: Path) -> None:
    options = ("--metrics", "chrf", "--tests", "truncation", "--json", str(tmp_path / "r.json"), "--workers", "1")
    assert run("stress", str(texts), *options, "--gold", "S", "--limit", "6").returncode == 0
    report = from_json((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (report.gold, report.texts) == ("S", 6)
    assert "6 segments, 6 outputs of 1 systems" in report.data


DIES = """
import os, signal, sys
from cli import __main__ as program
from core.robustness.stress.score_log import ScoredLog

if __name__ == "__main__":  # a pool of processes begins by reading this file
    write, chunks = ScoredLog._write, []

    def write_and_die(self, line):
        write(self, line)
        chunks.append(line)
        if len(chunks) == 4:  # the first is the format
            os.kill(os.getpid(), signal.SIGKILL)

    ScoredLog._write = write_and_die
    program.main()
"""
"""The command line, killed as soon as three chunks of scores are on disk."""


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.extended)])
def test_a_run_that_was_killed_goes_on_and_scores_nothing_twice(tmp_path: Path, workers: str) -> None:
    texts = written(tmp_path / "in.jsonl", n=15)
    tests = ["--tests", "truncation,token-drop", "--draws", "200"]
    arguments = ["stress", str(texts), "--metrics", "chrf,bleu", *tests, "--workers", workers]
    out, log, dies = tmp_path / "r.json", tmp_path / "r.json.scores.jsonl", tmp_path / "dies.py"
    dies.write_text(DIES, encoding="utf-8")
    command, environ = (
        [sys.executable, str(dies), *arguments, "--json", str(out)],
        os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode == -signal.SIGKILL
    assert not out.exists()
    shutil.copy(log, tmp_path / "before")
    lines = (tmp_path / "before").read_bytes().split(b"\n")[1:-1]
    before = [(line["signature"], key) for line in map(json.loads, lines) for key in line["values"]]
    assert len(before) == len(set(before)) > 0
    done = run(*arguments, "--json", str(out))
    assert done.returncode == 0, done.stderr
    again = from_json(out.read_text(encoding="utf-8"))
    (told,) = [note for note in again.notes if "were reused" in note]
    known, total = (int(n.replace(",", "")) for n in re.match(r"([\d,]+) of ([\d,]+) scores", told).groups())  # type: ignore[union-attr]
    assert known == len(before) < total
    assert not log.exists()
    assert run(*arguments, "--json", str(tmp_path / "whole.json")).returncode == 0
    assert from_json((tmp_path / "whole.json").read_text(encoding="utf-8")).cells == again.cells


def test_a_log_may_be_named_and_another_file_is_not_written_over(texts: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.jsonl")
    done = run("stress", str(texts), "--tests", "truncation", "--out", str(tmp_path / "r.html"), "--resume", str(other))
    assert done.returncode == 2
    assert "score log cannot be read" in done.stderr
    assert json.loads(other.read_text(encoding="utf-8").splitlines()[0])["doc_id"] == "d"


def test_the_log_beside_the_json_is_no_other_file(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--csv .* and the log of scores"):
        stress_here([texts], tmp_path / "r.json.scores.jsonl", json=tmp_path / "r.json")


def test_data_with_one_reference_says_to_name_a_gold_system(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    rows = [
        f"{s},d,{i},source {i},reference {i} has words,output {i} of {s}" for i in range(3) for s in ("A", "my system")
    ]
    path.write_text("\n".join(["system,doc_id,segment_id,source,reference,output", *rows]) + "\n", encoding="utf-8")
    message = (
        r"every segment has one reference, which is the good text.*a system with good outputs: A, my system.*--gold A"
    )
    with pytest.raises(UserError, match=message):
        stress_here([path], tmp_path / "r.csv", "chrf,bleu")
    report = stress_here([path], tmp_path / "r.csv", "chrf,bleu", gold="my system")
    assert all(c.undefined == 0 for c in report.cells)


def test_injections_of_ones_own_can_be_the_only_test(texts: Path, tmp_path: Path) -> None:
    lines = tmp_path / "mine.txt"
    lines.write_text("Yes.\n", encoding="utf-8")
    for tests in ("none", ""):
        report = stress_here([texts], tmp_path / "r.csv", tests=tests, inject=lines)
        assert [t.label for t in report.tests] == ["Injection of your own"]


def test_a_metric_that_breaks_keeps_its_log_and_fails_the_build(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(items: object, progress: object) -> list[Value]:
        raise RuntimeError("no memory")

    broken, load = replace(registry.load_metric("chrf"), score=breaks), registry.load_metric
    monkeypatch.setattr(registry, "load_metric", lambda name: broken if name == "chrf" else load(name))
    table, whole = tmp_path / "r.csv", tmp_path / "r.json"
    with pytest.raises(typer.Exit) as ended:
        stress_here([texts], table, "chrf,rouge1", json=whole, fail_on="truncation")
    assert ended.value.exit_code == 1
    report, told = from_json(whole.read_text(encoding="utf-8")), capsys.readouterr().err.splitlines()
    assert report.cell("truncation", "chrf").verdict == "untold"
    assert told[-1].startswith(
        "failed: chrF has no result for truncation, because it could not score some texts: Every text has a missing score"
    )
    log = tmp_path / "r.json.scores.jsonl"
    assert log.exists()
    assert any(str(log) in line and "is kept" in line for line in told)
    monkeypatch.undo()
    report = stress_here([texts], table, "chrf,rouge1", json=whole, fail_on="truncation")
    assert (report.cell("truncation", "chrf").verdict, log.exists()) == ("pass", False)


def stress_here(files: list[Path], table: Path, metrics: str = "rouge1", **more: object) -> Report:
    facts: dict[str, object] = {"tests": "truncation", "draws": 100, "workers": 1, "csv": table, **more}
    return in_process(files, metrics, **facts)  # type: ignore[arg-type]
