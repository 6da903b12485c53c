"""`attack` through the command line and as a function."""

from pathlib import Path

import pytest

from cli import stress as command
from core.errors import UserError
from tests import tiny_checkpoints as tiny
from tests.cli.program import read_table, run

INPUT = """doc_id,segment_id,source,reference,reference2,system,output
d,1,Quelle eins,=The cat sat on the mat,The cat was sitting on the mat,A,The cats sat on the mat
d,2,Quelle zwei,A dog ran to the red house,The dog ran to a house that is red,A,A dog ran home
d,3,Quelle drei,The blue house,A house in blue,A,The blue house
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERRORSCOPE_MLM", str(tiny.masked(tmp_path / "mlm")))
    path = tmp_path / "in.csv"
    path.write_text(INPUT, encoding="utf-8")
    return path


def test_a_row_a_step_and_a_row_a_judge_are_written(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    done = run(
        "attack", str(table), "--metric", "chrf", "--others", "bleu,ter", "--limit", "2", "--bound", "0.3", "--out", str(out)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = list(read_table(out))
    assert {r["id"] for r in rows} == {"1", "2"}
    steps = [r for r in rows if r["id"] == "1" and r["against"] == "the good text"]
    assert [r["step"] for r in steps] == [str(i) for i in range(len(steps))]
    assert (steps[0]["text"], steps[0]["score"], steps[0]["noise_ratio"]) == (
        "'=The cat sat on the mat",
        "100.0",
        "0.0",
    )
    assert float(steps[-1]["noise_ratio"]) >= 0.3
    assert "|attack|v:2|bound:0.3|k1:8|k2:8|expected:mlm " in steps[0]["signature"]
    judged = [r for r in rows if r["id"] == "1" and r["against"] == "the references"]
    assert [(r["metric"], r["step"]) for r in judged] == [
        (m, s) for m in ("chrf", "bleu", "ter") for s in ("0", str(len(steps) - 1))
    ]
    gold, attacked = (float(r["score"]) for r in judged[4:])  # TER: lower is better
    assert float(judged[5]["change"]) == pytest.approx((gold - attacked) / gold)
    assert "\n2 of 2 texts attacked, mean noise ratio " in done.stderr
    assert [line.split(":")[0] for line in done.stderr.splitlines()[-3:]] == ["chrF", "BLEU", "TER"]


def test_a_system_can_be_gold_and_progress_is_told(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(command, "status", said.append)
    rows = command.attack_command([table], tmp_path / "a.csv", "chrf", "", gold="A", bound=0.2, limit=1)
    assert rows[0].text == "The cats sat on the mat"
    assert said[0] == "text 1 of 1 · 0% of the bound"
    assert "text 1 of 1 · 100% of the bound" in said


def test_a_judge_that_lacks_a_reference_says_so(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.write_text(
        "doc_id,segment_id,reference,system,output\nd,1,The cat sat on the mat,A,The cat\n", encoding="utf-8"
    )
    rows = command.attack_command([table], tmp_path / "a.csv", "chrf", "bleu", bound=0.2)
    assert [r.reason for r in rows if r.metric == "bleu"] == ["BLEU needs a reference, but this segment has none"] * 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "BLEU: no score against the references (BLEU needs a reference, but this segment has none)"
    )


def test_files_are_looked_at_before_the_work(table: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write this type"):
        command.attack_command([table], tmp_path / "a.json", "chrf")
    with pytest.raises(UserError, match="cannot be written"):
        command.attack_command([table], tmp_path / "no" / "a.csv", "chrf")


def test_if_no_text_can_be_attacked_the_first_reason_is_raised(table: Path, tmp_path: Path) -> None:
    table.write_text("doc_id,segment_id,reference,system,output\nd,1,Hello,A,Hello\n", encoding="utf-8")
    with pytest.raises(UserError, match="no edit is left"):
        command.attack_command([table], tmp_path / "a.csv", "chrf", expected=0, near=0)
