"""The worker as a real process on a file database."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Engine

from core.data import Dataset, Item, Output, Segment, SegmentKey, Value
from core.errors import Unavailable
from core.metrics.base import AllOutputs, Metric
from core.ports.chunks import PlannedChunk, PlannedMetric
from core.ports.jobs import Job
from core.ports.store import Store
from core.ports.timings import Timing
from core.progress import no_progress
from core.scoring.lease import Pace
from core.scoring.worker import ScoringWorker
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
    return lambda: [line.partition(" ")[2] for line in _lines(file)]


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


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
    """Pretend that all heartbeats stopped a minute ago, instead of waiting for the leases to run out."""
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE chunks SET heartbeat = '2020-01-01 00:00:00.000000' WHERE state = 'running'")


def work(store: Store, load: object, stop: Event | None = None, *, once: bool = True, pace: Pace | None = None) -> None:
    ScoringWorker(store, load, stop or Event(), pace).work(once=once)  # type: ignore[arg-type]


def test_a_job_is_scored_and_reported(start: Start, store: Store, engine: Engine, job: Job, tmp_path: Path) -> None:
    assert start("--once").wait(timeout=60) == 0
    done = store.jobs.get(job.id)
    assert (done.state, done.done, done.total, done.message) == ("done", N, N, "")
    assert done.started is not None
    assert len(store.scores.table(job.project_id, "slow|v:1")) == N
    assert f"job {job.id}, chunk 2: project 1, slow" in (tmp_path / "home" / "worker.log").read_text(encoding="utf-8")


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
    assert (waiting.state, waiting.workers) == ("queued", 0)
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

    pace = Pace(lease=60, beat=0.05, look=0.05, poll=0.05)
    worker = Thread(target=work, args=(store, load), kwargs={"pace": pace})
    worker.start()
    assert loading.wait(60)
    expire(engine)
    until(lambda: scalar(engine, "SELECT count(*) FROM chunks WHERE heartbeat > '2021-01-01'") == 1)
    assert store.chunks.lease("other", 60) is None
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

    work(store, load)
    assert store.jobs.get(job.id).state == "done"
    assert len(store.scores.table(job.project_id, "slow|v:1")) == N + 1


@pytest.mark.parametrize(("busy", "state", "puts"), [(2, "done", 3), (99, "failed", 4)])
def test_jobs_with_unwritable_scores_are_retried(
    store: Store, job: Job, monkeypatch: pytest.MonkeyPatch, busy: int, state: str, puts: int
) -> None:
    put, calls, reasons = store.scores.put, [0], list[str]()

    def refuse(*given: Any, **more: Any) -> None:
        calls[0] += 1
        if calls[0] <= busy:
            raise Unavailable("the database could not be written to")
        put(*given, **more)

    release = store.chunks.release
    monkeypatch.setattr(store.scores, "put", refuse)
    monkeypatch.setattr(store.chunks, "release", lambda *a: (reasons.append(a[2]), release(*a)))
    metric = counting_metric("slow")
    work(store, lambda name: metric, pace=Pace(beat=60, poll=0.01))
    # 4 leases at most (db.chunks.ATTEMPTS), as for a chunk that kills its worker
    assert reasons == ["the database could not be written to."] * min(busy, 4)
    assert store.jobs.get(job.id).state == state
    assert calls[0] >= puts
    assert len(store.scores.table(job.project_id, "slow|v:1")) == (N if state == "done" else 0)


@on_both
def test_a_project_deleted_while_its_job_runs_is_no_fault(store: Store, job: Job, engine: Engine) -> None:
    def load(name: str) -> object:
        store.projects.delete(job.project_id)
        return counting_metric(name)

    work(store, load)
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
    until(lambda: max(store.jobs.get(job.id).workers for job in queued) > 0)
    assert [worker.wait(timeout=120) for worker in workers] == [0] * 4
    assert [store.jobs.get(job.id).state for job in queued] == ["done"] * 4
    assert Counter(begun()) == Counter(item.hypothesis for _, item in small_dataset(60).items())
    assert scalar(engine, "SELECT count(*) FROM claims") == 0
    assert [len(store.scores.table(job.project_id, "slow|v:1")) for job in queued] == [120] * 4


def test_what_a_killed_worker_had_in_hand_is_computed_by_another(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    first = start(seconds=0.5)
    other = store.projects.create("other").id
    store.projects.add(other, small_dataset(N // 2))
    second = store.jobs.enqueue(other, ["slow"])
    until(lambda: scalar(engine, "SELECT count(*) FROM claims") == 8)
    first.send_signal(signal.SIGKILL)
    first.wait()
    expire(engine)
    store.jobs.cancel(job.id)
    assert start("--once").wait(timeout=60) == 0
    assert store.jobs.get(second.id).state == "done"
    assert len(store.scores.table(other, "slow|v:1")) == N


@on_both
def test_workers_killed_at_random_score_each_output_once(
    start: Start, store: Store, engine: Engine, tmp_path: Path
) -> None:
    n, kills, draw = 480, 6, random.Random(0)
    project = store.projects.create("p").id
    store.projects.add(project, small_dataset(n // 2))
    store.timings.add("slow", "", Timing(100, 1200, 100.0, 12.0))  # 1 s per output, so that chunks are small
    job = store.jobs.enqueue(project, ["slow"])
    running, killed = [start(seconds=0.02) for _ in range(4)], set[int]()
    while len(killed) < kills:
        done = store.jobs.get(job.id).done
        until(lambda done=done: store.jobs.get(job.id).done > done or store.jobs.get(job.id).state == "done")
        assert store.jobs.get(job.id).state == "running", "it ended before all workers were killed"
        victim = running.pop(draw.randrange(len(running)))
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        killed.add(victim.pid)
        with engine.begin() as connection:  # its lease runs out
            silent = f"WHERE state = 'running' AND worker LIKE '%%:{victim.pid}:%%'"
            connection.exec_driver_sql(f"UPDATE chunks SET heartbeat = '2020-01-01 00:00:00.000000' {silent}")
        running.append(start(seconds=0.02))
    until(lambda: store.jobs.get(job.id).state == "done")
    values = store.scores.table(project, "slow|v:1")
    # as one worker scores them
    assert {key: value.value for key, value in values.items()} == {
        key: float(len(item.hypothesis)) for key, item in small_dataset(n // 2).items()
    }
    assert scalar(engine, "SELECT count(*) FROM scores") == scalar(engine, "SELECT sum(n) FROM runs") == n
    begun_by: dict[str, list[int]] = {}
    for line in _lines(tmp_path / "begun.txt"):
        pid, _, text = line.partition(" ")
        begun_by.setdefault(text, []).append(int(pid))
    assert len(begun_by) == n
    again = {text: pids for text, pids in begun_by.items() if len(pids) > 1}
    assert all(sum(pid not in killed for pid in pids) <= 1 for pids in again.values())
    assert len({pid for pids in begun_by.values() for pid in pids} - killed) > 1


def test_a_cancelled_job_stops_within_a_second(
    start: Start, store: Store, job: Job, begun: Callable[[], list[str]]
) -> None:
    start(seconds=0.05)
    until(lambda: len(begun()) > 2)
    store.jobs.cancel(job.id)
    time.sleep(1.0)
    n = len(begun())
    time.sleep(0.5)
    assert len(begun()) == n < N


def test_an_urgent_job_goes_before_a_larger_one(store: Store, job: Job) -> None:
    order, other = list[str](), store.projects.create("other").id
    store.projects.add(other, Dataset((Segment("d", "1", "s"),), (Output("A", "d", "1", "urgent"),)))
    urgent: list[Job] = []

    def of(item: Item) -> Value:
        order.append(item.hypothesis)
        if not urgent:
            urgent.append(store.jobs.enqueue(other, ["slow"]))
            store.jobs.prioritize(urgent[0].id, 1)
        time.sleep(0.1)
        return Value(1.0)

    work(store, lambda name: counting_metric(name, of))
    assert store.jobs.get(job.id).state == store.jobs.get(urgent[0].id).state == "done"
    assert 0 < order.index("urgent") < N - 8
    assert len(set(order)) == N + 1


def test_the_next_chunk_is_read_while_one_is_computed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = store.projects.create("p").id
    store.projects.add(project, small_dataset(300))
    store.timings.add("slow", "", Timing(100, 1200, 100.0, 12.0))
    job = store.jobs.enqueue(project, ["slow"])
    ahead = list[int]()
    read = store.chunks.lease

    def lease(*given: Any, **more: Any) -> Any:
        chunk = read(*given, **more)
        if more.get("ahead") and chunk is not None:
            ahead.append(chunk.id)
        return chunk

    monkeypatch.setattr(store.chunks, "lease", lease)
    seen: list[Item] = []
    work(store, lambda name: counting_metric(name, seen=seen))
    assert (store.jobs.get(job.id).state, len(seen)) == ("done", 600)
    assert len(ahead) == len(set(ahead)) > 5


def test_a_metric_that_fails_everywhere_is_abandoned_for_all_chunks(store: Store, job: Job) -> None:
    store.projects.add(job.project_id, small_dataset(300))
    calls = [0]

    def fail(item: Item) -> Value:
        calls[0] += 1
        raise RuntimeError("no such kernel")

    store.timings.add("slow", "", Timing(100, 1200, 100.0, 12.0))  # 1 s per output, so that there are 20 chunks
    work(store, lambda name: counting_metric(name, fail))
    ended = store.jobs.get(job.id)
    assert (ended.state, ended.message[:28]) == ("failed", "slow: 600 of 600 not scored:")
    assert calls[0] < 200  # single texts fail 40 times in a row, after their parts
    assert {value.status for value in store.scores.table(job.project_id, "slow|v:1").values()} == {"error"}


def test_a_worker_with_another_model_does_not_mix_its_scores(store: Store, job: Job) -> None:
    planner = store.chunks.lease("elsewhere")
    assert planner is not None
    window = store.chunks.window(planner)
    other = PlannedMetric("slow", "slow", "slow|v:0")
    store.chunks.plan(planner, "elsewhere", window, [other], [PlannedChunk("slow", window.ids, N)], {})
    work(store, counting_metric)
    ended = store.jobs.get(job.id)
    assert (ended.state, "differs from the one" in ended.message) == ("failed", True)
    assert {v.status for v in store.scores.table(job.project_id, "slow|v:0").values()} == {"error"}
    assert store.scores.table(job.project_id, "slow|v:1") == {}


def test_a_fitted_metric_follows_an_import_during_the_job(store: Store, job: Job) -> None:
    """Its weights, and so its signature, are those of the outputs at the end."""
    late = Dataset((Segment("doc", "0", None),), (Output("C", "doc", "0", "late"),))
    imported: list[object] = []

    def load(name: str) -> Metric:
        def fit(outputs: AllOutputs) -> Metric:
            n = len(outputs)

            def of(item: Item) -> Value:
                if not imported:
                    imported.append(store.projects.add(job.project_id, late))
                return Value(float(n))

            return replace(counting_metric(name, of), signature=lambda: f"slow|n:{n}")

        return replace(counting_metric(name), fit=fit)

    work(store, load)
    assert store.jobs.get(job.id).state == "done"
    values = store.scores.table(job.project_id, f"slow|n:{N + 1}")
    assert [value.value for value in values.values()] == [N + 1.0] * (N + 1)


def test_several_workers_are_started_with_one_command(store: Store, url: str, tmp_path: Path, job: Job) -> None:
    store.jobs.cancel(job.id)
    chrf = store.jobs.enqueue(job.project_id, ["chrf"])
    command = [sys.executable, "-m", "core", "workers", "--workers", "2", "--once", "--database", url]
    subprocess.run(
        command, cwd=ROOT, env=os.environ | {"ERRORSCOPE_HOME": str(tmp_path / "home")}, check=True, timeout=120
    )
    assert store.jobs.get(chrf.id).state == "done"
    log = (tmp_path / "home" / "worker.log").read_text(encoding="utf-8")
    assert log.count(" started") == log.count(" ended") == 2


@pytest.mark.parametrize("number", ["0", "1000", "two"])
def test_an_impossible_number_of_workers_is_one_clear_line(tmp_path: Path, number: str) -> None:
    environment = os.environ | {"ERRORSCOPE_HOME": str(tmp_path), "ERRORSCOPE_WORKERS": number}
    ended = subprocess.run(
        [sys.executable, "-m", "db.worker", "--once"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert number in ended.stderr


def test_the_queue_is_changed_on_the_command_line(store: Store, url: str, job: Job) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "db.job_queue", "--database", url, *arguments]
        return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout

    assert run("priority", str(job.id), "7") == f"job {job.id}: priority 7\n"
    assert store.jobs.get(job.id).priority == 7
    assert "p, queued, priority 7" in run("list")
    assert run("cancel", str(job.id)) == f"job {job.id}: cancelled\n"
    assert run("list") == "no unfinished jobs\n"
