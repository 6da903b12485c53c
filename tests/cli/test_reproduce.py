import gzip
import json
from pathlib import Path

import pytest

from cli.reproduce_summeval import DIMENSIONS, SMART_TABLE_1, ComparedFigure, smart_table1, summeval
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
        ("{", "line 2.*SummEval"),
        (
            '{"source": "a", "references": [], "outputs": {"S": {"text": "a", "human": {"coherence": 1}}}}',
            "consistency",
        ),
        ('\n{"outputs": []}', "line 3"),
        (
            '{"source": "a", "references": [], "outputs": {"S": {"text": null, "human": {}}}}',
            "a text of S is not a string",
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
        with pytest.raises(UserError, match=r"not UTF-8|damaged gzip|JSONDecodeError|not a document|not JSON"):
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
