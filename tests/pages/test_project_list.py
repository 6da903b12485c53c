"""The list of projects on the Projects page: rename, delete, open, and the sample."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Engine, event

from core.ports.store import Store
from core.services.projects import sample
from pages._ui.shared import state, wiring
from tests.builders import small_dataset
from tests.pages.test_projects import MQM, press, texts, uploaded
from tests.pages.test_shell import run, store

__all__ = ["store"]
ENSURE = sample.ensure


def test_a_project_is_opened_and_renamed(store: Store) -> None:
    for name in ("one", "two *x*"):
        store.projects.add(store.projects.create(name).id, small_dataset())
    one, two = store.projects.list()
    at = run("projects", project=str(one.id))
    assert "3 segments × 2 systems (A, B)" in texts(at).replace("\\", "")
    assert "two \\*x\\*" in texts(at)
    next(t for t in at.text_input if t.label == "New name").set_value("two *x*")
    at = press(at, "Rename")
    assert "already" in at.error[0].value
    next(t for t in at.text_input if t.label == "New name").set_value("<i>three</i>")
    at = press(at, "Rename")
    assert {p.name for p in store.projects.list()} == {"<i>three</i>", "two *x*"}
    at = at.button(key=f"open-{two.id}").click().run()
    assert at.query_params["project"] == str(two.id)

    store.projects.create("the sample", sample=True)
    run("projects", project=str(one.id))
    assert run("compare").query_params["project"] == str(one.id), "not the project last opened"
    state._last_opened.clear()
    assert run("compare").query_params["project"] == str(two.id), "the sample is preferred to a project"


def test_deleting_names_what_is_lost_and_asks_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    (project,) = store.projects.list()
    at = run("projects", project=str(project.id))
    at = at.button(key=f"delete-{project.id}").click().run()
    assert "1 segment and 2 outputs of 2 systems" in texts(at)
    assert "labels of 2 outputs by ann" in texts(at)
    assert store.projects.list() == [project]
    at = at.button(key="delete-yes").click().run()
    assert not at.exception
    assert store.projects.list() == []
    assert "project" not in at.query_params
    monkeypatch.setattr(sample, "ensure", ENSURE)
    at = at.button(key="begin-sample").click().run()
    assert not at.exception
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
    monkeypatch.setattr(sample, "ensure", ENSURE)
    monkeypatch.setattr(wiring, "LARGE", 0 if large else 10**9)
    at = run("projects")
    (project,) = store.projects.list()
    at = run("projects", project=str(project.id))
    for thread in threading.enumerate():
        if thread.name == "read ahead":
            thread.join()
    with statements() as said:
        at = run("compare", project=str(project.id))
    assert not at.exception
    columns = [s for s in said if "scores.parts" in s and "scores.detail" not in s]  # details are of one segment
    assert bool(columns) != large
