"""Workers that hang while their heartbeats go on, and workers whose parent is gone."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event, Thread, get_ident

import psutil
import pytest
from sqlalchemy import Engine

from core.data import Item, Value
from core.ports.jobs import Job
from core.ports.store import Store
from core.scoring.lease import WorkerIntervals
from core.scoring.worker import ScoringWorker
from db.worker import HUNG
from tests.builders import counting_metric
from tests.db.raw import rows, scalar
from tests.db.workers.helpers import N, Start, until, work
from tests.paths import ROOT
from tests.postgres import on_both
from tests.processes import ended

QUICK = WorkerIntervals(beat=0.05, look=0.05, poll=0.05, stall=0.5)


@pytest.mark.extended
@on_both
def test_a_worker_that_hangs_ends_and_another_takes_its_chunk(
    start: Start, store: Store, engine: Engine, job: Job, begun: Callable[[], list[str]]
) -> None:
    hangs = start(holds_at=13, stall=2.0)
    until(lambda: len(begun()) > 12)
    assert store.chunks.lease("other") is None  # its heartbeats go on
    assert ended(hangs) == HUNG
    waiting = store.jobs.get(job.id)
    assert (waiting.state, waiting.workers) == ("queued", 0)
    assert ended(start(once=True)) == 0  # at once, not after the lease
    assert store.jobs.get(job.id).state == "done"
    assert scalar(engine, "SELECT count(*) FROM scores") == N


@on_both
def test_the_late_result_of_a_worker_that_hung_changes_nothing(
    store: Store, engine: Engine, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung, go, stop, calls = Event(), Event(), Event(), [0]
    put, stored = store.scores.put, list[tuple[int, int]]()

    def counted(metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        put(metric, signature, values, seconds)
        stored.append((get_ident(), len(values)))

    monkeypatch.setattr(store.scores, "put", counted)

    def hold(item: Item) -> Value:
        calls[0] += 1
        if calls[0] == 24:  # the last one of the second part, after 8 and 16
            go.wait(60)
        return Value(float(len(item.hypothesis)))

    late = ScoringWorker(store, lambda name: counting_metric(name, hold), stop, QUICK, hung.set)
    thread = Thread(target=late.work)
    thread.start()
    try:
        assert hung.wait(60)
        work(store, counting_metric)
        before = rows(engine, "SELECT * FROM scores ORDER BY 1, 2")
        assert store.jobs.get(job.id).state == "done"
        go.set()
        until(lambda: (thread.ident, 16) in stored)
    finally:
        go.set()
        stop.set()
        thread.join(60)
    assert rows(engine, "SELECT * FROM scores ORDER BY 1, 2") == before
    assert len(before) == N
    done = store.jobs.get(job.id)
    assert (done.state, done.done, done.total, done.message) == ("done", N, N, "")


def test_a_job_that_hangs_every_worker_fails(store: Store, job: Job) -> None:
    go, stop, threads = Event(), Event(), []

    def load(name: str) -> object:
        go.wait(60)
        return counting_metric(name)

    try:
        for _ in range(4):
            hung = Event()
            worker = ScoringWorker(store, load, stop, QUICK, hung.set)  # type: ignore[arg-type]
            threads.append(Thread(target=worker.work))
            threads[-1].start()
            assert hung.wait(60)
    finally:
        stop.set()
        go.set()
        for thread in threads:
            thread.join(60)
    failed = store.jobs.get(job.id)
    assert (failed.state, failed.message) == ("failed", "a worker made no progress for 1 s; see worker.log")


def test_slow_progress_is_progress(store: Store, job: Job) -> None:
    hung = Event()

    def of(item: Item) -> Value:
        time.sleep(0.025)
        return Value(1.0)

    ScoringWorker(store, lambda name: counting_metric(name, of), Event(), QUICK, hung.set).work(once=True)  # 1 s
    assert store.jobs.get(job.id).state == "done"
    assert not hung.is_set()


@pytest.mark.extended
@on_both
@pytest.mark.parametrize("by", ["signal", "parent"])
def test_a_hung_worker_that_is_told_to_end_is_killed_in_time(
    start: Start, store: Store, job: Job, begun: Callable[[], list[str]], by: str
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as parent:
        worker = start(parent=parent.pid, holds_at=13, end=1.0)
        until(lambda: len(begun()) > 12)
        if by == "signal":
            worker.terminate()
        parent.kill()
    assert ended(worker) == HUNG
    waiting = store.jobs.get(job.id)
    assert (waiting.state, waiting.workers) == ("queued", 0)


@pytest.mark.extended
def test_no_worker_outlives_the_command_that_started_it(url: str, store: Store, tmp_path: Path) -> None:
    environment = os.environ | {"ERRORSCOPE_HOME": str(tmp_path / "home"), "ERRORSCOPE_DB": url}
    command = [sys.executable, "-m", "cli", "workers", "--workers", "2"]
    started = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    log, below = tmp_path / "home" / "worker.log", list[psutil.Process]()
    try:
        until(lambda: log.exists() and log.read_text(encoding="utf-8").count(" started") == 2)
        below = psutil.Process(started.pid).children(recursive=True)
        assert len(below) == 2
        started.send_signal(signal.SIGKILL)
        started.wait()
        assert psutil.wait_procs(below, timeout=60)[1] == []
    finally:
        for process in (started, *below):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        started.wait()
