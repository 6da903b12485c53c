"""`reproduce smart-table1` and `reproduce summeval`: agreement by arithmetic that can be checked by hand."""

import gzip
import json
from pathlib import Path

import pytest

from cli.reproduce import DIMENSIONS, SMART_TABLE_1, ComparedFigure, smart_table1, summeval, summeval_strings
from core.errors import UserError
from tests.cli.program import run
from tests.paths import ROOT

DATA = ROOT / ".." / "shared" / "data" / "summeval.jsonl.gz"
HUMAN = dict.fromkeys(DIMENSIONS.values(), 1.0)
TEXTS = ["A cat sat on the mat.", "A cat sat.", "A dog ran off."]


def document(doc: int, texts: list[str]) -> str:
    outputs = {
        f"S{i}": {"text": text, "human": {d: 5.0 - i - (d == "fluency") * doc for d in DIMENSIONS.values()}}
        for i, text in enumerate(texts)
    }
    return json.dumps({"doc_id": str(doc), "source": TEXTS[0], "references": [TEXTS[0]], "outputs": outputs})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "some.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([document(0, TEXTS), document(1, TEXTS), ""]).encode()))
    return path


def test_each_figure_is_shown_with_the_papers_and_the_difference(data: Path) -> None:
    lines = smart_table1(data).split("\n")
    rows = [line for line in lines if line[8:9] == "S"]
    assert len(rows) == 15
    # three systems in the order of the experts: τ = 1, and .367 in the paper
    assert rows[-1].startswith("CHRF    SL   .367  1.000 +.633 ")
    assert "6 outputs of 3 systems" in lines[1]
    assert any(line.startswith("CHRF     0 of 12 exact") for line in lines)
    assert "by .667" in lines[-1]  # one of three pairs reversed: 2 / 3


def test_exact_means_the_same_three_digits() -> None:
    assert ComparedFigure("CHRF", "1", "Coh", 0.300, 0.29951).exact
    assert not ComparedFigure("CHRF", "1", "Coh", 0.300, 0.2994).exact


def test_the_table_has_sixty_cells() -> None:
    assert sum(map(len, SMART_TABLE_1.values())) == 60


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2"),
        (
            '{"source": "a", "references": [], "outputs": {"S": {"text": "a", "human": {"coherence": 1}}}}',
            "consistency",
        ),
        ('\n{"outputs": []}', "line 3"),
        (
            '{"source": "a", "references": [], "outputs": {"S": {"text": null, "human": {}}}}',
            "a text is NoneType",
        ),
    ],
)
def test_another_file_is_refused_with_its_line_and_the_format(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(document(0, TEXTS) + "\n" + line, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        summeval(path)


def test_a_file_that_is_no_text_is_said_to_be_none(tmp_path: Path) -> None:
    for name, data in (("a.jsonl", b"\xff"), ("b.jsonl.gz", b"no gzip"), ("c.gz", gzip.compress(b"{}")[:-9])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UserError, match=r"not UTF-8|damaged gzip|NotJson"):
            summeval(tmp_path / name)


def test_one_system_cannot_be_ranked(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(document(0, TEXTS[:1]), encoding="utf-8")
    with pytest.raises(UserError, match="two or more systems"):
        summeval(path)


def test_the_command_prints_the_table_and_ends_well(data: Path) -> None:
    command = ("reproduce", "smart-table1", "--data")
    done = run(*command, str(data))
    assert (done.returncode, done.stdout.count("SL")) == (0, 5)
    missing = run(*command, "none.jsonl")
    assert missing.returncode == 2
    assert missing.stderr.splitlines()[-1].startswith("error: none.jsonl")


@pytest.mark.skipif(not DATA.exists(), reason="the shared data stand beside the repository")
def test_summeval_has_1600_outputs_of_16_systems() -> None:
    rated = summeval(DATA)
    assert len(rated) == 1600
    assert len({r.system for r in rated}) == 16
    assert {len(r.item.references) for r in rated} == {11}


WORDS = {"A": "the cat sat on the mat", "B": "the cat sat", "C": "a dog"}


def written(path: Path, human: dict[str, float]) -> Path:
    document = {
        "source": "s",
        "references": ["the cat sat on the mat", "the cat sat on a mat"],
        "outputs": {
            system: {"text": text, "human": dict.fromkeys(("coherence", "consistency", "fluency", "relevance"), human[system])}
            for system, text in WORDS.items()
        },
    }  # fmt: skip
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")
    return path


def lines(text: str, heading: str) -> dict[tuple[str, str], list[float]]:
    block = text[text.index(heading) :].split("\n\n")[0].splitlines()[1:]
    rows = [line.split() for line in block if line.split()[0] in ("rouge1", "rouge2", "rougeL", "bleu", "chrf")]
    return {(r[0], r[1]): [float(c) for c in r[2:] if not c.startswith("(")] for r in rows}


def test_a_metric_that_ranks_as_experts_do_agrees_fully(tmp_path: Path) -> None:
    with_experts = summeval_strings(written(tmp_path / "a.jsonl", {"A": 3, "B": 2, "C": 1}))
    against = summeval_strings(written(tmp_path / "b.jsonl", {"A": 1, "B": 2, "C": 3}))
    for heading in ("Kendall τ-b between system means", "Spearman", "Kendall τ-b within"):
        assert lines(with_experts, heading)["chrf", "best"] == [1.0] * 4
        assert lines(against, heading)["chrf", "mean"] == [-1.0] * 4


def test_documents_without_an_agreement_are_counted(tmp_path: Path) -> None:
    one = written(tmp_path / "a.jsonl", {"A": 3, "B": 2, "C": 1}).read_text(encoding="utf-8")
    other = written(tmp_path / "b.jsonl", dict.fromkeys("ABC", 2.0)).read_text(encoding="utf-8")
    both = tmp_path / "both.jsonl"
    both.write_text(one + other.replace('"source": "s"', '"source": "t"'), encoding="utf-8")
    assert "chrf    best     1.000 (1/2)" in summeval_strings(both)


def test_people_who_see_no_difference_leave_agreement_undefined(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="undefined"):
        summeval_strings(written(tmp_path / "a.jsonl", dict.fromkeys("ABC", 2.0)))
