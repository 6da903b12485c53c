"""Outputs of a system as references."""

import pytest

from core.data import Dataset, Output, Segment
from core.errors import UserError
from core.services.projects.references import of_system, use
from tests.fakes import memory_store

DATA = Dataset(
    (Segment("d", "1", "一"), Segment("d", "2", "二", ("two",)), Segment("d", "3", "三")),
    (Output("refB", "d", "1", "one"), Output("refB", "d", "2", "a pair"), Output("refB", "d", "3", " "), Output("A", "d", "1", "won")),
)  # fmt: skip


def test_outputs_are_added_to_existing_references() -> None:
    store = memory_store()
    project = store.projects.create("p")
    store.projects.add(project.id, DATA)
    report = use(store, project.id, "refB")
    assert report.references == 2
    assert [s.references for s in store.projects.dataset(project.id).segments] == [("one",), ("two", "a pair"), ()]
    assert set(store.projects.dataset(project.id).outputs) == set(DATA.outputs)


def test_doing_it_twice_adds_nothing() -> None:
    store = memory_store()
    project = store.projects.create("p")
    store.projects.add(project.id, DATA)
    use(store, project.id, "refB")
    assert use(store, project.id, "refB").references == 0


def test_a_system_that_is_not_there_or_wrote_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="no such system"):
        of_system(DATA, "refA")
    with pytest.raises(UserError, match="no outputs with text"):
        of_system(Dataset(DATA.segments, (Output("A", "d", "1", ""),)), "A")
