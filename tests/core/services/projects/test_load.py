"""Files on disk, for the command line."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

from core.data import Dataset
from core.errors import ImportProblems, UserError
from core.formats.given_roles import GivenRoles
from core.formats.labels import google_mqm
from core.services.projects.importing import load
from tests.core.formats.problems import problems_of
from tests.paths import DATA


def dataset(paths: list[Path]) -> Dataset:
    return load(paths).dataset


def test_tables_are_merged_and_text_files_aligned_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,ref,A\n1,r,x\n")
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b"id\tB\n1\ty\n"))
    assert dataset([tmp_path / "a.csv", tmp_path / "b.tsv.gz"]).systems == ("A", "B")
    for name, text in {"ref.txt": "r\n", "A.txt": "x\n"}.items():
        (tmp_path / name).write_text(text)
    got = dataset([tmp_path / "ref.txt", tmp_path / "A.txt"])
    assert (got.segments[0].references, got.systems) == (("r",), ("A",))


def test_what_cannot_be_loaded_is_one_clear_line(tmp_path: Path) -> None:
    for name, text in (
        ("a.csv", "id,system,output\n1,A\n"), ("b.csv", "id,system,output\n1,A,x\n1,A,x\n"), ("c.csv", ""),
        ("d.csv", "id,A\n1,x\n"), ("d.txt", "x\n"), ("e.tsv", "system\tbleu\tter\nA\t31.2\t48\nB\t27.5\t52\n"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    problems = problems_of(load, [tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"])
    assert sorted(p.file for p in problems) == ["a.csv", "b.csv", "c.csv"]
    for names, message in (
        (["missing.csv"], "the file cannot be read"), ([""], "cannot be read"),
        (["d.csv", "d.txt"], "tables and plain text are mixed"), (["e.tsv"], "one row per system, without segment IDs"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message) as caught:
            dataset([tmp_path / name for name in names])
        assert not isinstance(caught.value, ImportProblems) or len(caught.value.problems) == 1


MQM = """system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity
A\td\t1\t7\tann\ts\t  '=a <v>b</v> \tStyle\tSerious
A\td\t1\t7\tben\ts\t  '=a b \tno-error\tno-error
ref\td\t1\t7\tann\ts\tNone\tno-error\tno-error
"""


def test_an_mqm_tsv_gives_its_texts_whatever_its_labels(tmp_path: Path) -> None:
    (tmp_path / "mqm.tsv").write_text(MQM, encoding="utf-8")
    (tmp_path / "more.csv").write_text("system,doc_id,segment_id,output,reference\nB,d,7,c,r\n", encoding="utf-8")
    got = dataset([tmp_path / "mqm.tsv"])
    assert got == google_mqm.read_google_mqm(MQM.encode()).dataset
    assert [o.text for o in got.outputs] == ["  '=a b ", "None"]
    both = dataset([tmp_path / "mqm.tsv", tmp_path / "more.csv"])
    assert both.systems == ("A", "ref", "B")
    assert both.segments[0].references == ("r",)


@pytest.mark.skipif(not DATA.exists(), reason="the shared data stand beside the repository")
def test_real_files_are_read_or_answered(tmp_path: Path) -> None:
    path = tmp_path / "mqm.tsv.gz"
    with gzip.open(DATA / "mqm_ted_zhen.tsv.gz") as whole:
        path.write_bytes(gzip.compress(b"".join(islice(whole, 1000))))
    assert dataset([path]) == google_mqm.read_google_mqm(path.read_bytes()).dataset
    with pytest.raises(ImportProblems, match="again, as in line"):
        dataset([DATA / "menli_wmt20_de_adversarial.csv.gz"])  # its ids are unique within an error type only


def test_roles_are_listed_and_can_be_given(tmp_path: Path) -> None:
    for name, text in {"ref.txt": "r\n", "A.txt": "x\n", "a.csv": "Unnamed: 0,id,ref,A\n3,1,r,x\n"}.items():
        (tmp_path / name).write_text(text)
    lines = load([tmp_path / "ref.txt", tmp_path / "A.txt"], GivenRoles(["system=ref.txt"]))
    assert lines.dataset.systems == ("A", "ref")
    assert lines.as_read[1:2] == ("  system: A.txt, ref.txt",)
    table = load([tmp_path / "a.csv"], GivenRoles(["system=ref"]))
    assert table.dataset.systems == ("A", "ref")
    assert table.as_read[1:4] == ("  segment: id", "  system: ref, A", "  unused: Unnamed: 0 (an index of the rows)")
    with pytest.raises(UserError, match="does not say the system that has these scores"):
        load([tmp_path / "a.csv"], GivenRoles(["human=Unnamed: 0"]))
    (tmp_path / "w.csv").write_text("id,A,B,A_words,q_B,B_ter\n3,x,y,7,4,50\n4,x,y,6,5,.5\n")
    roles = GivenRoles(["human=A_words", "human=q_B"])
    table = load([tmp_path / "w.csv"], roles)
    assert [(h.system, h.name, h.value) for h in table.dataset.human_scores][:2] == [("A", "words", 7), ("B", "q", 4)]
    assert "  human: A_words (words of A), q_B (q of B)" in table.as_read
    assert "  metric: B_ter (ter of B)" in table.as_read


def test_what_is_odd_or_missing_is_said(tmp_path: Path) -> None:
    for name, text, expected in (
        (
            "a.csv", "seg,system,output,quality\n1,A,x,3\n1,A,x,4\n1,refA,y,4\n",
            ("the system “refA”, and no reference", "No segment has a reference", "rated several times (1 further row)"),
        ),
        ("A.bleu", "1\n2\n3\n", ("every line is a number",)),
        (
            "b.csv", "source,reference,A\ns,nan,the de@@ lay\nt,nan,None\nu,r,x @@ -1\n",
            (
                "b.csv: 2 texts among the references are “nan”, read as a text.",
                "b.csv: 1 text among the outputs is “None”", "b.csv: 1 text among the outputs has marks of subwords",
            ),
        ),
        ("A.txt", "▁the ▁cat\nthe dog\n", ("A.txt: 1 text among the outputs has marks of subwords",)),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        said = " ".join(load([tmp_path / name]).as_read)
        assert [part for part in expected if part not in said] == []


def test_segment_ids_written_in_two_ways_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("system,segment_id,output\n" + "".join(f"A,{i}.0,x {i}\n" for i in (1, 2, 10)))
    (tmp_path / "b.csv").write_text("segment_id,reference\n1,r\n2,s\n10,t\n")
    with pytest.raises(ImportProblems, match="a.csv, line 2: found segment “1.0” beside segment “1”, and 2 more IDs"):
        dataset([tmp_path / "a.csv", tmp_path / "b.csv"])
    (tmp_path / "b.csv").write_text("segment_id,reference\n01.0.0,r\n1a.0,s\n1.00,t\n3,u\n")
    assert len(dataset([tmp_path / "a.csv", tmp_path / "b.csv"]).segments) == 7
    (tmp_path / "a.csv").write_text("system,segment_id,output\nA,007,x\n")
    (tmp_path / "b.csv").write_text("segment_id,reference\n7,r\n")
    with pytest.raises(ImportProblems, match="segment “007” beside segment “7”"):
        dataset([tmp_path / "a.csv", tmp_path / "b.csv"])
