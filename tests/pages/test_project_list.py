"""The list of projects on the Projects page: rename, delete, open, the sample, and outputs of a system as references."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from threading import current_thread
from typing import Any

import pytest
from sqlalchemy import Engine, event
from streamlit.testing.v1 import AppTest

from core.columns import ProjectIndex
from core.ports.store import Store
from core.services.projects import sample
from db.projects.repository import SqlProjects
from db.scores.repository import SqlScores
from pages._ui.projects import importing
from pages._ui.shared import state, wiring
from tests.builders import small_dataset
from tests.pages.metric_boxes import MetricBoxes
from tests.pages.opened_page import field, press, run
from tests.pages.said import words
from tests.pages.test_projects import MQM, CancelledJob, uploaded


def test_a_project_is_opened_and_renamed(store: Store) -> None:
    for name in ("one", "two *x*"):
        store.projects.add(store.projects.create(name).id, small_dataset())
    one, two = store.projects.list()
    at = run("projects", one.id)
    assert "3 segments × 2 systems (A, B)" in words(at)
    assert "two *x*" in words(at)
    field(at, "New name").set_value("two *x*")
    at = press(at, "Rename")
    assert "already" in at.error[0].value
    field(at, "New name").set_value("<i>three</i>")
    at = press(at, "Rename")
    assert {p.name for p in store.projects.list()} == {"<i>three</i>", "two *x*"}
    at = at.button(key=f"open-{two.id}").click().run()
    assert at.query_params["project"] == str(two.id)

    store.projects.create("the sample", sample=True)
    run("projects", one.id)
    assert run("compare").query_params["project"] == str(one.id), "not the project last opened"
    state._last_opened.clear()
    assert run("compare").query_params["project"] == str(two.id), "the sample is preferred to a project"


def test_deleting_names_what_is_lost_and_asks_again(store: Store) -> None:
    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    (project,) = store.projects.list()
    at = run("projects", project.id)
    at = at.button(key=f"delete-{project.id}").click().run()
    assert "1 segment and 2 outputs of 2 systems" in words(at)
    assert "labels of 2 outputs by ann" in words(at)
    assert store.projects.list() == [project]
    at = at.button(key="delete-yes").click().run()
    assert store.projects.list() == []
    assert "project" not in at.query_params
    at = at.button(key="begin-sample").click().run()
    (made,) = store.projects.list()
    assert made.sample
    assert made.n_segments == 40


@contextmanager
def statements() -> Iterator[list[str]]:
    """What every database of this process is asked."""
    said: list[str] = []

    def heard(connection: object, cursor: object, statement: str, *_: object) -> None:
        said.append(statement)

    event.listen(Engine, "before_cursor_execute", heard)
    yield said
    event.remove(Engine, "before_cursor_execute", heard)


@pytest.mark.extended
@pytest.mark.parametrize("large", [True, False])
def test_scores_of_large_projects_are_read_before_compare_opens(
    store: Store, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(wiring, "sample", sample)
    monkeypatch.setattr(wiring, "LARGE", 0 if large else 10**9)
    run("projects")
    (project,) = store.projects.list()
    run("projects", project.id)
    for thread in threading.enumerate():
        if thread.name == "read ahead":
            thread.join()
    with statements() as said:
        run("compare", project.id)
    columns = [s for s in said if "scores.parts" in s and "scores.detail" not in s]  # details are of one segment
    assert bool(columns) != large


def chrf(at: AppTest) -> str:
    """What the scoring panel says of chrF."""
    return MetricBoxes(at).labels["chrf"]


def test_outputs_of_a_system_become_references_unless_cancelled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = store.projects.create("Talks")
    full = small_dataset()
    data = replace(full, segments=tuple(replace(s, references=()) for s in full.segments))
    store.projects.add(project.id, data)
    system = data.systems[0]
    given = {o.key.segment: o.text for o in data.outputs if o.system == system and o.text.strip()}
    at = run("projects", project.id)
    assert "no segment has a reference" in chrf(run("compare", project.id))
    field(at, "System").select(system)
    press(at, "Add as references")
    said = at.success[0].value.replace("\\", "")
    assert f"The outputs of {system} are references now: {len(given)} new references for {len(given)} segments." in said
    for segment in store.projects.dataset(project.id).segments:
        assert given.get(segment.key, "") in (*segment.references, "")
    assert f"0 of {len(data.outputs)} scored" in chrf(run("compare", project.id))

    store.projects.delete(project.id)
    press(uploaded(("w.csv", "seg,system,output\n1,A,x\n1,B,y\n")), "Import 1 segment")
    (project,) = store.projects.list()

    monkeypatch.setattr(importing, "ImportJob", CancelledJob)
    at = run("projects", project.id)
    field(at, "System").select("A")
    press(at, "Add as references")
    assert [info.value for info in at.info] == ["Cancelled. Nothing was changed."]
    assert "Cancel" not in [b.label for b in at.button]
    assert store.projects.list() == [project]


def test_an_import_offers_a_human_translation_as_reference(store: Store) -> None:
    at = uploaded(("wmt.csv", "seg,system,output\n1,human,x\n1,B,y\n"))
    next(m for m in at.multiselect if m.label.startswith("Use the outputs")).set_value([]).run()
    press(at, "Import 1 segment")
    (without,) = store.projects.list()
    assert [s.references for s in store.projects.dataset(without.id).segments] == [()]
    store.projects.delete(without.id)
    mqm = MQM.replace("\nB\t", "\nrefA\t")
    at = uploaded(("wmt.tsv", mqm), what="labels")
    (chosen,) = [m for m in at.multiselect if m.label.startswith("Use the outputs")]
    assert chosen.value == ["refA"]
    press(at, "Import 1 segment")
    (project,) = store.projects.list()
    data = store.projects.dataset(project.id)
    assert [s.references for s in data.segments] == [("fine",)]
    assert set(data.systems) == {"A", "refA"}


@pytest.mark.extended
def test_scores_are_counted_before_the_page_shows_the_project(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[tuple[str, str]] = []

    def noted(of: type, name: str) -> None:
        original = getattr(of, name)

        @wraps(original)
        def called(*given: Any, **named: Any) -> Any:
            try:
                return original(*given, **named)
            finally:
                happened.append((name, current_thread().name))

        monkeypatch.setattr(of, name, called)

    for of, name in ((SqlProjects, "add"), (SqlProjects, "index"), (SqlScores, "signatures")):
        noted(of, name)
    press(uploaded(("w.csv", "seg,system,output\n1,A,x\n1,B,y\n")), "Import 1 segment")
    imported = happened.index(("add", "errorscope-import"))
    of_thread = happened[imported + 1 : imported + 3]
    assert of_thread == [("index", "errorscope-import"), ("signatures", "errorscope-import")]


@pytest.mark.extended
def test_a_fault_in_counting_does_not_hide_a_complete_import(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    index = SqlProjects.index

    def broken(self: SqlProjects, project_id: int) -> ProjectIndex:
        if current_thread().name == "errorscope-import":
            raise ZeroDivisionError
        return index(self, project_id)

    monkeypatch.setattr(SqlProjects, "index", broken)
    at = press(uploaded(("w.csv", "seg,system,output\n1,A,x\n1,B,y\n")), "Import 1 segment")
    assert "Imported into" in at.success[0].value
    assert not at.error
