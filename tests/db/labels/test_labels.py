import threading

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import IntegrityError

from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import UserError
from core.formats.files import Upload
from core.formats.labels.label_file import Severities
from core.formats.labels.label_formats import FORMATS
from core.mqm.log import SegmentFold, fold_segment
from core.ports.labels import Action, ActionKind, Event
from core.ports.store import Store
from core.services.export import export
from db.engine import writing
from db.failures import Conflict
from db.store import open_store
from tests.db.other_processes import save_and_wait
from tests.db.raw import counts, rows, scalar
from tests.db.workers.helpers import until
from tests.postgres import on_postgres
from tests.processes import ended, started_with_pipe
from tests.stores import project_with

FIRST = SegmentKey("doc", "0")


def act(id: str, kind: ActionKind, system: str | None = None, **payload: object) -> Action:
    return Action(id, kind, system, payload)


def mark(id: str, quote: str = "A", **more: object) -> Action:
    span = {
        "mark": f"m-{id}",
        "side": "output",
        "start": 0,
        "end": 1,
        "quote": quote,
        "severity": "Major",
        "category": "Other",
        "note": "",
    }
    return Action(id, "add", "A", span | more, "2026-01-01T10:00:00.123Z")


def test_what_was_acknowledged_survives_a_kill(url: str, engine: Engine, project: int) -> None:
    process, connection = started_with_pipe(save_and_wait, url)
    assert [connection.recv() for _ in range(2)] == [["e1", "e2"], ["e3"]]
    process.kill()
    assert ended(process) == -9
    labels = fold_segment(open_store(url).labels.events(project, rater="ann", segment=FIRST))
    assert labels.submitted
    assert labels.of("A").marks[0].span.note == "😀"
    assert labels.of("B").verdict == "no_error"
    assert rows(engine, "SELECT action_id, kind FROM events ORDER BY number") == [
        ("e1", "add"),
        ("e2", "verdict"),
        ("e3", "submit"),
    ]


