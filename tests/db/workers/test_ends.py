"""Workers that are killed or told to end, and those that continue."""

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Engine

from core.ports.jobs import Job
from core.ports.scores import Timing
from core.ports.store import Store
from db import worker
from tests.builders import small_dataset
from tests.db.raw import scalar
from tests.db.workers.helpers import N, Start, expire, lines_of, until
from tests.postgres import on_both
from tests.processes import ended
from tests.stores import project_with


@on_both
def test_after_a_kill_another_worker_continues(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    first = start(holds_at=13)
    until(lambda: scalar(engine, "SELECT count(*) FROM scores") >= 8 and len(begun()) > 12)
    first.kill()
    assert ended(first) == -9
    stored = scalar(engine, "SELECT count(*) FROM scores")
    before = begun()
    assert 8 <= stored < len(before) < N
    assert store.jobs.get(job.id).state == "running"  # nobody said otherwise; its lease runs out
    expire(engine)
    assert ended(start(once=True)) == 0
    assert store.jobs.get(job.id).state == "done"
    assert scalar(engine, "SELECT count(*) FROM scores") == N
    times = Counter(begun())
    assert len(times) == N
    assert sorted(item for item, n in times.items() if n > 1) == sorted(
        before[stored:]
    )  # only the chunk that was cut off


def test_a_worker_told_to_end_gives_its_job_back(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]], go: Path
) -> None:
    first = start(holds_at=11)
    until(lambda: len(begun()) > 10)
    first.terminate()
    go.touch()
    assert ended(first) == 0
    waiting = store.jobs.get(job.id)
    assert (waiting.state, waiting.workers) == ("queued", 0)
    stored = scalar(engine, "SELECT count(*) FROM scores")
    assert 0 < stored < N
    assert ended(start(once=True)) == 0
    assert store.jobs.get(job.id).state == "done"
    assert scalar(engine, "SELECT count(*) FROM scores") == N


def test_the_worker_ends_with_the_process_it_belongs_to(start: Start, store: Store, job: Job) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        worker = start(parent=parent.pid)
        until(lambda: store.jobs.get(job.id).state == "done")
        assert worker.is_alive()  # idle, and waiting
        parent.kill()
    assert ended(worker) == 0


@pytest.mark.extended
def test_what_a_killed_worker_had_in_hand_is_computed_by_another(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    first = start(seconds=0.5)
    other = project_with(store, small_dataset(N // 2), "other")
    second = store.jobs.enqueue(other, ["slow"])
    until(lambda: scalar(engine, "SELECT count(*) FROM claims") == 8)
    first.kill()
    assert ended(first) == -9
    expire(engine)
    store.jobs.cancel(job.id)
    assert ended(start(once=True)) == 0
    assert store.jobs.get(second.id).state == "done"
    assert len(store.scores.column(other, "slow|v:1")) == N


def test_a_process_that_crashed_is_replaced_until_no_work_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses, waits = [0, -9, 0], list[float | None]()  # statuses of the processes, in the order of their start

    class Process(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **_: object) -> None:
            self.status = statuses.pop(0)

        def poll(self) -> int:
            return self.status

    class Stop(Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout)
            assert len(waits) == 1, "the process is not replaced"
            return False

    monkeypatch.setattr(subprocess, "Popen", Process)
    worker._keep_running(2, "sqlite://", Stop(), once=True)
    assert not statuses


@pytest.mark.extended
@on_both
def test_workers_killed_at_random_score_each_output_once(
    start: Start, store: Store, engine: Engine, tmp_path: Path
) -> None:
    n, kills, draw = 480, 6, random.Random(0)
    project = project_with(store, small_dataset(n // 2))
    store.timings.add("slow", "", Timing(100, 1200, 100.0, 12.0))  # 1 s per output, so that chunks are small
    job = store.jobs.enqueue(project, ["slow"])
    running, killed = [start(seconds=0.02) for _ in range(4)], set[int]()
    while len(killed) < kills:
        done = store.jobs.get(job.id).done
        until(lambda done=done: store.jobs.get(job.id).done > done or store.jobs.get(job.id).state == "done")
        assert store.jobs.get(job.id).state == "running", "it ended before all workers were killed"
        victim = running.pop(draw.randrange(len(running)))
        victim.kill()
        assert ended(victim) == -9
        killed.add(victim.pid)
        with engine.begin() as connection:  # its lease runs out
            silent = f"WHERE state = 'running' AND worker LIKE '%%:{victim.pid}:%%'"
            connection.exec_driver_sql(f"UPDATE chunks SET heartbeat = '2020-01-01 00:00:00.000000' {silent}")
        running.append(start(seconds=0.02))
    until(lambda: store.jobs.get(job.id).state == "done")
    values = dict(store.scores.column(project, "slow|v:1"))
    # as one worker scores them
    assert {key: value.value for key, value in values.items()} == {
        key: float(len(item.hypothesis)) for key, item in small_dataset(n // 2).items()
    }
    assert scalar(engine, "SELECT count(*) FROM scores") == scalar(engine, "SELECT sum(n) FROM runs") == n
    begun_by: dict[str, list[int]] = {}
    for line in lines_of(tmp_path / "begun.txt"):
        pid, _, text = line.partition(" ")
        begun_by.setdefault(text, []).append(int(pid))
    assert len(begun_by) == n
    again = {text: pids for text, pids in begun_by.items() if len(pids) > 1}
    assert all(sum(pid not in killed for pid in pids) <= 1 for pids in again.values())
    assert len({pid for pids in begun_by.values() for pid in pids} - killed) > 1


@pytest.mark.extended
def test_a_job_that_kills_workers_fails(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    store.jobs.cancel(job.id)
    deadly = store.jobs.enqueue(job.project_id, ["deadly"])
    for _ in range(6):
        if ended(start(once=True)) == 0:
            break
        expire(engine)
    assert store.jobs.get(deadly.id).state == "failed"
    assert "worker died" in store.jobs.get(deadly.id).message
