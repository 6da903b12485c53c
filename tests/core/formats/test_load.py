"""Files on disk, for the command line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from core.errors import ImportProblems, UserError
from core.formats.load import load

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data"


def test_tables_are_merged(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,ref,A\n1,r,x\n")
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"id\tB\n1\ty\n"))
    assert load([tmp_path / "a.csv", tmp_path / "b.tsv.gz"]).systems == ("A", "B")


def test_text_files_are_aligned_by_line(tmp_path: Path) -> None:
    for name, text in {"ref.txt": "r\n", "A.txt": "x\n"}.items():
        (tmp_path / name).write_text(text)
    got = load([tmp_path / "ref.txt", tmp_path / "A.txt"])
    assert (got.segments[0].references, got.systems) == (("r",), ("A",))


def test_every_problem_of_every_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,system,output\n1,A\n")
    (tmp_path / "b.csv").write_text("id,system,output\n1,A,x\n1,A,x\n")
    (tmp_path / "c.csv").write_bytes(b"")
    with pytest.raises(ImportProblems) as caught:
        load([tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"])
    assert sorted(p.file for p in caught.value.problems) == ["a.csv", "b.csv", "c.csv"]


def test_what_cannot_be_loaded_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the file cannot be read"):
        load([tmp_path / "missing.csv"])
    with pytest.raises(UserError, match="cannot be read"):
        load([tmp_path])
    (tmp_path / "a.csv").write_text("id,A\n1,x\n")
    (tmp_path / "a.txt").write_text("x\n")
    with pytest.raises(UserError, match="tables and plain text together"):
        load([tmp_path / "a.csv", tmp_path / "a.txt"])


@pytest.mark.skipif(not DATA.exists(), reason="the shared data stand beside the repository")
def test_real_files_are_read_or_answered() -> None:
    with pytest.raises(UserError, match="Google MQM TSV"):
        load([DATA / "mqm_ted_zhen.tsv.gz"])
    with pytest.raises(ImportProblems, match="again; it stands in line"):
        load([DATA / "menli_wmt20_de_adversarial.csv.gz"])  # its ids are unique within an error type only
