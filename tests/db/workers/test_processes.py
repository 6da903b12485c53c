"""Workers as real processes: what they compute, and how they are started."""

import hashlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from core.data import Item, Value
from core.errors import UserError
from core.metrics.base import Metric
from core.ports.jobs import Job
from core.ports.store import Store
from core.scoring import dataset
from db.scores import arrays
from db.tables import project_arrays
from tests.builders import counting_metric, small_dataset
from tests.db.other_processes import run_workers
from tests.db.raw import scalar
from tests.db.workers.helpers import N, Start, expire, until, work
from tests.paths import ROOT
from tests.postgres import on_both
from tests.processes import ended, started_with_pipe
from tests.stores import project_with


def test_a_job_is_scored_and_reported(start: Start, store: Store, engine: Engine, job: Job, tmp_path: Path) -> None:
    assert ended(start(once=True)) == 0
    done = store.jobs.get(job.id)
    assert (done.state, done.done, done.total, done.message) == ("done", N, N, "")
    assert done.started is not None
    assert len(store.scores.column(job.project_id, "slow|v:1")) == N
    assert f"job {job.id}, chunk 2: project 1, slow" in (tmp_path / "home" / "worker.log").read_text(encoding="utf-8")


def test_a_timing_job_keeps_the_time_of_a_sample_and_no_scores(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "SAMPLE_SECONDS", 0.05)
    project = project_with(store, small_dataset(100))
    timed, seen = store.jobs.enqueue(project, ["slow"], timing=True), list[Item]()

    def of(item: Item) -> Value:
        time.sleep(0.005)
        return Value(1.0)

    work(store, lambda name: counting_metric(name, of, seen=seen))
    assert store.jobs.get(timed.id).state == "done"
    [timing] = store.timings.of("slow", "")
    assert 0.005 <= timing.seconds / timing.n < 0.05
    assert 8 <= len(seen) < 60
    assert store.scores.signatures(project) == []


def test_an_unloadable_metric_does_not_stop_others(store: Store, job: Job) -> None:
    def load(name: str) -> Metric:
        if name == "missing":
            raise UserError("its model is not here", hint="Fetch it")
        return counting_metric(name)

    store.jobs.cancel(job.id)
    second = store.jobs.enqueue(job.project_id, ["missing", "slow"])
    work(store, load)
    failed = store.jobs.get(second.id)
    assert (failed.state, failed.message) == ("failed", "missing: its model is not here. Fetch it")
    assert len(store.scores.column(job.project_id, "slow|v:1")) == N


def test_wrong_settings_are_one_clear_line_each(tmp_path: Path) -> None:
    wrong = [(["--database", "nosuch://x"], "1"), *(([], number) for number in ("0", "1000", "two"))]
    process, connection = started_with_pipe(run_workers, str(tmp_path), wrong)
    ends = connection.recv()
    assert ended(process) == 0
    assert [status for status, _ in ends] == [2] * 4
    assert [line.count("\n") for _, line in ends] == [1] * 4
    assert "this database address cannot be used" in ends[0][1]
    for number, (_, line) in zip(("0", "1000", "two"), ends[1:], strict=True):
        assert number in line


@pytest.mark.extended
@on_both
def test_four_workers_compute_no_value_of_equal_texts_twice(
    start: Start, store: Store, engine: Engine, begun: Callable[[], list[str]]
) -> None:
    queued = []
    for i in range(4):
        project = project_with(store, small_dataset(60), f"p{i}")
        queued.append(store.jobs.enqueue(project, ["slow"]))
    workers = [start(once=True, seconds=0.03) for _ in queued]
    until(lambda: max(store.jobs.get(job.id).workers for job in queued) > 0)
    assert [ended(worker) for worker in workers] == [0] * 4
    assert [store.jobs.get(job.id).state for job in queued] == ["done"] * 4
    assert Counter(begun()) == Counter(item.hypothesis for _, item in small_dataset(60).items())
    assert scalar(engine, "SELECT count(*) FROM claims") == 0
    assert [len(store.scores.column(job.project_id, "slow|v:1")) for job in queued] == [120] * 4


@pytest.mark.extended
def test_several_workers_are_started_with_one_command(store: Store, url: str, tmp_path: Path, job: Job) -> None:
    store.jobs.cancel(job.id)
    chrf = store.jobs.enqueue(job.project_id, ["chrf"])
    command = [sys.executable, "-m", "cli", "workers", "--workers", "2", "--once", "--database", url]
    subprocess.run(
        command, cwd=ROOT, env=os.environ | {"ERRORSCOPE_HOME": str(tmp_path / "home")}, check=True, timeout=120
    )
    assert store.jobs.get(chrf.id).state == "done"
    log = (tmp_path / "home" / "worker.log").read_text(encoding="utf-8")
    assert log.count(" started") == log.count(" ended") == 2


def test_scores_of_large_jobs_are_kept_as_arrays_before_the_job_ends(
    store: Store, engine: Engine, large_job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "FEW", 100)
    work(store, lambda name: counting_metric(name))
    assert store.jobs.get(large_job.id).state == "done"
    with engine.connect() as connection:
        kept = connection.execute(select(project_arrays.c.digest)).scalars().all()
    scored = store.scores.signatures(large_job.project_id)[0]
    assert hashlib.sha256(scored.signature.encode()).hexdigest() in kept
    assert (scored.n, store.scores.column(large_job.project_id, scored.signature).n) == (200, 200)


def test_a_job_ends_although_a_worker_died_while_it_read_the_column(
    store: Store, engine: Engine, large_job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    states: list[str] = []

    def killed(*_: object) -> None:
        states.append(store.jobs.get(large_job.id).state)
        raise SystemExit

    monkeypatch.setattr(store.scores, "column", killed)
    for _ in range(2):
        with pytest.raises(SystemExit):
            work(store, counting_metric)
        expire(engine)
    assert states == ["running", "done"]
    assert store.jobs.get(large_job.id).state == "done"


def test_the_next_chunk_is_read_while_one_is_computed(
    store: Store, large_job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert (store.jobs.get(large_job.id).state, len(seen)) == ("done", 200)
    assert len(ahead) == len(set(ahead)) > 5
