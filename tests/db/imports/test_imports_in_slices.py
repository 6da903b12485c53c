"""Large imports and deletions are written in slices: others wait only for one slice, and readers see all or nothing."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from core.data import Dataset, ExternalScores, HumanScore, Judgement, OutputKey, SegmentKey, SourceFile, Value
from core.errors import ImportProblems, UserError
from core.memory import short_collections
from core.ports.labels import Action, LabelBatch
from core.ports.store import Store
from core.services.projects.adding import ImportTarget
from db.columns import now
from db.engine import writing
from db.imports import adding, slices
from db.store import open_store, store_over
from tests.builders import small_dataset
from tests.db.other_processes import IMPORTED, delete_project, import_project, kill_at_statement
from tests.db.raw import counts, rows, scalar
from tests.processes import at_once, ended, started
from tests.stores import add_dataset, project_with

LARGE = IMPORTED
SEGMENT = SegmentKey("doc", "0")


def scored() -> Dataset:
    human = tuple(HumanScore(*o.key, "da", float(i)) for i, o in enumerate(LARGE.outputs))
    return Dataset(LARGE.segments, LARGE.outputs, human)


def external(extra: OutputKey | None = None) -> ExternalScores:
    keys = [o.key for o in LARGE.outputs] + ([extra] if extra else [])
    return ExternalScores("COMET", True, (SourceFile("f", "0"),), {key: Value(0.5) for key in keys})


def labels() -> list[LabelBatch]:
    return [
        LabelBatch("ann", s.key, [Action(f"a{s.segment_id}", "verdict", "A", {"value": "no_error"})])
        for s in LARGE.segments
    ]


def judgements() -> list[Judgement]:
    return [Judgement(o.key, "bob", "fluency", 1.0) for o in LARGE.outputs]


@pytest.fixture(autouse=True)
def many_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "SMALL", 60)
    monkeypatch.setattr(slices, "FIRST", 20)
    monkeypatch.setattr(slices, "MOST", 20)
    monkeypatch.setattr(slices, "PAUSE_SECONDS", 0.0)


def rows_of_transactions(engine: Engine) -> list[int]:
    """Return a list to which each transaction from now on adds how many rows it writes."""
    rows: list[int] = []
    event.listen(engine, "begin", lambda _: rows.append(0))

    def count(*statement: Any) -> None:
        rows[-1] += len(statement[3]) if isinstance(statement[3], list) else 0

    event.listen(engine, "before_cursor_execute", count)
    return rows


def before_slices(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Call a function during an import, before each slice."""
    writing_one = slices.SlicedWriter.writing

    def doing(self: slices.SlicedWriter) -> AbstractContextManager[Connection]:
        do()
        return writing_one(self)

    monkeypatch.setattr(slices.SlicedWriter, "writing", doing)


