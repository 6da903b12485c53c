"""Outputs of a system as references, on the Projects page."""

from dataclasses import replace
from functools import wraps
from threading import current_thread
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.columns import ProjectIndex
from core.ports.store import Store
from db.imports.adding import SqlImports
from db.projects.repository import SqlProjects
from db.scores.repository import SqlScores
from pages._ui.projects import importing
from tests.builders import small_dataset
from tests.pages.metric_boxes import MetricBoxes
from tests.pages.test_projects import MQM, press, uploaded
from tests.pages.test_shell import run, store

__all__ = ["store"]


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
    at = run("projects", project=str(project.id))
    assert "no segment has a reference" in chrf(run("compare", project=str(project.id)))
    next(s for s in at.selectbox if s.label == "System").select(system)
    next(b for b in at.button if b.label == "Add as references").click().run()
    assert not at.exception
    said = at.success[0].value.replace("\\", "")
    assert f"The outputs of {system} are references now: {len(given)} new references for {len(given)} segments." in said
    for segment in store.projects.dataset(project.id).segments:
        assert given.get(segment.key, "") in (*segment.references, "")
    assert f"0 of {len(data.outputs)} scored" in chrf(run("compare", project=str(project.id)))

    store.projects.delete(project.id)
    press(uploaded(("w.csv", "seg,system,output\n1,A,x\n1,B,y\n")), "Import 1 segment")
    (project,) = store.projects.list()

    class CancelledJob(importing.ImportJob):
        def __init__(self, words: str) -> None:
            super().__init__(words)
            self.cancel()

    monkeypatch.setattr(importing, "ImportJob", CancelledJob)
    at = run("projects", project=str(project.id))
    next(s for s in at.selectbox if s.label == "System").select("A")
    next(b for b in at.button if b.label == "Add as references").click().run()
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

    for of, name in ((SqlImports, "add"), (SqlProjects, "index"), (SqlScores, "signatures")):
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
