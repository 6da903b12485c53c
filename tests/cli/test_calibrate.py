import json
from pathlib import Path
from typing import Any

import pytest

from cli import calibrate as command
from cli.calibrate import calibrate_command
from core.errors import UserError
from tests.core.calibration.test_calibrate import points


def files(tmp_path: Path, *, systems: dict[str, str] | None = None) -> tuple[Path, Path]:
    """refined.jsonl with a row that could not be refined, and a CSV with a row without score and one of another system."""
    there = points(4)
    rows: list[dict[str, Any]] = [
        {**p.key._asdict(), "dist_exp": p.dist_exp, "dist_imp": p.dist_imp, "score_hyp": p.score_hyp} for p in there
    ]
    rows.append({"system": "A", "doc_id": "d9", "segment_id": "0", "status": "needs", "reason": "no reference"})
    refined, human = tmp_path / "refined.jsonl", tmp_path / "F.csv"
    refined.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    lines = [f"{p.key.system},{p.key.doc_id},{p.key.segment_id},{p.human},2" for p in there[1:]]
    lines += ["Z,d0,0,1.5,2", "A,d9,1,,0"]
    human.write_text("system,doc_id,segment_id,score,n_raters\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return refined, human


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "DRAWS", 0)


def test_the_report_is_written_with_what_the_join_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "DRAWS", 20)
    refined, human = files(tmp_path)
    calibrate_command(refined, [human], tmp_path / "lambda.json", seed=3)
    told = capsys.readouterr().err.splitlines()
    report = json.loads((tmp_path / "lambda.json").read_text(encoding="utf-8"))
    assert {"lambda", "plateau", "agreement", "agreement_at", "ci", "cross_validated", "n"} <= report.keys()
    assert report["n"] == 79
    assert report["lambda"] == pytest.approx(2, rel=0.3)
    assert set(report["agreement_at"]) == {"0", "1", "inf", "vanilla"}
    assert report["joined"] == {"outputs": 79, "without_human_score": 1, "without_distances": 1}
    told = [line for line in told if not line.startswith(("How F.csv was read", "  "))]
    assert told == [*report["notes"], report["recommendation"]]
    assert told[:4] == [
        "1 outputs of refined.jsonl are not in the other file and are left out.",
        "1 outputs of F.csv are not in the other file and are left out.",
        "1 rows of refined.jsonl have no distances and are left out.",
        "1 rows of F.csv have no score and are left out.",
    ]


def test_names_that_were_made_safe_for_a_spreadsheet_still_join(tmp_path: Path) -> None:
    refined, human = files(tmp_path)
    refined.write_text(refined.read_text(encoding="utf-8").replace('"system": "A"', '"system": "=A"'), encoding="utf-8")
    human.write_text(human.read_text(encoding="utf-8").replace("\nA,", "\n'=A,"), encoding="utf-8")
    assert calibrate_command(refined, [human], tmp_path / "o.json", group="segment").n == 79


@pytest.mark.parametrize(
    ("which", "old", "new", "message"),
    [
        ("refined.jsonl", '"dist_exp": ', '"dist_exp": "x", "was": ', "line 1, dist_exp: found 'x'"),
        ("refined.jsonl", '{"system"', '["system"', "not JSON"),
        ("refined.jsonl", '"doc_id"', '"document"', "line 1, doc_id"),
        ("F.csv", "segment_id", "part", "this column is missing"),
        ("F.csv", "1.5,2", "good,2", "found 'good'; expected a number"),
        ("F.csv", "Z,d0,0", "B,d0,0", "each output only once"),
    ],
)
def test_bad_input_is_one_clear_error(tmp_path: Path, which: str, old: str, new: str, message: str) -> None:
    refined, human = files(tmp_path)
    path = tmp_path / which
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        calibrate_command(refined, [human], tmp_path / "lambda.json")
    assert message in str(caught.value)
    assert not (tmp_path / "lambda.json").exists()


def test_files_without_a_common_output_name_one_of_each(tmp_path: Path) -> None:
    refined, human = files(tmp_path)
    human.write_text("system,doc_id,segment_id,score\nX,d,1,2\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"no output in common.*A / d0 / 0 and X / d / 1"):
        calibrate_command(refined, [human], tmp_path / "lambda.json")


def test_files_of_one_name_in_two_folders_are_counted_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refined, human = files(tmp_path)
    rows = [json.loads(line) for line in refined.read_text(encoding="utf-8").splitlines()]
    rated = [
        {**{name: row[name] for name in ("system", "doc_id", "segment_id")}, "score": i} for i, row in enumerate(rows)
    ]
    for folder, lines in (("A", rows), ("B", rated[30:-1])):
        (tmp_path / folder).mkdir()
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / folder / "same.jsonl").write_text(text, encoding="utf-8")
    both = (tmp_path / "A" / "same.jsonl", tmp_path / "B" / "same.jsonl")
    calibrate_command(both[0], [both[1]], tmp_path / "lambda.json")
    told = capsys.readouterr().err.splitlines()
    joined = json.loads((tmp_path / "lambda.json").read_text(encoding="utf-8"))["joined"]
    assert joined == {"outputs": 50, "without_human_score": 30, "without_distances": 0}
    told = [line for line in told if not line.startswith(("How ", "  "))]
    assert told[0] == "30 outputs of same.jsonl are not in the other file and are left out."
