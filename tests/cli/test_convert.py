"""`convert`: labels from one format into another, told from the content, with what does not come along."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.labels import convert_command
from core.errors import ImportProblems, UserError
from core.formats.labels import google_mqm
from tests.cli import program
from tests.paths import DATA

ROWS = """system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment
A\td\t1\t7\tann\tQuelle\ta <v>bad</v> cat\tFluency/Grammar\tMajor\thm
A\td\t1\t7\tben\tQuelle\ta bad cat\tNo-error\tNo-error\t
B\td\t1\t7\tann\t<v>Quelle</v>\tcat\tAccuracy/Omission\tMinor\t
"""
OUTPUTS = "system,doc,segment,source,output\nA,d,7,Quelle,a bad cat\nB,d,7,Quelle,cat\n"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.tsv"
    path.write_text(ROWS, encoding="utf-8")
    (tmp_path / "outputs.csv").write_text(OUTPUTS, encoding="utf-8")
    return path


@pytest.mark.parametrize("to", ["marot", "mtme-jsonl", "esa", "label-studio"])
def test_there_and_back_again_is_the_same_file(labels: Path, tmp_path: Path, to: str) -> None:
    convert_command([labels], to, tmp_path / "there")
    convert_command([tmp_path / "there"], "google", tmp_path / "back")
    assert set((tmp_path / "back").read_text(encoding="utf-8").splitlines()) == set(ROWS.splitlines())


def test_two_raters_make_two_files_that_hold_all_ratings(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert_command([labels], "mtme", tmp_path / "out.seg.rating")
    said = capsys.readouterr().err.splitlines()
    files = [tmp_path / "out.1.seg.rating", tmp_path / "out.2.seg.rating"]
    assert said[0].startswith("note: written: ")
    assert "note: 1 note: kept under a key that mt-metrics-eval ignores." in said
    assert files[1].read_text(encoding="utf-8") == 'A\t{"errors": []}\tben\nB\tNone\n'
    convert_command(files, "google", tmp_path / "back", texts=[tmp_path / "outputs.csv"])
    assert set((tmp_path / "back").read_text(encoding="utf-8").splitlines()) == set(ROWS.splitlines())


def test_mqm_and_human_scores_are_written_as_seg_score(labels: Path, tmp_path: Path) -> None:
    convert_command([labels], "mtme-score", tmp_path / "mqm.seg.score")
    # A: ann 5, ben 0, mean 2.5; B: ann 1
    assert (tmp_path / "mqm.seg.score").read_text(encoding="utf-8") == "A\t-2.5\nB\t-1.0\n"
    texts = [tmp_path / "outputs.csv"]
    convert_command([tmp_path / "mqm.seg.score"], "mtme-score", tmp_path / "again.seg.score", texts=texts, score="mqm")
    assert (tmp_path / "again.seg.score").read_bytes() == (tmp_path / "mqm.seg.score").read_bytes()


def test_severities_are_renamed_on_request(labels: Path, tmp_path: Path) -> None:
    labels.write_text(ROWS.replace("Major", "Critical"), encoding="utf-8")
    convert_command([labels], "google", tmp_path / "out", severity=["critical=major"])
    rated = google_mqm.read_google_mqm((tmp_path / "out").read_bytes()).rated
    assert {e.severity for r in rated for e in r.errors} == {"Major", "Minor"}


def test_bad_input_is_one_clear_error_and_writes_nothing(labels: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(UserError, match="unknown label format"):
        convert_command([labels], "xliff", out)
    with pytest.raises(UserError, match="cannot be detected"):
        convert_command([tmp_path / "outputs.csv"], "marot", out)
    (tmp_path / "old.xml").write_text("<?xml version='1.0'?>\n<results/>\n", encoding="utf-8")
    with pytest.raises(UserError, match="got XML"):
        convert_command([tmp_path / "old.xml"], "marot", out)
    (tmp_path / "da.csv").write_text("u,A,7,TGT,eng,deu,71,d#A,False,[],1.5,2.5\n", encoding="utf-8")
    with pytest.raises(UserError, match="campaign of another tool.*--format appraise"):
        convert_command([tmp_path / "da.csv"], "marot", out)
    with pytest.raises(UserError, match="not written in this format"):
        convert_command([labels], "judgements", out)
    with pytest.raises(UserError, match="critical=Major"):
        convert_command([labels], "marot", out, severity=["critical"])
    with pytest.raises(UserError, match="no human score of this name"):
        convert_command([labels], "mtme-score", out, score="DA")
    (tmp_path / "x.seg.score").write_text("A 1\n")
    with pytest.raises(ImportProblems, match="--texts"):
        convert_command([tmp_path / "x.seg.score"], "mtme-score", out, score="x")
    with pytest.raises(UserError, match="scores but no labels"):
        convert_command(
            [tmp_path / "x.seg.score", labels.with_name("y.seg.score")][:1], "marot", out, texts=[_one(tmp_path)]
        )
    assert not out.exists()


def _one(folder: Path) -> Path:
    (folder / "one.csv").write_text("system,segment,output\nA,7,cat\n", encoding="utf-8")
    return folder / "one.csv"


def test_the_command_says_what_is_left_out_on_the_side(labels: Path, tmp_path: Path) -> None:
    done = program.run("convert", str(labels), "--to", "esa", "--out", str(tmp_path / "x.jsonl"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "note: 1 error span in the source: other tools read “missing”, without the position." in done.stderr
    assert json.loads((tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()[0])["system"] == "A"


TED = DATA / "mqm_ted_zhen.tsv.gz"


@pytest.fixture(scope="module")
def ted() -> google_mqm.GoogleMqm:
    if not TED.exists():
        pytest.skip("mqm_ted_zhen.tsv.gz is not beside the repository")
    return google_mqm.read_google_mqm(TED.read_bytes())


@pytest.mark.extended
@pytest.mark.parametrize("to", ["marot", "mtme-jsonl", "esa", "label-studio"])
def test_the_ted_release_goes_there_and_back_without_loss(tmp_path: Path, to: str, ted: google_mqm.GoogleMqm) -> None:
    convert_command([TED], to, tmp_path / "there")
    convert_command([tmp_path / "there"], "google", tmp_path / "back")
    first, second = ted, google_mqm.read_google_mqm((tmp_path / "back").read_bytes())
    assert len(second.rated) == 7935
    assert set(second.rated) == set(first.rated)
    assert set(second.dataset.outputs) == set(first.dataset.outputs)
