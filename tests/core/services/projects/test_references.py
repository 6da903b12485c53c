"""Outputs of a system as references."""

from collections.abc import Collection, Sequence

import pytest

from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import UserError
from core.services.projects import references
from core.services.projects.references import of_system, use
from tests.stores import new_store

DATA = Dataset(
    (Segment("d", "1", "一"), Segment("d", "2", "二", ("two",)), Segment("d", "3", "三")),
    (Output("refB", "d", "1", "one"), Output("refB", "d", "2", "a pair"), Output("refB", "d", "3", " "), Output("A", "d", "1", "won")),
)  # fmt: skip


def test_outputs_are_added_to_existing_references() -> None:
    store = new_store()
    project = store.projects.create("p")
    store.projects.add(project.id, DATA)
    done = use(store, project.id, "refB")
    assert (done.report.references, done.references_of, done.project.id) == (2, "refB", project.id)
    assert [s.references for s in store.projects.dataset(project.id).segments] == [("one",), ("two", "a pair"), ()]
    assert set(store.projects.dataset(project.id).outputs) == set(DATA.outputs)


def test_doing_it_twice_adds_nothing() -> None:
    store = new_store()
    project = store.projects.create("p")
    store.projects.add(project.id, DATA)
    use(store, project.id, "refB")
    assert use(store, project.id, "refB").report.references == 0


@pytest.mark.parametrize(("limit", "most", "parts"), [("OUTPUTS", 2, [1, 1, 1]), ("CHARACTERS", 12, [2, 1])])
def test_a_project_is_read_in_parts(limit: str, most: int, parts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, limit, most)
    store = new_store()
    project = store.projects.create("p")
    store.projects.add(project.id, DATA)
    read: list[int] = []
    texts = store.projects.texts

    def counting(project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        read.append(len(segments))
        return texts(project_id, segments, systems)

    monkeypatch.setattr(store.projects, "texts", counting)
    assert use(store, project.id, "refB").report.references == 2
    assert read == parts
    assert [s.references for s in store.projects.dataset(project.id).segments] == [("one",), ("two", "a pair"), ()]


def test_a_project_is_unchanged_if_the_system_cannot_be_used() -> None:
    store = new_store()
    project = store.projects.create("p")
    data = Dataset(DATA.segments, (Output("A", "d", "1", "won"), Output("B", "d", "1", " "), Output("C", "d", "1", "")))
    store.projects.add(project.id, data)
    for system, why in (("B", "no outputs with text"), ("C", "no outputs with text"), ("D", "no such system")):
        with pytest.raises(UserError, match=why):
            use(store, project.id, system)
    assert store.projects.dataset(project.id) == data


def test_a_system_that_is_not_there_or_wrote_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="no such system"):
        of_system(DATA, "refA")
    with pytest.raises(UserError, match="no outputs with text"):
        of_system(Dataset(DATA.segments, (Output("A", "d", "1", ""),)), "A")
