"""`reproduce summeval`: agreement within documents and of systems, by arithmetic that can be checked by hand."""

import json
from pathlib import Path

import pytest

from cli.reproduce_summeval import summeval_strings
from core.errors import UserError

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
