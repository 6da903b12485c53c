"""Campaigns in real databases: simultaneous assignments, expiring leases, and what a crash leaves."""

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from core.errors import UserError
from core.ports.campaigns import Assignment, Campaign, DrawState, HandOver, NewAssignment
from core.ports.labels import Action
from core.ports.store import Store
from db.backup import backup, restore
from db.database_copy import copy_database
from db.engine import connect, writing
from db.imports import adding, slices
from db.store import open_store, store_over
from tests.db.campaigns import DESIGN, NOW, SETTINGS, SegmentKey, created, label, replaced, texts, unit
from tests.db.other_processes import K, assign_units, exit_while_assigning, next_free
from tests.db.raw import counts, scalar
from tests.db.test_races import go
from tests.processes import at_once, ended, started, started_with_pipe

UNITS = [f"u{i}" for i in range(12)]
SOON = timedelta(milliseconds=30)


@pytest.fixture
def campaign(store: Store) -> Campaign:
    project = store.projects.create("news").id
    return store.campaigns.create(
        project, "pilot", DESIGN | {"overlap": K}, SETTINGS, texts(*UNITS), [unit(u) for u in UNITS], "ann"
    )


def check_slots(found: list[Assignment]) -> None:
    assert max(Counter((a.unit.id, a.participant_id) for a in found).values()) == 1
    slots = Counter((a.unit.id, a.slot) for a in found if a.slot is not None)
    assert set(slots.values()) == {1}
    assert {slot for _, slot in slots} <= set(range(1, K + 1))
    assert all(a.slot is None or a.state != "reclaimed" for a in found)
    positions = Counter((a.participant_id, a.position) for a in found)
    assert set(positions.values()) == {1}


def test_threads_fill_every_slot_once(store: Store, url: str, campaign: Campaign) -> None:
    people = [store.campaigns.join(campaign.id, f"r{i}", "C").id for i in range(8)]
    stores = [store, open_store(url)]

    def work(i: int) -> list[Assignment]:
        mine = list[Assignment]()
        while new := stores[i % 2].campaigns.assign(campaign.id, people[i], NOW, None, next_free(people[i], 2)):
            mine += new
        return mine

    returned = [a for mine in at_once(*(lambda i=i: work(i) for i in range(8))) for a in mine]
    assigned = store.campaigns.assignments(campaign.id)
    assert sorted(a.id for a in returned) == sorted(a.id for a in assigned)
    assert len(assigned) == len(UNITS) * K
    check_slots(assigned)


@pytest.mark.extended
def test_processes_fill_every_slot_once(store: Store, url: str, campaign: Campaign) -> None:
    n = len(UNITS) // 2
    running = [started_with_pipe(assign_units, url, n, *names) for names in (("a", "b"), ("c", "d"), ("a", "e"))]
    go(*(connection for _, connection in running))
    assert [ended(process, 120) for process, _ in running] == [0] * 3
    assert len(store.campaigns.participants(campaign.id)) == 5
    assigned = store.campaigns.assignments(campaign.id)
    assert len(assigned) == len(UNITS) * K
    check_slots(assigned)


def test_simultaneous_joins_make_one_participant(store: Store, url: str, campaign: Campaign) -> None:
    stores = [store, open_store(url)] * 4
    joined = at_once(*(lambda s=s: s.campaigns.join(campaign.id, "Rosa", "C") for s in stores))
    assert set(joined) == set(store.campaigns.participants(campaign.id))
    assert len(set(joined)) == 1


