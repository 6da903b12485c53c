"""Processes that write at the same time lose nothing, record nothing twice, and hide nothing from readers."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing.connection import Connection
from threading import Event

from sqlalchemy import Engine

from core.data import Dataset, SegmentKey
from core.mqm.log import fold_segment
from core.ports.labels import Action, LabelBatch
from core.ports.store import Store
from tests.builders import small_dataset
from tests.db.other_processes import append_labels, claim_values
from tests.db.raw import scalar
from tests.postgres import on_postgres
from tests.processes import ended, started_with_pipe
from tests.stores import project_with

N = 25


def go(*connections: Connection) -> None:
    """Let processes that have said that they are ready go on, all at once."""
    for connection in connections:
        assert connection.recv() == "ready"
    for connection in connections:
        connection.send("go")


def test_labels_of_several_processes_are_all_recorded_once(store: Store, url: str) -> None:
    store.projects.add(store.projects.create("p").id, small_dataset())
    raters = {"x": "ann", "y": "ann", "z": "bob"}
    running = [started_with_pipe(append_labels, url, rater, prefix, N) for prefix, rater in raters.items()]
    go(*(connection for _, connection in running))
    seen, newest = 0, 0
    while any(process.is_alive() for process, _ in running):
        newest = store.labels.newest(1)
        events = store.labels.events(1)
        assert sum(event.number <= newest for event in events) >= seen
        seen = sum(event.number <= newest for event in events)
        before = [event.number for event in events]
        later = [event.number for event in store.labels.events(1)]
        assert [number for number in later if number <= newest] == [number for number in before if number <= newest]
    for process, connection in running:
        assert connection.recv() == "done"
        assert ended(process) == 0
    events = store.labels.events(1)
    ids = [event.action.id for event in events]
    assert sorted(ids) == sorted(f"{prefix}{i}" for prefix in (*raters, "both") for i in range(N))
    assert [event.number for event in events] == sorted({event.number for event in events})
    for prefix, rater in raters.items():
        mine = [event for event in events if event.action.id.startswith(prefix)]
        assert [event.action.id for event in mine] == [f"{prefix}{i}" for i in range(N)]
        assert {event.rater for event in mine} == {rater}
    assert sorted(store.labels.raters()) == ["ann", "bob"]
    for rater in ("ann", "bob"):
        assert fold_segment(store.labels.events(1, rater=rater, segment=SegmentKey("doc", "0")))


def test_no_value_is_claimed_by_two_workers_at_once(store: Store, url: str) -> None:
    for name in ("p", "q"):
        project = project_with(store, name=name)
        store.jobs.enqueue(project, ["m"])
    workers = [started_with_pipe(claim_values, url, name) for name in ("w1", "w2")]
    go(*(connection for _, connection in workers))
    claimed = [key for _, connection in workers for key in connection.recv()]
    assert [ended(worker) for worker, _ in workers] == [0, 0]
    assert sorted(claimed) == [f"{i:064}" for i in range(160)]


@on_postgres
def test_an_import_of_labels_and_saves_never_wait_for_each_other(store: Store, engine: Engine) -> None:
    """With one order of locks, the server need not end one of them, which would have to be repeated."""
    project, over = store.projects.create("p").id, Event()
    store.projects.add(project, small_dataset())

    def save(rater: str) -> int:
        for n in count():
            if over.is_set():
                return n
            action = Action(f"{rater}{n}", "verdict", "A", {"value": "no_error"})
            store.labels.append(project, rater, SegmentKey("doc", str(n % 3)), [action])
        return 0

    with ThreadPoolExecutor(8) as pool:
        saves = [pool.submit(save, f"rater {i}") for i in range(8)]
        for n in range(20):
            ids = [f"import {n} {k}" for k in range(3)]
            actions = [Action(name, "verdict", "B", {"value": "no_error"}) for name in ids]
            labels = [LabelBatch(f"rater {k}", SegmentKey("doc", str(k)), [actions[k]]) for k in range(3)]
            store.projects.add(project, Dataset((), ()), labels)
        over.set()
        n_saved = sum(saving.result() for saving in saves)
    assert len(store.labels.events(project)) == n_saved + 60
    assert scalar(engine, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
