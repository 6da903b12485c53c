"""`score` and `refine` through the command line, as a user calls them."""

import hashlib
import json
from pathlib import Path

import pytest

from core.metrics.registry import METRICS, specs
from core.processes.pool import Pool
from core.refine.result import weighted
from tests.cli.program import read_table, run, run_program
from tests.tiny_checkpoints import environment_of

INPUT = """system,doc_id,segment_id,source,reference,output
A,d,1,x,The cat sat on the mat.,The dog sat on the mat 😀.
B,d,1,x,The cat sat on the mat.,The cat sat on the mat.
A,d,2,x,Prices rose by ten percent in May.,"=HYPERLINK(""x"")"
B,d,3,x,,Prices rose.
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(INPUT, encoding="utf-8")
    return path


def test_score_writes_one_row_per_output_and_metric(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    done = run("score", str(table), "--metrics", "chrf,ter", "--out", str(out))
    assert done.returncode == 0, done.stderr
    rows = list(read_table(out))
    assert list(rows[0]) == ["system", "doc_id", "segment_id", "metric", "signature", "score", "status", "reason"]
    assert len(rows) == 8
    by = {(r["system"], r["segment_id"], r["metric"]): r for r in rows}
    assert float(by["B", "1", "chrf"]["score"]) == pytest.approx(100)
    assert float(by["B", "1", "ter"]["score"]) == 0
    lacking = by["B", "3", "chrf"]
    assert (lacking["score"], lacking["status"]) == ("", "needs")
    assert "reference" in lacking["reason"]


def test_few_outputs_start_no_process(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: Pool, work: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Pool, "start", start)
    written = []
    for workers in ("1", "2"):
        done = run("score", str(table), "--metrics", "chrf,ter", "--workers", workers, "--out", str(tmp_path / workers))
        assert done.returncode == 0, done.stderr
        written.append((tmp_path / workers).read_bytes())
    assert written[0] == written[1]


def test_metrics_with_options_stand_beside_their_plain_form(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    done = run("score", str(table), "--metrics", "chrf,chrf|word_order:2|beta:3, chrf|beta:2", "--out", str(out))
    assert done.returncode == 0, done.stderr
    rows = list(read_table(out))
    assert {r["metric"]: r["signature"].split("|")[6] for r in rows} == {
        "chrf": "nw:0",
        "chrf|beta:3|word_order:2": "nw:2",
    }
    assert len(rows) == 8


def test_every_metric_is_listed_with_its_options() -> None:
    done = run("metrics")
    assert done.returncode == 0, done.stderr
    for name in METRICS:
        assert f"\n{name} " in done.stdout
    for option in specs()["bartscore++"].options:
        assert f"\n  {option.name} " in done.stdout
    assert "options of rouge1, rouge2, rougeL" in done.stdout
    assert "torch" not in done.stderr


@pytest.mark.parametrize(
    ("variant", "compared", "rows"), [("faithfulness", "x", 4), ("recall", "The cat sat on the mat.", 3)]
)
def test_refine_names_the_text_that_outputs_are_compared_with(
    variant: str, compared: str, rows: int, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment_of("bartscore++").items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "refined.jsonl"
    done = run("refine", str(table), "--variant", variant, "--k", "2", "--rounds", "1", "--out", str(out))
    assert done.returncode == 0, done.stderr
    refined = [row for row in map(json.loads, out.read_text(encoding="utf-8").splitlines()) if row["status"] == "ok"]
    assert len(refined) == rows
    assert refined[0]["reference"] == compared


@pytest.mark.models
def test_refine_takes_its_options_from_the_command_line(table: Path, tmp_path: Path) -> None:
    lists, out = tmp_path / "p.json", tmp_path / "refined.jsonl"
    lists.write_text('{"short": ["In short", "In brief"]}', encoding="utf-8")
    options = ["--k", "3", "--rounds", "1", "--edits", "delete", "--non-translation", "off", "--side", "decoder"]
    prompts = ["--prompt", "Such as", "--prompts", f"{lists}:short"]
    done = run("refine", str(table), *options, *prompts, "--out", str(out))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    code = hashlib.sha256(b"Such as\nIn short\nIn brief").hexdigest()[:8]
    for row in rows:
        assert f"|nt:off|k:3|rounds:1|edits:delete|prompt:decoder(3 phrases {code})|" in row["signature"]
        assert row["signature"].startswith("refinement|v:1|variant:f|")
        assert all(step["edit"] == "delete" for step in row.get("steps", []))
    assert not rows[2]["non_translation"]


@pytest.mark.models
def test_refine_writes_the_distances_and_the_steps(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "refined.jsonl"
    done = run("refine", str(table), "--out", str(out))
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(r["system"], r["segment_id"]) for r in rows] == [("A", "1"), ("B", "1"), ("A", "2"), ("B", "3")]
    first, copy, formula, lacking = rows
    assert first["dist_exp"] == pytest.approx(first["score_refined"] - first["score_hyp"])
    assert first["steps"][0]["after"] > first["steps"][0]["before"]
    assert weighted(first["dist_exp"], first["dist_imp"], 1) < weighted(copy["dist_exp"], copy["dist_imp"], 1)
    assert formula["non_translation"]
    assert formula["refined"] == formula["output"] == '=HYPERLINK("x")'
    assert lacking["status"] == "needs"


def test_bad_input_ends_the_program_with_2_and_one_line(table: Path) -> None:
    done = run_program("score", str(table), "--metrics", "crhf", "--out", "x.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Did you mean chrf" in done.stderr


def test_a_device_that_is_not_there_is_one_clear_line(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRORSCOPE_DEVICE", "gpu")
    done = run("refine", str(table), "--out", str(tmp_path / "r.jsonl"))
    assert done.returncode == 2
    assert "ERRORSCOPE_DEVICE" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_mqm_tsv_is_scored_against_the_outputs_of_a_system(tmp_path: Path) -> None:
    header = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
    rows = [f"{s}\td\t1\t7\tr\tsource\t{t}\tno-error\tno-error" for s, t in (("A", "a text"), ("ref-A", "the text"))]
    path, out = tmp_path / "labels.tsv", tmp_path / "scores.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    done = run("score", str(path), "--metrics", "chrf", "--reference", "ref-A", "--out", str(out))
    assert done.returncode == 0, done.stderr
    scores = {r["system"]: (r["status"], r["score"]) for r in read_table(out)}
    assert scores["ref-A"] == ("ok", "100.0")
    assert 0 < float(scores["A"][1]) < 100
    lost = run("score", str(path), "--metrics", "chrf", "--reference", "refB", "--out", str(out))
    assert "there is no such system" in lost.stderr
