"""Processes that write at the same time lose nothing, record nothing twice, and hide nothing from readers."""

import subprocess
import sys

from core.data import SegmentKey
from core.mqm.log import fold_segment
from core.ports.store import Store
from tests.builders import small_dataset
from tests.paths import ROOT

APPEND = """
import sys
from core.data import SegmentKey
from core.ports.labels import Action
from db.store import open_store
url, rater, prefix, n = sys.argv[1:]
store, segment = open_store(url), SegmentKey("doc", "0")
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(n)):
    actions = [Action(f"{prefix}{i}", "verdict", "A", {"value": "no_error" if i % 2 else None})]
    actions += [Action(f"both{i}", "verdict", "B", {"value": "no_error"})]
    assert store.labels.append(1, rater, segment, actions) == [action.id for action in actions]
print("done", flush=True)
"""
TOGETHER = """
import sys
from core.data import Value
from db.store import open_store
store = open_store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
chunk = store.chunks.lease(sys.argv[2])
for start in range(0, 160, 8):
    keys = [f"{i:064}" for i in range(start, start + 8)]
    granted = store.chunks.claim(chunk, sys.argv[2], "s", keys)
    granted -= store.scores.known("s", granted)
    print(*sorted(granted), flush=True)
    store.scores.put("m", "s", {key: Value(1.0) for key in granted}, 0.1)
"""
N = 25


def started(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def go(*processes: "subprocess.Popen[str]") -> None:
    """Let processes that have said that they are ready go on, all at once."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def test_labels_of_several_processes_are_all_recorded_once(store: Store, url: str) -> None:
    store.projects.add(store.projects.create("p").id, small_dataset())
    raters = {"x": "ann", "y": "ann", "z": "bob"}
    processes = [started(APPEND, url, rater, prefix, str(N)) for prefix, rater in raters.items()]
    go(*processes)
    seen, newest = 0, 0
    while any(process.poll() is None for process in processes):
        newest = store.labels.newest(1)
        events = store.labels.events(1)
        assert sum(event.number <= newest for event in events) >= seen
        seen = sum(event.number <= newest for event in events)
        before = [event.number for event in events]
        later = [event.number for event in store.labels.events(1)]
        assert [number for number in later if number <= newest] == [number for number in before if number <= newest]
    for process in processes:
        assert process.communicate()[0] == "done\n"
        assert process.returncode == 0
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
    workers = [started(TOGETHER, url, name) for name in ("w1", "w2")]
    go(*workers)
    claimed = [key for worker in workers for key in worker.communicate(timeout=120)[0].split()]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sorted(claimed) == [f"{i:064}" for i in range(160)]
