"""What pages read of a project: its index, some texts, a search, columns of scores."""

from __future__ import annotations

import numpy as np
import pytest

from core.data import Dataset, ExternalScores, HumanScore, Output, OutputKey, Segment, SegmentKey, SourceFile, Value
from core.errors import UserError
from core.ports.store import Store
from core.signature import content_key
from core.text.words import fold
from tests.stores import project_with

ONE, TWO = SegmentKey("d", "1"), SegmentKey("e", "2")
DATA = Dataset(
    (Segment("d", "1", "Der Fluß", ("The river",)), Segment("e", "2", None, ("ＦＵＬＬ width", "another"))),
    (Output("A", "d", "1", "a 😀 river"), Output("B", "d", "1", ""), Output("B", "e", "2", "Another B")),
    (HumanScore("B", "e", "2", "adequacy", 3.0), HumanScore("A", "d", "1", "fluency", 1.0)),
)


@pytest.fixture
def project(store: Store) -> int:
    made = project_with(store, DATA)
    return made


def put(store: Store, values: dict[OutputKey, Value], signature: str = "chrf|v:1") -> None:
    items = dict(DATA.items())
    store.scores.put("chrf", signature, {content_key(*items[key]): value for key, value in values.items()}, 1.0)


def test_the_index_has_the_lengths_of_the_outputs_and_follows_an_import(store: Store, project: int) -> None:
    before = store.projects.index(project)
    assert (before.segments, before.systems) == ((ONE, TWO), ("A", "B"))
    assert before.lengths.tolist() == [[9, 0], [-1, 9]]  # an emoji is one character, an empty output is there
    assert list(before.keys()) == [o.key for o in DATA.outputs]
    store.projects.add(project, Dataset((Segment("e", "2", None),), (Output("C", "e", "2", "c"),)))
    after = store.projects.index(project)
    assert (after.systems, before.version == after.version, after.n_outputs) == (("A", "B", "C"), False, 4)


def test_texts_are_those_of_the_segments_in_document_order(store: Store, project: int) -> None:
    whole = store.projects.texts(project, [TWO, ONE, SegmentKey("no", "1"), TWO])
    assert whole == Dataset(DATA.segments, DATA.outputs)
    assert store.projects.texts(project, [TWO]) == Dataset(DATA.segments[1:], DATA.outputs[2:])
    assert store.projects.texts(project, [TWO], ()) == Dataset(DATA.segments[1:], ())
    assert store.projects.texts(project, [TWO, ONE], {"B", "none"}) == Dataset(
        DATA.segments, tuple(o for o in DATA.outputs if o.system == "B")
    )
    assert store.projects.texts(project, []) == Dataset((), ())


def test_search_finds_what_the_folded_texts_contain(store: Store, project: int) -> None:
    for phrase, places in [
        ("FLUSS", [ONE]),  # ß folds to ss
        ("full", [TWO]),  # full-width letters are the same in NFKC
        ("another", [TWO]),
        ("😀", [ONE]),
        ("d", [ONE, TWO]),  # the name of a document, and "width"
        ("100 %", []),
        ("_", []),
    ]:
        assert store.projects.search(project, phrase) == places, phrase
    texts = [
        "Plain",
        "STRASSE",
        "Straße",
        "ſharp",
        "K",
        "İstanbul",
        "ﬁne",
        "100%",
        "a_b",
        "back\\slash",
        "x" * 3000,
        "ΣΊΣΥΦΟΣ",
        "e\u0301",
    ]
    keys = [SegmentKey("", str(1000 + i)) for i in range(len(texts))]
    outputs = [Output("", *key, text) for key, text in zip(keys, texts, strict=True)]
    made = project_with(store, Dataset(tuple(Segment(*key, None, ()) for key in keys), tuple(outputs)), "odd")
    for phrase in [
        *texts,
        *map(str.swapcase, texts),
        "ss",
        "k",
        "i",
        "%",
        "_",
        "\\",
        "x" * 2999,
        "x" * 3001,
        "é",
        "fi",
    ]:
        expected = [key for key, text in zip(keys, texts, strict=True) if fold(phrase) in fold(text)]
        assert store.projects.search(made, phrase) == expected, phrase