@on_postgres
def test_events_become_visible_in_the_order_of_their_numbers(
    store: Store, engine: Engine, url: str, project: int
) -> None:
    """A reader that has seen `newest` never misses an event with a smaller number that is committed later."""
    seen, recorded, go_on = list[int](), threading.Event(), threading.Event()
    another = open_store(url)

    def wait(_: object) -> None:
        recorded.set()
        go_on.wait(60)

    def append() -> None:
        another.labels.append(project, "bob", FIRST, [mark("e2")])
        seen.append(another.labels.newest(project))

    event.listen(engine, "commit", wait)
    first = threading.Thread(target=store.labels.append, args=(project, "ann", FIRST, [mark("e1")]))
    first.start()
    assert recorded.wait(60)
    second = threading.Thread(target=append)
    second.start()
    until(lambda: scalar(engine, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 1)
    assert seen == []
    go_on.set()
    for thread in (first, second):
        thread.join()
    assert seen == [2]


def test_a_note_that_no_file_can_hold_is_refused(store: Store, engine: Engine, project: int) -> None:
    for note in ["half \ud83d", "nul \0", "x" * 10_001]:
        before = counts(engine)
        with pytest.raises(UserError, match="note"):
            store.labels.append(project, "ann", FIRST, [mark("e1"), mark("e2", note=note, severity="Minor")])
        assert counts(engine) == before


def test_a_note_recorded_before_is_exported_with_a_replacement(
    store: Store, engine: Engine, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("core.mqm.action_form.is_storable", lambda text: True)
        store.labels.append(
            project, "ann", FIRST, [mark("e1", note="half \ud83d"), act("e2", "verdict", "B", value="no_error")]
        )
        store.labels.append(project, "ann", FIRST, [act("e3", "submit")])
    for name, kind in FORMATS.items():
        if kind.write:
            written = export.labels_as(store, project, name=name)
            assert any("mark with �" in line for line in written.lost)
            if name in ("google", "marot", "mtme-jsonl", "esa", "label-studio"):
                read = kind.read(Upload(f"a.{kind.ending}", written.data), Severities(), None)
                assert read.rated[0].errors[0].note == "half \ufffd"
    made = export.labels_as_csv(store, project)
    assert "half �" in made.data.decode()
    assert len(made.lost) == 1


@pytest.mark.parametrize(("text", "message"), [("half \ud83d", "half a character"), ("nul \0", "a NUL character")])
def test_texts_that_no_database_can_hold_are_refused(store: Store, project: int, text: str, message: str) -> None:
    before = store.projects.dataset(project)
    for attempt in (
        lambda: store.projects.create(text),
        lambda: store.projects.rename(project, text),
        lambda: store.labels.append(project, text, FIRST, [mark("e1")]),
        lambda: store.labels.append(project, "ann", SegmentKey("", text), [mark("e1")]),
        lambda: store.projects.add(project, Dataset((Segment("", "9", text),), (Output(text, "", "9", text),))),
    ):
        with pytest.raises(UserError, match=f"cannot be stored .*{message}.* at position"):
            attempt()
    assert store.projects.dataset(project) == before
    assert len(store.projects.list()) == 1


def test_events_can_be_neither_changed_nor_deleted(store: Store, engine: Engine, project: int) -> None:
    store.labels.append(project, "ann", FIRST, [mark("e1")])
    for statement in (
        "UPDATE events SET kind = 'delete'",
        "DELETE FROM events",
        "DELETE FROM segments",
        "DELETE FROM raters",
        *(["TRUNCATE events", "TRUNCATE projects CASCADE"] if engine.dialect.name == "postgresql" else []),
    ):
        with pytest.raises((IntegrityError, Conflict)), writing(engine) as connection:
            connection.execute(text(statement))
    assert rows(engine, "SELECT kind FROM events") == [("add",)]


def test_deleted_projects_leave_no_log_and_free_no_ids(store: Store, engine: Engine, project: int) -> None:
    store.labels.append(project, "ann", FIRST, [mark("e1"), mark("e2", severity="Minor")])
    store.projects.delete(project)
    assert scalar(engine, "SELECT count(*) FROM events") == 0
    again = project_with(store, name="again")
    sent = mark("e1", note="\u2028 <b>x</b> שלום")
    store.labels.append(again, "ann", FIRST, [sent])
    assert [(event.number, event.action) for event in store.labels.events(again)] == [(3, sent)]
    other = project_with(store, name="other")
    assert other > again > project
    store.labels.append(other, "ann", FIRST, [sent])  # the same id in another project is another action
    assert len(store.labels.events(other)) == 1
    job = store.jobs.enqueue(other, ["chrf"]).id
    store.projects.delete(other)
    assert store.jobs.enqueue(again, ["chrf"]).id > job


def test_the_work_per_action_does_not_grow_with_the_log(
    store: Store, engine: Engine, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded, selected = [0], [0]

    add = SegmentFold.add

    def counting(fold: SegmentFold, event: Event) -> None:
        folded[0] += 1
        add(fold, event)

    def count(connection: object, cursor: object, statement: str, *_: object) -> None:
        selected[0] += statement.startswith("SELECT") and "payload" in statement.partition("FROM")[0]

    monkeypatch.setattr(SegmentFold, "add", counting)
    event.listen(engine, "before_cursor_execute", count)
    for n in range(30):
        verdicts = [act(f"{n}-{i}", "verdict", "A", value="no_error" if i % 2 else None) for i in range(10)]
        store.labels.append(project, "ann", FIRST, verdicts)
    assert (folded[0], selected[0]) == (300, 1)  # each event once; the log is read for the first batch only


@pytest.mark.extended
def test_a_log_has_a_largest_length_and_can_still_be_submitted(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.labels.repository.LONGEST_LOG", 2)
    store.labels.append(
        project, "ann", FIRST, [act("1", "verdict", "A", value="no_error"), act("2", "verdict", "B", value="no_error")]
    )
    with pytest.raises(UserError, match="you have made 2 changes"):
        store.labels.append(project, "ann", FIRST, [act("3", "verdict", "A", value=None)])
    store.labels.append(project, "ann", FIRST, [act("4", "submit")])
    assert len(store.labels.events(project)) == 3


@pytest.mark.extended
def test_actions_that_another_server_added_are_seen(store: Store, url: str, project: int) -> None:
    other = open_store(url)
    store.labels.append(project, "ann", FIRST, [mark("1")])
    other.labels.append(project, "ann", FIRST, [act("2", "delete", "A", mark="m-1")])
    with pytest.raises(UserError, match="does not exist"):
        store.labels.append(project, "ann", FIRST, [act("3", "delete", "A", mark="m-1")])
    store.labels.append(project, "ann", FIRST, [mark("4")])
    assert [e.action.id for e in store.labels.events(project)] == ["1", "2", "4"]