def test_leases_expire_while_others_touch(store: Store, url: str, campaign: Campaign) -> None:
    """No slot is given twice, whoever reclaims, takes a slot again or submits at the same moment."""
    stores = [store, open_store(url)]
    people = [store.campaigns.join(campaign.id, f"r{i}", "C").id for i in range(6)]

    def work(i: int) -> None:
        mine, rng = stores[i % 2].campaigns, random.Random(i)
        for _ in range(8):
            now = datetime.now(UTC)
            mine.assign(campaign.id, people[i], now, now + SOON, next_free(people[i], 2))
            for a in mine.assignments(campaign.id, people[i]):
                submitted = rng.random() < 0.5
                now = datetime.now(UTC)
                label(stores[i % 2], campaign, f"r{i}", a.unit.name, submitted, now, now + SOON)

    at_once(*(lambda i=i: work(i) for i in range(6)))
    assigned = store.campaigns.assignments(campaign.id)
    check_slots(assigned)
    assert {a.state for a in assigned} >= {"submitted"}
    assert all((a.submitted is not None) == (a.state == "submitted") for a in assigned)


def test_an_expired_lease_is_reclaimed_once(store: Store, url: str, campaign: Campaign) -> None:
    slow = store.campaigns.join(campaign.id, "slow", "C").id
    store.campaigns.assign(campaign.id, slow, NOW, NOW + SOON, next_free(slow, 1))
    people = [store.campaigns.join(campaign.id, f"r{i}", "C").id for i in range(6)]
    stores = [store, open_store(url)]
    later = NOW + timedelta(hours=1)
    new = at_once(
        *(
            lambda i=i: stores[i % 2].campaigns.assign(campaign.id, people[i], later, None, next_free(people[i], 1))
            for i in range(6)
        )
    )
    first = [a for drawn in new for a in drawn if a.unit.name == UNITS[0]]
    assert sorted(a.slot for a in first) == [1, 2, 3]
    (lost,) = store.campaigns.assignments(campaign.id, slow)
    assert (lost.state, lost.slot) == ("reclaimed", None)
    check_slots(store.campaigns.assignments(campaign.id))


def first_open(who: int, to: int) -> Callable[[DrawState], HandOver]:
    """Return a choice that hands over the first unit that `who` has not submitted, with its slot."""

    def choose(state: DrawState) -> HandOver:
        mine = [a for a in state.assignments if a.participant_id == who and a.state == "assigned" and a.slot == 1][:1]
        new = [NewAssignment(a.unit.id, a.slot, a.order, 1.0) for a in mine]
        return HandOver([n._replace(slot=None) for n in new], {to: new})

    return choose


def test_a_unit_is_submitted_or_handed_over_and_not_both(store: Store, url: str, campaign: Campaign) -> None:
    rosa, otto = (store.campaigns.join(campaign.id, name, "C").id for name in ("Rosa", "Otto"))
    store.campaigns.assign(campaign.id, rosa, NOW, None, next_free(rosa, len(UNITS)))
    other = open_store(url)

    def submit() -> None:
        for name in reversed(UNITS):
            label(store, campaign, "Rosa", name, submitted=True)

    def hand_over() -> None:
        for _ in UNITS:
            other.campaigns.hand_over(campaign.id, rosa, NOW, first_open(rosa, otto))

    at_once(submit, hand_over)
    assigned = store.campaigns.assignments(campaign.id)
    check_slots(assigned)
    mine, theirs = ({a.unit.name: a for a in assigned if a.participant_id == who} for who in (rosa, otto))
    assert {(a.state, a.slot) for a in mine.values()} <= {
        ("submitted", 1),
        ("submitted", 2),
    }  # 2 is free for late labels
    assert {name for name, a in mine.items() if a.slot != 1} == set(theirs)
    assert {(a.state, a.slot) for a in theirs.values()} <= {("assigned", 1)}


def test_touches_that_arrive_together_are_all_kept(store: Store, campaign: Campaign) -> None:
    people = [store.campaigns.join(campaign.id, f"r{i}", "C").id for i in range(8)]
    for who in people[:K]:
        store.campaigns.assign(campaign.id, who, NOW, NOW + SOON, next_free(who, len(UNITS)))
    later = NOW + timedelta(hours=1)

    def work(rater: str) -> None:
        for name in UNITS:
            label(store, campaign, rater, name, True, NOW, later)

    at_once(*(lambda i=i: work(f"r{i}") for i in range(len(people))))
    assigned = store.campaigns.assignments(campaign.id)
    assert {a.state for a in assigned} == {"submitted"}
    assert {a.participant_id for a in assigned} == set(people[:K]), "others keep their labels and get no assignment"


