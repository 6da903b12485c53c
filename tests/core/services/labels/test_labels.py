from collections.abc import Callable

import pytest

from core.data import Dataset, Output, Segment, SegmentKey, grouped
from core.errors import UserError
from core.mqm.log import folded
from core.ports.labels import Action, Event
from core.ports.store import Store
from core.services.labels import editor, labels
from core.services.projects.next_step import next_step
from db.labels import folds
from db.labels import repository as db_labels
from tests.builders import small_dataset
from tests.core.services.campaigns.world import campaign_world, scores
from tests.labels import submitted
from tests.stores import new_store

S0, S1, S2 = (SegmentKey("doc", str(i)) for i in range(3))
SYSTEMS = ("A", "B", "C", "D")


@pytest.fixture
def project(store: Store) -> int:
    made = store.projects.create("p").id
    store.projects.add(made, small_dataset(3, SYSTEMS))
    return made


def submit(store: Store, project: int, rater: str, segment: SegmentKey) -> None:
    systems = [o.system for o in store.projects.dataset(project).outputs_of()[segment]]
    ids = f"{rater}-{segment.segment_id}-{len(store.labels.events(project))}"
    fine = [Action(f"{ids}-{s}", "verdict", s, {"value": "no_error"}) for s in systems]
    assert store.labels.append(
        project, rater, segment, [*fine, Action(f"{ids}-submit", "submit", None, {})]
    ).labels.submitted


def test_the_order_is_shuffled_recorded_once_and_stays(store: Store, project: int) -> None:
    opened = labels.open_segment(store, project, "ann", S0, SYSTEMS, seed=1).labels
    order = opened.order
    assert sorted(order) == ["A", "B", "C", "D"]
    assert labels.open_segment(store, project, "ann", S0, SYSTEMS, seed=2).labels == opened
    [event] = store.labels.events(project)
    payload = {"order": list(order), "ids": [opened.ids[s] for s in order], "seed": 1}
    assert (event.action.kind, event.action.payload) == ("open", payload)
    assert store.labels.append(project, "ann", S0, []).labels.order == order


def test_the_seed_repeats_the_order_and_others_give_others(store: Store, project: int) -> None:
    # 4! = 24 orders; over 60 seeds every system comes first for some
    orders = [labels.open_segment(store, project, f"rater {i}", S0, SYSTEMS, seed=i).labels.order for i in range(60)]
    assert {order[0] for order in orders} == {"A", "B", "C", "D"}
    assert labels.open_segment(store, project, "again", S1, SYSTEMS[::-1], seed=7).labels.order == orders[7]


def test_a_system_added_later_comes_last(store: Store, project: int) -> None:
    order = labels.open_segment(store, project, "ann", S0, SYSTEMS, seed=1).labels.order
    store.projects.add(project, Dataset((Segment("doc", "0", None),), (Output("E", "doc", "0", "late"),)))
    assert labels.open_segment(store, project, "ann", S0, [*SYSTEMS, "E"], seed=1).labels.order == (*order, "E")
    assert labels.open_segment(store, project, "ann", S0, [*SYSTEMS, "E"], seed=1).labels.order == (*order, "E")
    assert len(store.labels.events(project)) == 2


