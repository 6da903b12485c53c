"""Processes and threads that lease chunks at the same time."""

import threading
import time

import numpy as np
import pytest
from sqlalchemy import Engine

from core.data import Dataset, Output, Segment
from core.ports.jobs import Chunk, ChunkResult, PlannedChunk, PlannedMetric
from core.ports.store import Store
from core.scoring.turns import CHUNK, judge_of
from db.jobs import chunk_texts
from db.jobs.chunks import packed, unpacked
from db.store import open_store
from tests.builders import small_dataset
from tests.db.other_processes import take_chunks
from tests.db.raw import scalar
from tests.processes import at_once, ended, started_with_pipe
from tests.stores import project_with

N = 30


@pytest.fixture
def job(store: Store) -> int:
    """A job of 30 chunks."""
    project = project_with(store, small_dataset(N))
    job = store.jobs.enqueue(project, ["chrf"]).id
    planner = store.chunks.lease("planner")
    assert planner is not None
    window = store.chunks.window(planner)
    cuts = [PlannedChunk("chrf", ids, 1) for ids in np.array_split(window.ids, N)]
    store.chunks.plan(planner, "planner", window, [PlannedMetric("chrf", "chrF", "s")], cuts, {})
    return job


def test_two_processes_never_lease_the_same_chunk(store: Store, job: int, url: str) -> None:
    workers = [started_with_pipe(take_chunks, url, name) for name in ("w1", "w2")]
    for _, connection in workers:
        assert connection.recv() == "ready"
    for _, connection in workers:
        connection.send("go")
    taken = [connection.recv() for _, connection in workers]
    assert [ended(worker) for worker, _ in workers] == [0, 0]
    assert len(set(taken[0]) | set(taken[1])) == len(taken[0]) + len(taken[1]) == N
    done = store.jobs.get(job)
    assert (done.state, done.done, done.total) == ("done", 2 * N, 2 * N)


def test_threads_that_finish_the_last_chunks_end_the_job_once(store: Store, job: int, url: str) -> None:
    taken: list[int] = []

    def take(name: str) -> None:
        own = open_store(url)
        while chunk := own.chunks.lease(name):
            taken.append(chunk.id)
            own.chunks.finish(chunk, name, ChunkResult(2, 0, 0, "", 0.1))

    at_once(*(lambda i=i: take(f"w{i}") for i in range(4)))
    assert len(taken) == len(set(taken)) == N
    assert store.jobs.get(job).state == "done"


def test_cancelling_while_chunks_are_leased_and_finished_loses_nothing(store: Store, job: int, url: str) -> None:
    begun = threading.Event()

    def take(name: str) -> None:
        own = open_store(url)
        while chunk := own.chunks.lease(name):
            own.chunks.finish(chunk, name, ChunkResult(2, 0, 0, "", 0.1))
            begun.set()

    def cancel() -> None:
        assert begun.wait(60)
        store.jobs.cancel(job)

    at_once(cancel, *(lambda i=i: take(f"w{i}") for i in range(3)))
    cancelled = store.jobs.get(job)
    assert cancelled.state in ("cancelled", "done")
    assert 2 <= cancelled.done <= 2 * N
    assert store.chunks.is_finished()


def test_ended_jobs_leave_no_rows(store: Store, engine: Engine, job: int) -> None:
    assert scalar(engine, "SELECT count(*) FROM chunks") == N + 1
    store.jobs.cancel(job)
    for table in ("chunks", "job_metrics", "claims"):
        assert scalar(engine, f"SELECT count(*) FROM {table}") == 0


def test_parts_of_a_stream_have_few_outputs_with_many_systems(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_texts, "STREAMED_OUTPUTS", 5)
    project = project_with(store, small_dataset(6))
    segments = (Segment("doc", "1", None), Segment("doc", "empty", "s"))
    store.projects.add(project, Dataset(segments, tuple(Output(f"system {n}", "doc", "1", f"{n}") for n in range(7))))
    parts = list(store.chunks.stream(project))
    assert [len(part) for part in parts] == [2, 9, 4, 4]  # a segment is not split
    assert [(key, item) for part in parts for _, key, item in part] == [
        (key.segment, item) for key, item in store.projects.dataset(project).items()
    ]


