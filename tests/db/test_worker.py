"""The worker as a real process on a file database."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Engine

from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import Unavailable
from core.ports.jobs import Job
from core.ports.store import Store
from core.ports.timings import Timing
from core.progress import no_progress
from db.worker import Pace, work
from tests.db.raw import rows, scalar
from tests.fakes import counting_metric, small_dataset
from tests.paths import ROOT
from tests.postgres import on_both

N = 40  # items of the project
Start = Callable[..., "subprocess.Popen[bytes]"]


def until(true: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """SQLite, except for tests of several workers: each starts processes, which takes seconds."""
    return getattr(request, "param", "sqlite")


@pytest.fixture
def begun(tmp_path: Path) -> Callable[[], list[str]]:
    """The items that any worker has begun, in order."""
    file = tmp_path / "begun.txt"
    return lambda: file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """The file that lets a worker go on which holds at an item."""
    return tmp_path / "go"


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str, seconds: float = 0.0, holds_at: int = 0) -> "subprocess.Popen[bytes]":
        extra = {
            "ERRORSCOPE_HOME": str(tmp_path / "home"),
            "SLOW_LOG": str(tmp_path / "begun.txt"),
            "SLOW_SECONDS": str(seconds),
            "SLOW_GO": str(tmp_path / "go"),
            "SLOW_HOLDS_AT": str(holds_at),
        }
        command = [sys.executable, "-m", "tests.db.slow_worker", "--database", url, *arguments]
        started.append(subprocess.Popen(command, cwd=ROOT, env=os.environ | extra, stderr=subprocess.DEVNULL))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.fixture
def job(store: Store) -> Job:
    project = store.projects.create("p").id
    store.projects.add(project, small_dataset(N // 2))
    store.timings.add("slow", "", Timing(100, 1200, 1.0, 12.0))  # a known speed, so that no sample is taken
    return store.jobs.enqueue(project, ["slow"])


def expire(engine: Engine) -> None:
    """Pretend that the heartbeat stopped a minute ago, instead of waiting for the lease to run out."""
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE jobs SET heartbeat = '2020-01-01 00:00:00.000000'")


def test_a_job_is_scored_and_reported(start: Start, store: Store, engine: Engine, job: Job, tmp_path: Path) -> None:
    assert start("--once").wait(timeout=60) == 0
    done = store.jobs.get(job.id)
    assert (done.state, done.done, done.total, done.message) == ("done", N, N, "")
    assert done.started is not None
    assert len(store.scores.table(job.project_id, "slow|v:1")) == N
    assert f"job {job.id}: done" in (tmp_path / "home" / "worker.log").read_text(encoding="utf-8")


def test_a_short_job_interrupts_a_long_one_that_continues_afterwards(
    start: Start, store: Store, job: Job, begun: Callable[[], list[str]]
) -> None:
    other = store.projects.create("other").id
    data = Dataset(
        (Segment("d", "1", "s"), Segment("d", "2", "s")), (Output("A", "d", "1", "x"), Output("A", "d", "2", "y"))
    )
    store.projects.add(other, data)
    running = start("--once", seconds=0.15)
    until(lambda: bool(begun()))
    short = store.jobs.enqueue(other, ["slow"], [SegmentKey("d", "2")])
    assert running.wait(timeout=120) == 0
    assert [store.jobs.get(j.id).state for j in (short, job)] == ["done", "done"]
    assert begun().index("y") < len(begun()) - 8
    assert "x" not in begun()
    assert len(store.scores.table(job.project_id, "slow|v:1")) == N


def test_a_timing_job_keeps_the_time_of_a_sample_and_no_scores(
    start: Start, store: Store, begun: Callable[[], list[str]]
) -> None:
    project = store.projects.create("p").id
    store.projects.add(project, small_dataset(100))
    timed = store.jobs.enqueue(project, ["slow"], timing=True)
    assert start("--once", seconds=0.1).wait(timeout=120) == 0
    assert store.jobs.get(timed.id).state == "done"
    [timing] = store.timings.of("slow", "")
    assert 0.1 <= timing.seconds / timing.n < 0.5
    assert 8 <= len(begun()) < 60
    assert store.scores.signatures(project) == []


@on_both
def test_after_a_kill_another_worker_continues(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    first = start(holds_at=13)
    until(lambda: scalar(engine, "SELECT count(*) FROM scores") >= 8 and len(begun()) > 12)
    first.send_signal(signal.SIGKILL)
    first.wait()
    stored = scalar(engine, "SELECT count(*) FROM scores")
    before = begun()
    assert 8 <= stored < len(before) < N
    assert store.jobs.get(job.id).state == "running"  # nobody said otherwise; its lease runs out
    expire(engine)
    assert start("--once").wait(timeout=60) == 0
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
    assert first.wait(timeout=60) == 0
    waiting = store.jobs.get(job.id)
    assert (waiting.state, waiting.worker) == ("queued", None)
    stored = scalar(engine, "SELECT count(*) FROM scores")
    assert 0 < stored < N
    assert start("--once").wait(timeout=60) == 0
    assert store.jobs.get(job.id).state == "done"
    assert scalar(engine, "SELECT count(*) FROM scores") == N


def test_a_cancelled_job_stops_between_two_items(
    start: Start, store: Store, job: Job, begun: Callable[[], list[str]]
) -> None:
    worker = start("--once", seconds=0.2)
    until(lambda: len(begun()) > 1)
    store.jobs.cancel(job.id)
    assert worker.wait(timeout=60) == 0
    assert store.jobs.get(job.id).state == "cancelled"
    assert len(begun()) < N


def test_the_worker_ends_with_the_process_it_belongs_to(start: Start, store: Store, job: Job) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        worker = start("--parent", str(parent.pid))
        until(lambda: store.jobs.get(job.id).state == "done")
        assert worker.poll() is None  # idle, and waiting
        parent.kill()
    assert worker.wait(timeout=60) == 0


def test_an_unloadable_metric_does_not_stop_others(start: Start, store: Store, job: Job) -> None:
    store.jobs.cancel(job.id)
    second = store.jobs.enqueue(job.project_id, ["missing", "slow"])
    assert start("--once").wait(timeout=60) == 0
    failed = store.jobs.get(second.id)
    assert (failed.state, failed.message) == ("failed", "missing: its model is not here. Fetch it")
    assert len(store.scores.table(job.project_id, "slow|v:1")) == N


def test_a_job_that_kills_workers_fails(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    store.jobs.cancel(job.id)
    deadly = store.jobs.enqueue(job.project_id, ["deadly"])
    for _ in range(6):
        if start("--once").wait(timeout=60) == 0:
            break
        expire(engine)
    assert store.jobs.get(deadly.id).state == "failed"
    assert "worker died" in store.jobs.get(deadly.id).message


@on_both
def test_the_lease_is_kept_while_a_model_loads(store: Store, engine: Engine, job: Job) -> None:
    loading, go = Event(), Event()

    def load(name: str) -> object:
        loading.set()
        go.wait(60)
        return counting_metric(name)

    pace = Pace(lease=60, beat=0.05, poll=0.05)
    worker = Thread(target=work, args=(store, load, Event()), kwargs={"once": True, "pace": pace})
    worker.start()
    assert loading.wait(60)
    expire(engine)
    until(lambda: scalar(engine, "SELECT count(*) FROM jobs WHERE heartbeat > '2021-01-01'") == 1)
    assert store.jobs.lease("other", 60) is None
    go.set()
    worker.join(60)
    assert store.jobs.get(job.id).state == "done"


@on_both
def test_what_is_imported_while_a_job_runs_is_scored_too(store: Store, job: Job) -> None:
    late = Dataset((Segment("doc", "0", None),), (Output("C", "doc", "0", "late"),))
    seen: list[object] = []

    def load(name: str) -> object:
        metric = counting_metric(name)

        def of(item: object) -> object:
            if not seen:
                store.projects.add(job.project_id, late)
            seen.append(item)
            return metric.score([item], no_progress)[0]  # type: ignore[list-item]

        return counting_metric(name, of)  # type: ignore[arg-type]

    work(store, load, Event(), once=True)  # type: ignore[arg-type]
    assert store.jobs.get(job.id).state == "done"
    assert len(store.scores.table(job.project_id, "slow|v:1")) == N + 1


@pytest.mark.parametrize(("busy", "state", "puts"), [(2, "done", 3), (99, "failed", 4)])
def test_jobs_with_unwritable_scores_are_retried(
    store: Store, job: Job, monkeypatch: pytest.MonkeyPatch, busy: int, state: str, puts: int
) -> None:
    put, calls, states = store.scores.put, [0], list[str]()

    def refuse(*given: Any, **more: Any) -> None:
        calls[0] += 1
        if calls[0] <= busy:
            raise Unavailable("the database could not be written to")
        put(*given, **more)

    finish = store.jobs.finish
    monkeypatch.setattr(store.scores, "put", refuse)
    monkeypatch.setattr(store.jobs, "finish", lambda *a: (states.append(a[2]), finish(*a)))
    metric = counting_metric("slow")
    work(store, lambda name: metric, Event(), once=True, pace=Pace(beat=60, poll=0.01))
    # 4 leases at most (db.jobs.ATTEMPTS), as for a job that kills its worker
    assert states == ["queued"] * min(busy, 3) + [state]
    assert calls[0] >= puts
    assert len(store.scores.table(job.project_id, "slow|v:1")) == (N if state == "done" else 0)


@on_both
def test_a_project_deleted_while_its_job_runs_is_no_fault(store: Store, job: Job, engine: Engine) -> None:
    def load(name: str) -> object:
        store.projects.delete(job.project_id)
        return counting_metric(name)

    work(store, load, Event(), once=True)  # type: ignore[arg-type]
    assert rows(engine, "SELECT * FROM jobs") == []


def test_a_database_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "db.worker", "--once", "--database", "nosuch://x"]
    ended = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"ERRORSCOPE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("this database address cannot be used")
    assert len(ended.stderr.splitlines()) == 1


@on_both
def test_four_workers_compute_no_value_of_equal_texts_twice(
    start: Start, store: Store, engine: Engine, begun: Callable[[], list[str]]
) -> None:
    queued = []
    for i in range(4):
        project = store.projects.create(f"p{i}").id
        store.projects.add(project, small_dataset(60))
        queued.append(store.jobs.enqueue(project, ["slow"]))
    workers = [start("--once", seconds=0.03) for _ in queued]
    assert [worker.wait(timeout=120) for worker in workers] == [0] * 4
    assert [store.jobs.get(job.id).state for job in queued] == ["done"] * 4
    assert len({store.jobs.get(job.id).worker for job in queued}) > 1
    assert Counter(begun()) == Counter(item.hypothesis for _, item in small_dataset(60).items())
    assert scalar(engine, "SELECT count(*) FROM claims") == 0
    assert [len(store.scores.table(job.project_id, "slow|v:1")) for job in queued] == [120] * 4


def test_what_a_killed_worker_had_in_hand_is_computed_by_another(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    first = start(seconds=0.5)
    until(lambda: len(begun()) > 1)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert scalar(engine, "SELECT count(*) FROM claims") == 8
    other = store.projects.create("other").id
    store.projects.add(other, small_dataset(N // 2))
    expire(engine)
    second = store.jobs.enqueue(other, ["slow"])
    store.jobs.cancel(job.id)
    assert start("--once").wait(timeout=60) == 0
    assert store.jobs.get(second.id).state == "done"
    assert len(store.scores.table(other, "slow|v:1")) == N
