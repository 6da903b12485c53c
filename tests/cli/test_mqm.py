import csv
from pathlib import Path

import pytest

from cli.labels import mqm_command
from core.errors import ImportProblems, UserError
from tests.paths import DATA

ROWS = """system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity
=A\td\t1\t7\tann\ts\t<v>t</v>\tAccuracy/Mistranslation\tMajor
=A\td\t1\t7\tann\ts\tt<v></v>\tFluency/Punctuation\tMinor
=A\td\t1\t7\tben\ts\tt\tNo-error\tNo-error
B\td\t1\t7\tann\ts\t<v>u</v>\tNon-translation!\tMajor
"""


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.tsv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def test_segment_scores_are_written_one_row_per_output(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mqm_command(labels, tmp_path / "F.csv")
    assert capsys.readouterr().err == ""
    # =A: (5.1 + 0) / 2; a name that looks like a formula is made safe to open
    assert (tmp_path / "F.csv").read_text(encoding="utf-8") == (
        "system,doc_id,segment_id,score,n_raters\n'=A,d,7,-2.55,2\nB,d,7,-25.0,1\n"
    )


def test_system_means_are_written_best_first(labels: Path, tmp_path: Path) -> None:
    mqm_command(labels, tmp_path / "F.csv", "flat", "system")
    # flat: =A (5 + 1) / 2 = 3, B 5
    assert (tmp_path / "F.csv").read_text(
        encoding="utf-8"
    ) == "system,score,n_segments,n_raters\n'=A,-3.0,1,2\nB,-5.0,1,1\n"


def test_bad_input_is_one_clear_error_and_writes_nothing(labels: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="google, marot, flat"):
        mqm_command(labels, tmp_path / "F.csv", "wmt")  # type: ignore[arg-type]
    labels.write_text(ROWS.replace("Major", "Terrible"), encoding="utf-8")
    with pytest.raises(UserError, match="Terrible"):
        mqm_command(labels, tmp_path / "F.csv")
    assert not (tmp_path / "F.csv").exists()


@pytest.mark.extended
def test_ted_zh_en_has_its_7935_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = DATA / "mqm_ted_zhen.tsv.gz"
    if not path.exists():
        pytest.skip("mqm_ted_zhen.tsv.gz is not beside the repository")
    mqm_command(path, tmp_path / "F.csv")
    assert len(capsys.readouterr().err.splitlines()) == 1
    with (tmp_path / "F.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert len(rows) == 7935
    assert rows[0] == {
        "system": "Borderline",
        "doc_id": "talk.2",
        "segment_id": "84",
        "score": "-20.0",
        "n_raters": "1",
    }


def test_every_severity_without_a_weight_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    rows = ["C\td\t1\t8\tann\ts\t<v>t</v>\tStyle\tCritical", "C\td\t1\t9\tann\ts\t<v>t</v>\tStyle\t"]
    path.write_text(ROWS + "\n".join(rows) + "\n", encoding="utf-8")
    with pytest.raises(ImportProblems) as caught:
        mqm_command(path, tmp_path / "F.csv", by="system")
    assert [(p.file, p.row, p.column, p.got) for p in caught.value.problems] == [
        ("labels.tsv", 6, "severity", "'Critical'"),
        ("labels.tsv", 7, "severity", "''"),
    ]
    assert not (tmp_path / "F.csv").exists()