def test_a_large_import_with_labels_and_scores_is_complete(store: Store, engine: Engine) -> None:
    project = store.projects.create("p").id
    report = store.projects.add(project, scored(), labels(), judgements=judgements(), external=[external()])
    n = len(LARGE.outputs)
    assert (report.segments, report.outputs, report.human_scores, report.metric_scores) == (n // 2, n, n, n)
    assert (report.labelled, report.judgements, report.unchanged) == (n // 2, n, 0)
    assert store.projects.dataset(project) == scored()
    assert len(store.labels.events(project)) == n // 2
    assert store.labels.judgements(project) == judgements()
    again = store.projects.add(project, scored(), labels(), judgements=judgements(), external=[external()])
    assert (again.segments, again.outputs, again.labelled, again.judgements, again.metric_scores) == (0, 0, 0, 0, 0)
    store.projects.delete(project)
    assert {table for table, found in counts(engine).items() if found} == {"raters"}


def test_a_reader_in_the_middle_sees_nothing(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, seen = open_store(url), list[object]()
    project = store.projects.create("p").id

    def look() -> None:
        seen.append(reader.projects.list())
        for use in (reader.projects.get, reader.projects.dataset, reader.projects.index, reader.projects.delete):
            with pytest.raises(UserError, match="being imported"):
                use(project)
        with pytest.raises(UserError, match="being imported"):
            reader.projects.create("p")

    before_slices(monkeypatch, look)
    store.projects.add(project, scored(), labels(), judgements=judgements(), external=[external()])
    assert len(seen) > 10
    assert not any(seen)
    assert reader.projects.get(project).n_outputs == len(LARGE.outputs)


def test_an_annotator_saves_between_the_slices(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    other, project = store.projects.create("other").id, store.projects.create("p").id
    store.projects.add(other, small_dataset())
    saved = list[str]()

    def save() -> None:
        action = Action(f"a{len(saved)}", "verdict", "A", {"value": "no_error"})
        saved.extend(store.labels.append(other, "ann", SEGMENT, [action]).ids)

    before_slices(monkeypatch, save)
    store.projects.add(project, LARGE)
    assert len(store.labels.events(other)) == len(saved) > 3
    assert store.projects.dataset(project) == LARGE


def test_an_invalid_end_of_an_import_removes_everything(store: Store, engine: Engine) -> None:
    for wrong in ["label", "external", "judgement", "text"]:
        project = store.projects.create(wrong).id
        before = counts(engine)
        batches = labels()
        metric = external(OutputKey("Z", "doc", "0") if wrong == "external" else None)
        numbers = judgements()
        dataset = scored()
        if wrong == "label":
            batches[-1] = LabelBatch("zoe", LARGE.segments[-1].key, [Action("last", "submit", None, {})])
        if wrong == "judgement":
            numbers[-1] = numbers[-1]._replace(value=float("nan"))
        if wrong == "text":  # is found only when it is written
            batches[-1] = LabelBatch("half \ud83d", *batches[-1][1:])
        with pytest.raises(UserError):
            store.projects.add(project, dataset, batches, judgements=numbers, external=[metric])
        assert counts(engine) == before, wrong
        assert store.projects.get(project).n_outputs == 0
        assert store.labels.raters() == []


def test_a_failed_import_leaves_no_new_project(store: Store, engine: Engine) -> None:
    with pytest.raises(ImportProblems):
        add_dataset(store, ImportTarget("p"), LARGE, [external(OutputKey("Z", "doc", "0"))])
    assert set(counts(engine).values()) == {0}
    assert add_dataset(store, ImportTarget("p"), LARGE, [external()]).report.outputs == len(LARGE.outputs)


def killed(url: str, work: Callable[[Store], object], statement: str, number: int) -> None:
    """Run `work` with a store in another process, which is killed at a statement."""
    assert ended(started(kill_at_statement, url, work, statement, number)) == -9


def age(engine: Engine, seconds: float) -> None:
    with writing(engine) as connection:
        then = (now() - timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S.%f")
        connection.execute(text("UPDATE projects SET importing = :then WHERE importing IS NOT NULL"), {"then": then})


@pytest.mark.parametrize("opened_again", [True, False])
def test_an_import_that_was_killed_is_removed(
    url: str, engine: Engine, opened_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if opened_again:
        killed(url, import_project, "INSERT INTO outputs", 3)
        assert scalar(engine, "SELECT count(*) FROM outputs") > 0
    else:  # a kill that this process survives

        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        others = store_over(engine).projects
        with monkeypatch.context() as patched:
            patched.setattr(slices.SlicedWriter, "clear", stop)
            patched.setattr(slices.SlicedWriter, "show", stop)
            with pytest.raises(KeyboardInterrupt):
                others.add(others.create("p").id, LARGE, new_project=True)
        assert scalar(engine, "SELECT count(*) FROM outputs") > 0
    store = open_store(url)
    assert store.projects.list() == []
    with pytest.raises(UserError, match="in a minute"):  # it may be alive
        add_dataset(store, ImportTarget("p"), LARGE)
    age(engine, slices.INTERRUPTED_SECONDS + 1)
    if opened_again:
        store = open_store(url)
        assert set(counts(engine).values()) == {0}
    done = add_dataset(store, ImportTarget("p"), LARGE)
    assert store.projects.dataset(done.project.id) == LARGE
    assert scalar(engine, "SELECT count(*) FROM outputs") == len(LARGE.outputs)


def test_an_interrupted_import_leaves_an_existing_project_as_it_was(
    url: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(url)
    project = store.projects.create("p")
    account = store.people.add_account("ann", "hash", manager=False)
    store.people.set_role(project.id, account.id, "manager")
    link = store.people.add_link(project.id, "Ben", None, "h" * 64, None, "ann")
    store.settings.put(project.id, "note", {"kept": True})
    before = counts(engine)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        for step in ("clear", "show"):
            patched.setattr(slices.SlicedWriter, step, stop)
        before_slices(patched, lambda: stop() if scalar(engine, "SELECT count(*) FROM judgements") else None)
        with pytest.raises(KeyboardInterrupt):
            store.projects.add(project.id, scored(), labels(), judgements=judgements(), external=[external()])
    assert store.projects.list() == []
    age(engine, slices.INTERRUPTED_SECONDS + 1)
    store = open_store(url)
    assert counts(engine) | {"raters": 0} == before  # other projects may use the names of raters
    assert [p._replace(imports=0) for p in store.projects.list()] == [project]
    assert store.people.members(project.id) == [(account, "manager")]
    assert store.people.links(project.id) == [link]
    assert store.settings.get(project.id, "note") == {"kept": True}
    (entry,) = store.audit.entries(project.id)
    assert (entry.who, entry.act, entry.details) == ("server", "interrupted import removed", {"name": "p"})
    store.projects.add(project.id, LARGE)
    assert store.projects.dataset(project.id) == LARGE


def test_a_deletion_that_was_killed_is_completed(url: str, engine: Engine) -> None:
    store = open_store(url)
    project = project_with(store, scored(), external=[external()])
    store.jobs.enqueue(project, ["chrf"])
    killed(url, delete_project, "DELETE FROM outputs", 2)
    assert store.projects.list() == []
    assert scalar(engine, "SELECT count(*) FROM outputs") > 0
    age(engine, slices.INTERRUPTED_SECONDS + 1)
    open_store(url)
    assert set(counts(engine).values()) == {0}


def test_an_import_that_slept_too_long_fails_and_leaves_nothing(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[bool] = []

    def sleep() -> None:
        if not slept:
            slept.append(True)
            age(engine, slices.INTERRUPTED_SECONDS + 1)
            slices.remove_interrupted(engine)

    before_slices(monkeypatch, sleep)
    with pytest.raises(UserError, match="made no progress"):
        add_dataset(store, ImportTarget("p"), LARGE)
    assert set(counts(engine).values()) == {0}

    with writing(engine) as connection:
        mine = slices.begin(connection, engine, "q")
    theirs = slices.SlicedWriter(engine, mine.id, mine._beat)
    theirs.record("interrupted deletion completed", "q")  # another process has begun to remove it
    with pytest.raises(UserError, match="made no progress"), mine.writing():
        pytest.fail("the import goes on while another process deletes it")
    theirs.remove()


def test_two_imports_at_once_into_two_projects(url: str, engine: Engine) -> None:
    store = open_store(url)
    ids = [store.projects.create(name).id for name in ("one", "two")]
    at_once(*(lambda i=i: open_store(url).projects.add(i, LARGE) for i in ids))
    assert [store.projects.dataset(i) == LARGE for i in ids] == [True, True]


@pytest.mark.extended
@pytest.mark.parametrize("frozen_before", [False, True])
@pytest.mark.parametrize("first_to_end", [0, 1])
def test_of_two_imports_at_once_the_last_to_end_unfreezes(
    frozen_before: bool, first_to_end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)
    gc.unfreeze()
    if frozen_before:
        gc.freeze()
    imports_at_once = [short_collections() for _ in range(2)]
    for one in imports_at_once:
        one.__enter__()
    imports_at_once.pop(first_to_end).__exit__(None, None, None)
    assert gc.get_freeze_count() > 0
    imports_at_once.pop().__exit__(None, None, None)
    assert (gc.get_freeze_count() > 0) is frozen_before
    gc.unfreeze()


def test_objects_are_frozen_only_while_a_large_import_is_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.unfreeze()
    frozen: list[bool] = []
    before_slices(monkeypatch, lambda: frozen.append(gc.get_freeze_count() > 0))
    with pytest.raises(UserError):
        store.projects.add(store.projects.create("p").id, LARGE, [LabelBatch("half \ud83d", *labels()[0][1:])])
    assert len(frozen) > 3
    assert (all(frozen), gc.get_freeze_count()) == (True, 0)


def test_two_imports_at_once_into_one_project_add_it_once(url: str, engine: Engine) -> None:
    store = open_store(url)
    project = store.projects.create("p").id
    errors: list[Exception] = []

    def work() -> None:
        try:
            open_store(url).projects.add(project, LARGE)
        except UserError as error:
            errors.append(error)

    at_once(work, work)
    assert store.projects.dataset(project) == LARGE
    assert all("being imported" in str(error) for error in errors)


@pytest.mark.parametrize("systems", ["B", "BCD"], ids=["once", "as often as it is planned outside of transactions"])
def test_an_outdated_plan_is_made_again(store: Store, engine: Engine, systems: str) -> None:
    project = project_with(store, small_dataset(3, "A"))
    others = iter(systems)

    def and_meanwhile(share: float) -> None:
        """Import another system when this import begins to be planned."""
        if share == 0.0 and (system := next(others, None)):
            store.projects.add(project, small_dataset(3, system))

    label = LabelBatch("ann", SEGMENT, [Action("a", "verdict", "Z", {"value": "no_error"})])
    assert store.projects.add(project, small_dataset(3, "Z"), [label], and_meanwhile).outputs == 3
    assert store.projects.get(project).systems == ("A", *systems, "Z")
    n = 3 * len(("A", *systems, "Z"))
    assert rows(engine, "SELECT count(DISTINCT position), count(*) FROM outputs") == [(n, n)]
    assert len(store.labels.events(project)) == 1