def test_large_projects_are_planned_in_windows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_texts, "WINDOW", 20)
    between = store.projects.create("between").id
    project = store.projects.create("p").id
    for k in range(3):  # outputs of the two projects alternate
        store.projects.add(project, small_dataset(11 * (k + 1), ["A", "B"]))
        store.projects.add(between, small_dataset(9 * (k + 1)))
    job = store.jobs.enqueue(project, ["chrf"]).id
    seen, windows = list[str](), 0
    metric = PlannedMetric("chrf", "chrF", "s", length=1.0)
    while (chunk := store.chunks.lease("w")) is not None:
        if chunk.metric is not None:
            store.chunks.finish(chunk, "w", ChunkResult(len(chunk.outputs), 0, 0, "", 0.1))
            continue
        window = store.chunks.window(chunk)
        assert len(window.keys) <= 20
        assert window.total == 66
        seen += window.keys
        windows += 1
        cuts = [PlannedChunk("chrf", window.ids, len(window.ids))] if window.keys else []
        store.chunks.plan(chunk, "w", window, [metric], cuts, {})
        done = store.jobs.get(job)
        assert done.total == 66
    assert (len(seen), len(set(seen))) == (66, 66)
    assert windows > 3
    assert store.jobs.get(job).state == "done"


def test_one_chunk_at_a_time_asks_a_judge(store: Store) -> None:
    """Of all jobs and workers; a worker that has asked it may go on, and other judges and metrics wait for nothing."""
    names = ("judge-da", "judge-mqm|repeats:2", "judge:own|judge:b", "chrf")
    for title in ("p", "q"):
        project = project_with(store, small_dataset(1, ["A", "B"]), title)
        store.jobs.enqueue(project, names)
    planners = [chunk for _ in range(2) if (chunk := store.chunks.lease("planner")) is not None]
    assert len(planners) == 2
    for planner in planners:
        window = store.chunks.window(planner)
        metrics = [PlannedMetric(name, name, f"{name}|v:1") for name in names]
        store.chunks.plan(
            planner, "planner", window, metrics, [PlannedChunk(name, window.ids, 2) for name in names], {}
        )
    taken: list[tuple[str, Chunk]] = []
    for worker in ("w1", "w2", "w3", "w1", "w4", "w2", "w3", "w4"):
        if (chunk := store.chunks.lease(worker)) is not None:
            taken.append((worker, chunk))
    running = [(worker, chunk.metric.name) for worker, chunk in taken if chunk.metric is not None]
    workers_of = {
        judge: {worker for worker, name in running if judge_of(name) == judge} for judge in ("default", "b", "")
    }
    assert len(workers_of["default"]) == len(workers_of["b"]) == 1
    assert sum(name == "chrf" for _, name in running) == 2
    left = 8 - len(running)
    assert left > 0
    assert store.chunks.lease("w9") is None
    (mine,) = workers_of["default"]
    for worker, chunk in taken:
        if worker == mine:
            store.chunks.release(chunk, worker)
    again = store.chunks.lease("w9")
    assert again is not None
    assert again.metric is not None


def test_a_chunk_is_small_in_the_database() -> None:
    ids = np.arange(7, 7 + 3 * CHUNK, 3, dtype=np.int64)
    assert unpacked(packed(ids[::-1])) == ids.tolist()
    assert len(packed(ids)) < 500


def test_a_lease_is_cheap_beside_many_chunks(store: Store) -> None:
    project = project_with(store, small_dataset(2))
    store.jobs.enqueue(project, ["chrf"])
    planner = store.chunks.lease("w")
    assert planner is not None
    window = store.chunks.window(planner)
    cuts = [PlannedChunk("chrf", window.ids, 1)] * 5000
    store.chunks.plan(planner, "w", window, [PlannedMetric("chrf", "chrF", "s")], cuts, {})
    began = time.monotonic()
    for _ in range(20):
        assert store.chunks.lease("w", ahead=True) is not None
    assert (time.monotonic() - began) / 20 < 0.1
