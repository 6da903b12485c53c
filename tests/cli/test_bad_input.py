"""What a command cannot do ends it with status 2 and one clear line, and nothing is written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests import tiny_checkpoints as tiny
from tests.cli import test_score, test_sensitivity
from tests.cli.program import run
from tests.core.services.robustness import test_adversarial
from tests.templates import empty_database

FILES = {"table": test_score.INPUT, "pairs": test_sensitivity.INPUT, "cases": test_adversarial.CSV}
COMMANDS = (
    ("score", "Missing argument"),
    ("score nowhere.csv --out {out}.csv", "nowhere.csv"),
    ("score {table} --metrics crhf --out {out}.csv", "Did you mean chrf"),
    ("score {table} --metrics , --out {out}.csv", "no metric given"),
    ("score {table} --metrics chrf --out no/such/folder/x.csv", "cannot be written"),
    ("score {table} --metrics 'bartscore++|k:x' --out {out}.csv", "a whole number from 1 to 1000"),
    ("score {table} --metrics 'chrf|bta:3' --out {out}.csv", "Did you mean beta"),
    ("refine {table} --rounds few --out {out}.jsonl", "or “half”"),
    ("refine {table} --side decoder --out {out}.jsonl", "--prompt"),
    ("refine {table} --prompt ' ' --out {out}.jsonl", "a phrase on one line"),
    ("refine {table} --prompts no.json:mt --out {out}.jsonl", "no.json"),
    ("refine {table} --prompts mtt --out {out}.jsonl", "Did you mean mt"),
    ("mqm {table} --out {out}.csv", "rater"),
    ("mqm {table} --by rater --out {out}.csv", "'rater'"),
    ("mqm {table} --scheme wmt --out {out}.csv", "'wmt'"),
    ("sensitivity {pairs} --metrics chrf --out {out}.html", ".csv or .json"),
    ("sensitivity {pairs} --metrics chrf --lambda -1 --out {out}.csv", "--lambda"),
    ("sensitivity {pairs} --metrics chrf --lambda nan --out {out}.csv", "--lambda"),
    ("sensitivity README.md --metrics chrf --out {out}.csv", "README.md"),
    ("adversarial {cases} --metrics chrf --reference-free --out {out}.csv", "no metric scored any case"),
    ("adversarial {cases} --metrics chrf --solved-by bleu --out {out}.csv", "this metric is not scored"),
    ("attack {table} --metric chrf --others blue --out {out}.csv", "Did you mean bleu"),
    ("attack {table} --metric chrf --gold T --out {out}.csv", "there is no system “T”"),
    ("attack {table} --metric chrf --bound 0 --out {out}.csv", "invalid bound of the noise ratio"),
    ("stress {table} --tests truncatoin --out {out}.html", "Did you mean truncation"),
    ("stress {table} --metrics crhf --out {out}.html", "Did you mean chrf"),
    ("stress {table} --metrics '' --out {out}.html", "no name given"),
    ("stress {table} --gold T --out {out}.html", "there is no system “T”"),
    ("stress {table} --tests truncation --fail-on token-drop --out {out}.html", "no such test in this run"),
    ("stress {table} --tests truncation", "no output file given"),
    ("stress {table} --out {out}.html --json {out}.html", "the same file is given twice"),
    ("stress {table} --tests none --out {out}.html", "no name given"),
    ("stress {table} --seed -1 --out {out}.html", "--seed"),
    ("stress {table} --draws 99 --out {out}.html", "--draws"),
    ("jobs --database {database} priority 1 101", "100"),
    ("users --database {database} role ann news king", "adjudicator"),
    ("users --database {database} add ann --no-password --password-stdin", "--no-password"),
    ("projects --database {database} import a.csv --name a --into b", "--into"),
    ("projects --database {database} export news docx", "scores-parquet"),
    ("campaign --database {database} plan news --protocol esb", "esa"),
    ("campaign --database {database} import a.json --format pearmut", "--name"),
    ("campaign --database {database} create news x --finish-by soon", "--finish-by"),
    ("db", "backup"),
)


def test_what_cannot_be_done_ends_with_2_and_a_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_MLM", str(tiny.masked(tmp_path / "mlm")))
    paths = {name: tmp_path / f"{name}.csv" for name in FILES} | {"out": tmp_path / "written"}
    for name, text in FILES.items():
        paths[name].write_text(text, encoding="utf-8")
    database = empty_database(tmp_path / "errorscope.db")
    for line, message in COMMANDS:
        done = run(*shlex.split(line.format(**paths, database=database)))
        said = done.stdout + done.stderr
        assert (done.returncode, message in said, "Traceback" in said) == (2, True, False), (line, said)
    assert not list(tmp_path.glob("written*"))
