"""JSON Lines of documents with the outputs of many systems: SummEval's form, wherever a table is read."""

import json

import pytest

from core.formats.columns import guess
from core.formats.files import Upload
from core.formats.table import read_table
from core.services.projects.importing import load
from tests.core.formats.problems import problems_of
from tests.paths import DATA

SUMMEVAL = DATA / "summeval.jsonl.gz"
DOCUMENTS = [
    {
        "doc_id": "d1", "source": "A text.", "references": ["r1", "r2"],
        "outputs": {"A": {"text": "a1", "human": {"fluency": 4.5}}, "B": {"text": "b1", "human": {"fluency": 3}}},
    },
    {"doc_id": "d2", "source": "Another.", "references": ["r3"], "outputs": {"A": "a2"}},
]  # fmt: skip


def upload(documents: list[object]) -> Upload:
    return Upload("s.jsonl", "".join(json.dumps(d) + "\n" for d in documents).encode())


def test_there_is_a_row_an_output_with_what_people_said_of_it() -> None:
    table = read_table(upload(DOCUMENTS))
    assert table.columns == ("doc_id", "source", "references", "system", "output", "fluency")
    assert [row.cells for row in table.rows] == [
        ("d1", "A text.", ("r1", "r2"), "A", "a1", "4.5"),
        ("d1", "A text.", ("r1", "r2"), "B", "b1", "3"),
        ("d2", "Another.", ("r3",), "A", "a2", None),
    ]
    assert [row.line for row in table.rows] == [1, 1, 2]
    assert len(read_table(upload(DOCUMENTS), 1).rows) == 1


def test_a_document_of_another_form_is_told_with_its_line() -> None:
    faulty = [{"A": ["a"]}, {"A": {"human": {}}}, {"": "a"}, {"A": {"text": "a", "human": {"f": [1]}}}]
    for outputs in ("text", None, ["a"], *faulty):
        (problem,) = problems_of(read_table, upload([*DOCUMENTS, {"doc_id": "d3", "outputs": outputs}]))
        assert (problem.row, problem.column) == (3, "outputs")
    # with texts, it is a column of outputs
    table = read_table(upload([{"outputs": "a text", "source": "s"}, {"outputs": "another", "source": "s"}]))
    assert table.columns == ("outputs", "source")


@pytest.mark.parametrize(
    "name", ["source", "segment_id", "output", "system", "reference", "ref1", "domain", "error", "COMET", ""]
)
def test_ambiguous_human_score_names_are_a_problem(name: str) -> None:
    documents = [
        {"doc_id": doc, "source": "A text.", "domain": "news", "outputs": {"A": {"text": "a", "human": {"overall": 1, name: 2}}}}
        for doc in ("d1", "d2")
    ]  # fmt: skip
    (problem,) = problems_of(read_table, upload(documents))  # once a name, where it is met first
    assert (problem.row, problem.column) == (1, "outputs")
    assert f"“{name}”" in problem.got
    renamed = " ".join(f"human {name} score".split())
    assert f"“{renamed}”" in problem.todo
    for document in documents:
        document["outputs"]["A"]["human"] = {renamed: 2}
    assert guess(read_table(upload(documents))).human_scores == (renamed,)


@pytest.mark.skipif(not SUMMEVAL.exists(), reason="needs shared/data")
def test_summeval_has_its_published_size() -> None:
    data = load([SUMMEVAL]).dataset
    assert (len(data.segments), len(data.outputs), len(data.systems), len(data.human_scores)) == (100, 1600, 16, 6400)
    assert {len(s.references) for s in data.segments} == {11}
    assert {h.name for h in data.human_scores} == {"coherence", "consistency", "fluency", "relevance"}
