import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, update

from core.data import Dataset, HumanScore, Output, Segment
from core.errors import ImportProblems, UserError
from core.ports.store import Store
from db.tables import projects
from tests.builders import small_dataset
from tests.db.raw import counts, rows
from tests.stores import project_with

ODD = [
    "😀 bad",
    "שלום עולם",
    "a\u2028b\u2029c\x85d",
    "line\r\nline\n",
    "  trailing  \t",
    "",
    "<b>&amp;</b>",
    "=1+1",
    "é",
    "e\u0301",
    "\ufeffbom",
]


def test_texts_are_stored_exactly(store: Store) -> None:
    segments = (*(Segment(text, text, text, (text, text)) for text in ODD), Segment("d", "none", None))
    data = Dataset(segments, tuple(Output(text, text, text, text) for text in ODD))
    project = project_with(store, data)
    assert store.projects.dataset(project) == data


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=6)
)
def test_any_text_round_trips(store: Store, texts: list[str]) -> None:
    segments = tuple(Segment("d", str(i), t, (t, t[::-1])) for i, t in enumerate(texts))
    data = Dataset(segments, tuple(Output("S", "d", str(i), t) for i, t in enumerate(texts)))
    project = store.projects.create(f"p{time.perf_counter_ns()}").id
    store.projects.add(project, data)
    assert store.projects.dataset(project) == data


def test_a_conflicting_import_leaves_every_table_as_it_was(store: Store, engine: Engine) -> None:
    project = project_with(store)
    before, texts = counts(engine), rows(engine, "SELECT id, text, content_key FROM outputs ORDER BY id")
    good = small_dataset(9, ("A", "B", "C"))
    clash = Dataset(good.segments, (*good.outputs, Output("A", "doc", "0", "not what was imported")))
    with pytest.raises(
        ImportProblems,
        match="system “A”, document “doc”, segment “0”: found “not what was imported”; expected “A output 0”",
    ):
        store.projects.add(project, clash)
    assert counts(engine) == before
    assert rows(engine, "SELECT id, text, content_key FROM outputs ORDER BY id") == texts
    long, score = "word " * 200, HumanScore("A", "doc", "0", "da", 70.0)
    store.projects.add(project, Dataset((Segment("d", "1", long + "old end"),), (), (score,)))
    with pytest.raises(ImportProblems) as raised:
        store.projects.add(project, Dataset((Segment("d", "1", long + "new end"),), (), (score._replace(value=71.0),)))
    text, number = raised.value.problems
    assert ("new end" in text.got, "old end" in text.expected, len(text.got) < 100) == (True, True, True), (
        "quoted where they differ"
    )
    assert number.column.startswith("human score “da”")


def test_repeated_texts_are_one_row_and_conflicts_found(store: Store, engine: Engine) -> None:
    project = store.projects.create("p").id
    segment, output = Segment("d", "1", "s"), Output("A", "d", "1", "t")
    report = store.projects.add(project, Dataset((segment, segment), (output, output)))
    assert (report.segments, report.outputs, report.unchanged) == (1, 1, 2)
    with pytest.raises(ImportProblems):
        store.projects.add(project, Dataset((Segment("d", "2", "s"), Segment("d", "2", "z")), ()))
    assert counts(engine)["segments"] == 1


def test_ten_thousand_outputs_are_imported_and_read_in_seconds(store: Store) -> None:
    data = small_dataset(2500, ("A", "B", "C", "D"))
    project = store.projects.create("large").id
    began = time.process_time()
    assert store.projects.add(project, data).outputs == 10_000
    assert store.projects.dataset(project) == data
    assert time.process_time() - began < 10  # about one second; processor time, as the machine may be busy


def test_the_list_counts_nothing_that_was_counted_after_the_import(store: Store, engine: Engine) -> None:
    project = project_with(store)
    counted = store.projects.get(project)
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda _c, _k, statement, *_: asked.append(statement))
    assert store.projects.list() == [counted]
    assert asked
    assert not [statement for statement in asked if "outputs" in statement]


@pytest.mark.parametrize("kept", [None, [0, 99, 99, ["X"], [], []]], ids=["none", "of an earlier import"])
def test_a_summary_that_is_not_of_the_last_import_is_counted_again(store: Store, engine: Engine, kept: object) -> None:
    project = project_with(store)
    before = store.projects.get(project)
    with engine.begin() as connection:
        connection.execute(update(projects).values(summary=kept))
    assert store.projects.get(project) == before
    assert store.projects.list() == [before]


@pytest.mark.parametrize("n", [30, 3000])
def test_a_text_that_cannot_be_stored_is_found_among_many(store: Store, n: int) -> None:
    project = store.projects.create("p").id
    texts = ["ends with half a pair of 😀"] * n
    texts[n // 2] = "here is half\ude00"
    outputs = tuple(Output("s", "d", str(i), text) for i, text in enumerate(texts))
    segments = tuple(Segment("d", str(i), None if i % 2 else "a source") for i in range(n))
    with pytest.raises(UserError, match=r"half a character .* at position 13, in 'here is half.ude00'"):
        store.projects.add(project, Dataset(segments, outputs))
    assert store.projects.dataset(project) == Dataset((), ())
