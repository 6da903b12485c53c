"""Saving a label and opening the editor read the rows of one segment, one rater or one unit, however many a project has."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, event

from core.data import SegmentKey
from core.ports.labels import Action
from core.ports.store import Store
from tests.db import campaigns
from tests.db.query_plans import of_table, plans_of
from tests.fakes import small_dataset
from tests.postgres import on_sqlite

FIRST = SegmentKey("doc", "0")
BY_SEGMENT = "events USING INDEX events_by_segment (segment=?)"
BY_BOTH = "events USING INDEX events_by_segment (segment=? AND rater=?)"
BY_RATER = "events USING INDEX events_by_rater (rater=? AND project_id=?)"
BY_ID = "events USING COVERING INDEX sqlite_autoindex_events_1 (project_id=? AND action_id=?)"
BY_NUMBER = "events USING {}INDEX events_by_number (project_id=?)"


@pytest.fixture
def project(store: Store) -> int:
    project = store.projects.create("p").id
    store.projects.add(project, small_dataset())
    opened = Action("e0", "open", None, {"order": ["A", "B"], "ids": ["o1", "o2"], "seed": 0})
    store.labels.append(project, "ann", FIRST, [opened, Action("e1", "verdict", "A", {"value": "no_error"})])
    return project


@on_sqlite
@pytest.mark.parametrize(
    ("read", "plan"),
    [
        (lambda s, p: s.labels.events(p, segment=FIRST), BY_SEGMENT),
        (lambda s, p: s.labels.events(p, rater="ann"), BY_RATER),
        (lambda s, p: s.labels.events(p, rater="ann", segment=FIRST), BY_BOTH),
        (lambda s, p: s.labels.events(p), BY_NUMBER.format("")),
        (lambda s, p: s.labels.events(p, after=1), "events USING INDEX events_by_number (project_id=? AND number>?)"),
        (lambda s, p: s.labels.raters(p), BY_RATER),
        (lambda s, p: s.labels.newest(p), BY_NUMBER.format("COVERING ")),
    ],
    ids=["segment", "rater", "rater-and-segment", "all", "new", "raters", "newest"],
)
def test_events_are_found_by_an_index(
    store: Store, engine: Engine, project: int, read: Callable[[Store, int], object], plan: str
) -> None:
    with plans_of(engine) as steps:
        assert read(store, project)
    assert of_table(steps, "events") == [plan]
    assert "SCAN segments" not in steps


@on_sqlite
def test_labels_of_all_segments_are_found_by_an_index(store: Store, engine: Engine, project: int) -> None:
    with plans_of(engine) as steps:
        assert list(store.labels.by_segment(project))
    assert of_table(steps, "events") == [BY_NUMBER.format(""), BY_SEGMENT]
    assert "SCAN segments" not in steps


@on_sqlite
def test_saving_a_label_reads_one_segment_of_one_rater(store: Store, engine: Engine, project: int) -> None:
    verdict = Action("e2", "verdict", "B", {"value": "no_error"})
    with plans_of(engine) as steps:
        store.labels.append(project, "ann", FIRST, [verdict])
    assert of_table(steps, "events") == [BY_ID, BY_BOTH]
    assert not [step for step in steps if step.startswith("SCAN")]


@on_sqlite
def test_noting_a_saved_unit_reads_one_assignment(store: Store, engine: Engine) -> None:
    project = store.projects.create("p").id
    campaign = campaigns.created(store, project)
    who = campaigns.assigned(store, campaign, "ann", "u1")
    with plans_of(engine) as steps:
        assert store.campaigns.of_texts(campaign.texts) == campaign
        store.campaigns.join(campaign.id, "ann", "CODE")
        campaigns.touch(store, campaign, who, "u1", submitted=True)
    assert of_table(steps, "assignments")
    assert not [step for step in steps if step.startswith("SCAN")]


@on_sqlite
def test_versions_of_campaigns_are_read_without_their_designs(store: Store, engine: Engine) -> None:
    project = store.projects.create("p").id
    for name in ("one", "two"):
        campaigns.created(store, project, name)
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    with plans_of(engine) as steps:
        assert store.campaigns.has_any(project)
        assert len(store.campaigns.versions(project)) == 2
    assert not any("design" in statement for statement in statements)
    assert of_table(steps, "events") == [BY_NUMBER.format("COVERING ")]
    assert not [step for step in steps if step.startswith("SCAN")]