def test_opening_a_segment_does_not_read_the_project(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(project_id: int) -> Dataset:
        raise AssertionError("the whole project was read")

    monkeypatch.setattr(store.projects, "dataset", read)
    assert sorted(labels.open_segment(store, project, "ann", S0, SYSTEMS, seed=1).labels.order) == ["A", "B", "C", "D"]


def test_a_stale_page_does_not_change_the_order(store: Store, project: int) -> None:
    order = labels.open_segment(store, project, "ann", S0, SYSTEMS, seed=1).labels.order
    again = labels.open_segment(store, project, "ann", S0, SYSTEMS[:2], seed=1).labels
    assert labels.shown_order(again, SYSTEMS[:2]) == tuple(s for s in order if s in "AB")
    assert store.labels.append(project, "ann", S0, []).labels.order == order


def test_a_segment_that_is_not_there_is_a_user_error(store: Store, project: int) -> None:
    with pytest.raises(UserError, match="no such segment"):
        labels.open_segment(store, project, "ann", SegmentKey("doc", "99"), SYSTEMS, seed=1)


def test_saving_returns_what_is_on_disk_and_the_labels_after_it(store: Store, project: int) -> None:
    saved = store.labels.append(project, "ann", S0, [Action("1", "verdict", "A", {"value": "non_translation"})])
    assert saved.ids == ["1"]
    assert saved.labels.of("A").verdict == "non_translation"
    assert (
        store.labels.append(project, "ann", S0, [Action("1", "verdict", "A", {"value": "no_error"})]) == saved
    )  # known: not applied


def test_raters_never_see_each_other(store: Store, project: int) -> None:
    submit(store, project, "ann", S0)
    assert store.labels.of_rater(project, "bob") == {}
    assert store.labels.append(project, "bob", S0, []).labels.outputs == {}


def test_progress_and_the_next_segment_follow_the_submissions(store: Store, project: int) -> None:
    # a segment without any output is not asked for
    store.projects.add(project, Dataset((Segment("doc", "empty", "s"),), ()))
    data = store.projects.index(project).outline

    def state(after: SegmentKey | None) -> tuple[labels.SegmentProgress, SegmentKey | None]:
        mine = store.labels.of_rater(project, "ann")
        return labels.progress(data, mine), labels.next_unlabelled(data, mine, after)

    assert state(None) == ((0, 3), S0)
    submit(store, project, "ann", S1)
    assert state(S0) == ((1, 3), S2)
    assert state(S2) == ((1, 3), S0)  # round again
    submit(store, project, "ann", S2)
    assert state(S0) == ((2, 3), S0)  # nothing else is left
    submit(store, project, "ann", S0)
    assert state(S0) == ((3, 3), None)


def test_a_segment_with_a_new_system_is_asked_for_again(store: Store, project: int) -> None:
    for segment in (S0, S1, S2):
        submit(store, project, "ann", segment)
    store.projects.add(project, Dataset((Segment("doc", "1", None),), (Output("E", "doc", "1", "late"),)))
    data, mine = store.projects.index(project).outline, store.labels.of_rater(project, "ann")
    assert (labels.progress(data, mine), labels.next_unlabelled(data, mine)) == ((2, 3), S1)


def test_only_submitted_labels_are_returned(store: Store, project: int) -> None:
    submit(store, project, "bob", S1)
    submit(store, project, "ann", S0)
    submit(store, project, "bob", S0)
    store.labels.append(project, "ann", S2, [Action("x", "verdict", "A", {"value": "no_error"})])
    rows = submitted(store, project)
    assert len(rows) == 3 * 4
    assert {(r.rater, r.key.segment) for r in rows} == {("bob", S1), ("ann", S0), ("bob", S0)}
    assert rows[0].errors == ()


def test_a_page_reads_the_events_of_one_segment_whatever_the_rater_has_done(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = db_labels._read
    monkeypatch.setattr(db_labels, "_read", lambda *given: counted(plain(*given)))

    def counted(events: list[Event]) -> list[Event]:
        read.append(len(events))
        return events

    def cost(page: Callable[[], object]) -> int:
        read.clear()
        page()
        return sum(read)

    keys = [SegmentKey("many", str(i)) for i in range(7)]
    made = tuple(Output("A", *key, "text") for key in keys)
    store.projects.add(project, Dataset(tuple(Segment(*key, "source") for key in keys), made))
    outline = store.projects.index(project).outline
    world = campaign_world("esa", segments=5, overlap=1, people=1)
    found = []
    for key in keys:
        submit(store, project, "ann", key)
        world.work("Ana", scores(), 1)
        found.append(
            (
                cost(lambda: editor.unit(store, project, "ann", outline, step="unlabelled")),
                cost(lambda: world.page("Ana", "unlabelled")),
                cost(lambda: next_step(store, store.projects.get(project), scoring=True)),
            )
        )
    assert len(set(found[2:])) == 1, found


def test_labels_of_a_rater_are_those_of_all_events_after_every_change(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds, "MOST_SEGMENTS", 4)  # two raters' states do not fit together
    monkeypatch.setattr(folds, "MOST_CHANGED", 1)

    def check() -> None:
        for rater in ("ann", "bob"):
            by_segment = grouped((event.segment, event) for event in store.labels.events(project, rater=rater))
            found = store.labels.of_rater(project, rater)
            assert list(found.items()) == [(segment, folded(of)) for segment, of in by_segment.items()]

    for segments in ((), (S1,), (S0,), (S1,), (S0, S2)):
        for segment in segments:
            submit(store, project, "ann", segment)
            check()
            submit(store, project, "bob", segment)
        check()
        for rater in ("ann", "bob"):
            withdrawn = Action(f"{rater}-{len(store.labels.events(project))}", "verdict", "B", {"value": None})
            store.labels.append(project, rater, S1, [withdrawn])
        check()
    declined = [Action("d", "decline", None, {"reason": "broken"}), Action("e", "submit", None, {})]
    store.labels.append(project, "ann", S2, declined)
    check()
    # A backup is restored: the newest event that is kept in memory is no longer there.
    other = new_store()
    other.projects.add(other.projects.create("p").id, small_dataset(3, SYSTEMS))
    submit(other, project, "ann", S0)
    monkeypatch.setattr(store.labels, "_engine", other.labels._engine)  # type: ignore[attr-defined]
    check()