def test_a_campaign_is_invisible_until_it_is_complete(
    store: Store, url: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = store.projects.create("news").id
    seen = list[object]()

    def look(self: object, campaign_of: int | None = None) -> None:
        seen.append((store.campaigns.list(project), [p.id for p in store.projects.list()]))
        with pytest.raises(UserError, match="being created or deleted"):
            created(store, project)
        raise KeyboardInterrupt

    monkeypatch.setattr(slices.SlicedWriter, "show", look)
    with pytest.raises(KeyboardInterrupt):
        created(store, project)
    assert seen == [([], [project])]
    left = counts(engine)
    assert [left[name] for name in ("projects", "segments", "campaigns", "campaign_units")] == [1, 0, 0, 0]


def test_a_crash_during_the_creation_leaves_nothing(
    store: Store, url: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = store.projects.create("news").id
    with monkeypatch.context() as patched:
        patched.setattr(slices.SlicedWriter, "remove", lambda self: None)
        patched.setattr(slices.SlicedWriter, "show", interrupted)
        with pytest.raises(KeyboardInterrupt):
            created(store, project)
    assert store.campaigns.list(project) == []
    with pytest.raises(UserError, match="after a crash, in a minute"):
        created(store, project)
    monkeypatch.setattr(slices, "INTERRUPTED_SECONDS", -1.0)
    assert created(store, project).name == "pilot"
    assert (scalar(engine, "SELECT count(*) FROM projects"), scalar(engine, "SELECT count(*) FROM campaigns")) == (2, 1)


@pytest.mark.parametrize("late", [False, True])
def test_a_crash_during_a_replacement_leaves_one_whole_draft(
    store: Store, url: str, engine: Engine, campaign: Campaign, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """Late: after the new texts have taken the place of the old ones, before those are deleted."""
    texts_before = store.projects.dataset(campaign.texts)
    with monkeypatch.context() as patched:
        patched.setattr(slices.SlicedWriter, "remove", interrupted if late else lambda self: None)
        if not late:
            patched.setattr(slices, "hide", interrupted)
        with pytest.raises(KeyboardInterrupt):
            replaced(store, campaign)
    new = store.campaigns.get(campaign.id)
    texts_after = store.projects.dataset(new.texts)
    assert (new == campaign, texts_after == texts_before) == (not late, not late)
    assert {u.name for u in store.campaigns.units(new.id)} == {s.doc_id for s in texts_after.segments}
    monkeypatch.setattr(slices, "INTERRUPTED_SECONDS", -1.0)
    open_store(url)
    left = counts(engine)
    assert (left["projects"], left["campaigns"]) == (2, 1)
    assert left["segments"] == left["campaign_units"] == len(store.campaigns.units(new.id))


def test_a_campaign_started_during_the_replacement_stays(
    store: Store, engine: Engine, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = adding.fill

    def filled(*given: Any) -> None:
        fill(*given)
        store.campaigns.set_state(campaign.id, "running")

    monkeypatch.setattr(adding, "fill", filled)
    with pytest.raises(UserError, match="was started"):
        replaced(store, campaign)
    assert len(store.campaigns.units(campaign.id)) == len(UNITS)
    assert counts(engine)["projects"] == 2


def interrupted(*given: object, **named: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("whole", [True, False])
def test_a_crash_during_the_deletion_is_finished_later(
    store: Store, url: str, engine: Engine, campaign: Campaign, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    segment = SegmentKey("u1", "0")
    store.labels.append(campaign.texts, "Rosa", segment, [Action("1", "verdict", "A", {"value": "no_error"})])
    with monkeypatch.context() as patched:
        patched.setattr(slices.SlicedWriter, "remove", lambda self: None)
        if whole:
            store.projects.delete(campaign.project_id)
        else:
            store.campaigns.delete(campaign.id)
    for hidden in (lambda: store.campaigns.get(campaign.id), lambda: store.projects.get(campaign.texts)):
        with pytest.raises(UserError):
            hidden()
    assert store.campaigns.of_texts(campaign.texts) is None
    monkeypatch.setattr(slices, "INTERRUPTED_SECONDS", -1.0)
    open_store(url)
    left = counts(engine)
    assert left["projects"] == (0 if whole else 1)
    assert {left[name] for name in ("segments", "outputs", "events", "campaigns", "campaign_units")} == {0}


def test_a_campaign_of_a_project_deleted_meanwhile_is_not_created(
    store: Store, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, show = store.projects.create("news").id, slices.SlicedWriter.show

    def deleted(self: slices.SlicedWriter, campaign_of: int | None = None) -> None:
        with writing(engine) as connection:  # as another process does in its first transaction
            slices.hide(connection, engine, project)
        show(self, campaign_of)

    monkeypatch.setattr(slices.SlicedWriter, "show", deleted)
    with pytest.raises(UserError, match="being imported or deleted"):
        created(store, project)
    assert scalar(engine, "SELECT count(*) FROM projects") == 1
    assert scalar(engine, "SELECT count(*) FROM campaigns") == 0


def test_the_database_refuses_what_must_be_unique(store: Store, engine: Engine, campaign: Campaign) -> None:
    who = store.campaigns.join(campaign.id, "Rosa", "C").id
    store.campaigns.assign(campaign.id, who, NOW, None, next_free(who, 1))
    for table, key in (
        ("campaigns", "state"), ("campaign_units", "kind"), ("participants", "code"), ("assignments", "state"),
    ):  # fmt: skip
        columns = [name for name in columns_of(engine, table) if name != "id"]
        names = ", ".join(columns)
        with pytest.raises(UserError, match="at the same time"), writing(engine) as connection:
            connection.execute(
                text(f"INSERT INTO {table} ({names}) SELECT {names} FROM {table} WHERE {key} IS NOT NULL")
            )


def columns_of(engine: Engine, table: str) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(text(f"SELECT * FROM {table}")).keys())


def test_campaigns_are_copied_backed_up_and_restored(
    store: Store, url: str, campaign: Campaign, tmp_path: Path
) -> None:
    who = store.campaigns.join(campaign.id, "Rosa", "C").id
    store.campaigns.assign(campaign.id, who, NOW, NOW + SOON, next_free(who, 2))
    store.people.add_link(campaign.texts, "Rosa", None, "a" * 64, None, "ann")
    segment = SegmentKey("u1", "0")
    store.labels.append(campaign.texts, "Rosa", segment, [Action("1", "verdict", "A", {"value": "no_error"})])
    copy, kept, restored = (tmp_path / name for name in ("copy.db", "kept.db", "restored.db"))
    assert copy_database(url, f"sqlite:///{copy}").projects == backup(f"sqlite:///{copy}", kept).projects == 1
    assert restore(kept, f"sqlite:///{restored}")[1:] == (1, 1)
    for path in (copy, restored):
        engine = connect(f"sqlite:///{path}")
        other = store_over(engine)
        assert other.campaigns.get(campaign.id) == campaign
        assert other.campaigns.units(campaign.id) == store.campaigns.units(campaign.id)
        assert other.campaigns.assignments(campaign.id) == store.campaigns.assignments(campaign.id)
        assert other.campaigns.participants(campaign.id) == store.campaigns.participants(campaign.id)
        assert other.labels.events(campaign.texts) == store.labels.events(campaign.texts)
        assert other.people.links(campaign.texts) == store.people.links(campaign.texts)
        assert [p.name for p in other.projects.list()] == ["news"]
        engine.dispose()


@pytest.mark.extended
def test_interrupted_processes_leave_whole_assignments(store: Store, url: str, campaign: Campaign) -> None:
    assert ended(started(exit_while_assigning, url, "a")) == 7
    assert store.campaigns.assignments(campaign.id) == []
    who = store.campaigns.join(campaign.id, "b", "C").id
    assert len(store.campaigns.assign(campaign.id, who, NOW, None, next_free(who, 2))) == 2