def test_a_column_has_values_reasons_and_parts(store: Store, project: int) -> None:
    a, b = OutputKey("A", *ONE), OutputKey("B", *TWO)
    values = {a: Value(0.5, parts={"dist_exp": 1.0, "dist_imp": -2.0}), b: Value(None, "needs", "no source")}
    put(store, values)
    column = store.scores.column(project, "chrf|v:1")
    assert dict(column) == values
    assert (column.at(0, 1), column.n, len(column)) == (None, 2, 2)
    assert column.parts["dist_imp"][0, 0] == -2.0
    assert column.finite() == {a: 0.5}


def test_a_column_follows_later_runs_and_new_references(store: Store, project: int) -> None:
    a, b = OutputKey("A", *ONE), OutputKey("B", *TWO)
    put(store, {a: Value(None, "error", "broken")})
    assert store.scores.column(project, "chrf|v:1").n == 0  # a failure is no result
    assert store.scores.signatures(project) == []
    put(store, {a: Value(1.0), b: Value(2.0)})
    assert store.scores.column(project, "chrf|v:1").finite() == {a: 1.0, b: 2.0}
    assert [(s.signature, s.n) for s in store.scores.signatures(project)] == [("chrf|v:1", 2)]
    put(store, {OutputKey("B", *ONE): Value(3.0)})
    assert [(s.signature, s.n) for s in store.scores.signatures(project)] == [("chrf|v:1", 3)]
    assert store.scores.column(project, "chrf|v:1").numbers.tolist()[0] == [1.0, 3.0]
    store.projects.add(project, Dataset((Segment("d", "1", None, ("The stream",)),), ()))
    assert store.scores.column(project, "chrf|v:1").finite() == {b: 2.0}, "other texts were scored"
    assert [s.n for s in store.scores.signatures(project)] == [1]


def test_a_column_of_external_scores_follows_imports_and_removal(store: Store, project: int) -> None:
    a = OutputKey("A", *ONE)

    def add(value: float) -> str:
        scores = ExternalScores("mine", True, (SourceFile("f.tsv", "0" * 64),), {a: Value(value)})
        store.projects.add(project, Dataset((), ()), external=[scores], replace=["mine"])
        return store.scores.external(project)[0].signature

    signature = add(1.0)
    assert store.scores.column(project, signature).finite() == {a: 1.0}
    assert add(2.0) == signature
    assert store.scores.column(project, signature).finite() == {a: 2.0}
    store.scores.remove_external(project, "mine")
    assert store.scores.column(project, signature).n == 0


def test_human_scores_are_columns(store: Store, project: int) -> None:
    assert store.projects.human_score(project, "adequacy").finite() == {OutputKey("B", *TWO): 3.0}
    assert store.projects.human_score(project, "none").n == 0


def test_an_empty_project_has_an_empty_index(store: Store) -> None:
    empty = store.projects.create("empty").id
    index = store.projects.index(empty)
    assert (index.shape, index.n_outputs, index.outline, list(index.keys())) == ((0, 0), 0, {}, [])
    assert store.scores.column(empty, "chrf|v:1").n == 0
    assert np.isnan(store.projects.human_score(empty, "adequacy").numbers).all()


def test_an_unknown_project_is_an_error(store: Store) -> None:
    for read in ["index", "texts", "search", "human_score", "column"]:
        port = store.scores if read == "column" else store.projects
        arguments = {"index": (), "texts": ([ONE],)}.get(read, ("x",))
        with pytest.raises(UserError, match="no such project"):
            getattr(port, read)(99, *arguments)
