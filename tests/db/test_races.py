"""Processes that write at the same time lose nothing, record nothing twice, and hide nothing from readers."""

from multiprocessing.connection import Connection

from core.data import SegmentKey
from core.mqm.log import fold_segment
from core.ports.store import Store
from tests.builders import small_dataset
from tests.db.other_processes import append_labels, claim_values
from tests.processes import ended, started_with_pipe

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
        project = store.projects.create(name).id
        store.projects.add(project, small_dataset())
        store.jobs.enqueue(project, ["m"])
    workers = [started_with_pipe(claim_values, url, name) for name in ("w1", "w2")]
    go(*(connection for _, connection in workers))
    claimed = [key for _, connection in workers for key in connection.recv()]
    assert [ended(worker) for worker, _ in workers] == [0, 0]
    assert sorted(claimed) == [f"{i:064}" for i in range(160)]
