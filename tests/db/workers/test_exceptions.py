"""What goes wrong or changes while a job runs, with a worker in this process."""

from dataclasses import replace
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Engine

from core.data import Dataset, Item, Output, Segment, Value
from core.errors import Unavailable
from core.metrics.base import AllOutputs, Metric
from core.ports.jobs import Job, PlannedChunk, PlannedMetric
from core.ports.store import Store
from core.progress import no_progress
from core.scoring.lease import WorkerIntervals
from db.jobs.chunks import SqlChunks
from tests.builders import counting_metric
from tests.db.raw import rows, scalar
from tests.db.workers.helpers import N, expire, until, work
from tests.postgres import on_both


@on_both
def test_the_lease_is_kept_while_a_model_loads(store: Store, engine: Engine, job: Job) -> None:
    loading, go = Event(), Event()

    def load(name: str) -> object:
        loading.set()
        go.wait(60)
        return counting_metric(name)

    pace = WorkerIntervals(lease=60, beat=0.05, look=0.05, poll=0.05)
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
    assert len(store.scores.column(job.project_id, "slow|v:1")) == N + 1


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
    work(store, lambda name: metric, pace=WorkerIntervals(beat=60, poll=0.01))
    # 4 leases at most (db.jobs.chunks.ATTEMPTS), as for a chunk that kills its worker
    assert reasons == ["the database could not be written to."] * min(busy, 4)
    assert store.jobs.get(job.id).state == state
    assert calls[0] >= puts
    assert len(store.scores.column(job.project_id, "slow|v:1")) == (N if state == "done" else 0)


@on_both
def test_a_project_deleted_while_its_job_runs_is_no_fault(store: Store, job: Job, engine: Engine) -> None:
    def load(name: str) -> object:
        store.projects.delete(job.project_id)
        return counting_metric(name)

    work(store, load)
    assert rows(engine, "SELECT * FROM jobs") == []


def test_a_metric_that_fails_everywhere_is_abandoned_for_all_chunks(store: Store, large_job: Job) -> None:
    calls = [0]

    def fail(item: Item) -> Value:
        calls[0] += 1
        raise RuntimeError("no such kernel")

    work(store, lambda name: counting_metric(name, fail))
    ended = store.jobs.get(large_job.id)
    assert (ended.state, ended.message[:28]) == ("failed", "slow: 200 of 200 not scored:")
    assert calls[0] < 100  # single texts fail 40 times in a row, after their parts
    assert {value.status for value in store.scores.column(large_job.project_id, "slow|v:1").values()} == {"error"}


def test_a_worker_with_another_model_does_not_mix_its_scores(store: Store, job: Job) -> None:
    planner = store.chunks.lease("elsewhere")
    assert planner is not None
    window = store.chunks.window(planner)
    other = PlannedMetric("slow", "slow", "slow|v:0")
    store.chunks.plan(planner, "elsewhere", window, [other], [PlannedChunk("slow", window.ids, N)], {})
    work(store, counting_metric)
    ended = store.jobs.get(job.id)
    assert (ended.state, "differs from the one" in ended.message) == ("failed", True)
    assert {v.status for v in store.scores.column(job.project_id, "slow|v:0").values()} == {"error"}
    assert dict(store.scores.column(job.project_id, "slow|v:1")) == {}


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
    values = dict(store.scores.column(job.project_id, f"slow|n:{N + 1}"))
    assert [value.value for value in values.values()] == [N + 1.0] * (N + 1)


@pytest.mark.parametrize("fault", ["items", "overtaken"])
def test_a_chunk_returns_to_the_queue_if_storage_fails_before_it_is_begun(
    store: Store, large_job: Job, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    failed, usual = list[str](), getattr(SqlChunks, fault)

    def fails_once(self: SqlChunks, given: Any) -> Any:
        if not failed and given:
            failed.append(fault)
            raise Unavailable("the database server restarts")
        return usual(self, given)

    monkeypatch.setattr(SqlChunks, fault, fails_once)
    pace = WorkerIntervals(beat=0.05, look=0.05, poll=0.01)
    work(store, counting_metric, pace=pace)
    assert failed
    assert store.jobs.get(large_job.id).state == "done"
