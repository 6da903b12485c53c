"""Saving a label and opening the editor read the rows of one segment, one rater or one unit, however many a project has."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from core.data import SegmentKey
from core.ports.labels import Action, LabelBatch
from core.ports.store import Store
from db.engine import writing
from tests.builders import small_dataset
from tests.db import campaigns
from tests.postgres import on_sqlite

FIRST = SegmentKey("doc", "0")
MANY = 300
FEW_STEPS = 500
"""Steps of SQLite's virtual machine for a call that reads a few rows. To read `MANY` rows takes more."""


@contextmanager
def counted_steps(engine: Engine) -> Iterator[list[int]]:
    """Yield a list with the steps that SQLite takes in the body, to the next ten per statement."""
    steps = [0]

    def count() -> None:
        steps[0] += 10

    def begin(connection: Any, *_: object) -> None:
        connection.set_progress_handler(count, 10)

    def end(connection: Any, *_: object) -> None:
        connection.set_progress_handler(None, 10)

    event.listen(engine, "checkout", begin)
    event.listen(engine, "checkin", end)
    try:
        yield steps
    finally:
        event.remove(engine, "checkout", begin)
        event.remove(engine, "checkin", end)


@pytest.fixture
def project(store: Store) -> int:
    """A project in which Bob has labelled all segments but the first, and Ann the first."""
    data, project = small_dataset(MANY), store.projects.create("p").id
    labels = [
        LabelBatch("bob", s.key, [Action(f"b{i}", "verdict", "A", {"value": "no_error"})])
        for i, s in enumerate(data.segments[1:])
    ]
    store.projects.add(project, data, labels)
    opened = Action("e0", "open", None, {"order": ["A", "B"], "ids": ["o1", "o2"], "seed": 0})
    store.labels.append(project, "ann", FIRST, [opened, Action("e1", "verdict", "A", {"value": "no_error"})])
    return project


def save(store: Store, project: int) -> object:
    return store.labels.append(project, "ann", FIRST, [Action("e2", "verdict", "B", {"value": "no_error"})])


CALLS: dict[str, Callable[[Store, int], object]] = {
    "segment": lambda s, p: s.labels.events(p, segment=FIRST),
    "rater": lambda s, p: s.labels.events(p, rater="ann"),
    "rater and segment": lambda s, p: s.labels.events(p, rater="ann", segment=FIRST),
    "new": lambda s, p: list(s.labels.folded(p, MANY)),
    "raters": lambda s, p: s.labels.raters(p),
    "newest": lambda s, p: s.labels.newest(p),
    "save": save,
}


@on_sqlite
def test_calls_for_one_segment_or_rater_read_few_rows(store: Store, engine: Engine, project: int) -> None:
    for name, call in CALLS.items():
        with counted_steps(engine) as steps:
            assert call(store, project), name
        assert steps[0] < FEW_STEPS, name
    with counted_steps(engine) as steps:
        assert len(store.labels.events(project)) == MANY + 2
    assert steps[0] > FEW_STEPS  # or nothing is tested
    with counted_steps(engine) as steps:  # each event is read once
        assert len(list(store.labels.folded(project))) == MANY
    assert steps[0] < 90 * MANY


@on_sqlite
def test_noting_a_saved_unit_reads_few_rows(store: Store, engine: Engine) -> None:
    names = [f"u{i}" for i in range(MANY)]
    campaign = campaigns.created(store, store.projects.create("p").id, units=names)
    campaigns.assigned(store, campaign, "bob", *names[1:])
    who = campaigns.assigned(store, campaign, "ann", "u0")
    with counted_steps(engine) as steps:
        assert store.campaigns.of_texts(campaign.texts) == campaign
        campaigns.label(store, campaign, "ann", "u0", submitted=True)
    assert steps[0] < 2 * FEW_STEPS  # the label and the note
    assert campaigns.only(store, campaign, who).submitted


@on_sqlite
def test_versions_of_campaigns_are_read_without_their_designs(store: Store, engine: Engine) -> None:
    project = store.projects.create("p").id
    for name in ("one", "two"):
        campaigns.created(store, project, name)
    with writing(engine) as connection:
        connection.execute(text("UPDATE campaigns SET design = 'cannot be read'"))
    with counted_steps(engine) as steps:
        assert store.campaigns.has_any(project)
        assert len(store.campaigns.versions(project)) == 2
    assert steps[0] < FEW_STEPS
    with pytest.raises(ValueError, match="Expecting"):
        store.campaigns.list(project)
