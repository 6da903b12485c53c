"""Which job a worker computes, and when it stops."""

import time
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from core.data import Dataset, Item, Output, Segment, SegmentKey, Value
from core.metrics.base import Metric
from core.metrics.registry import load_metric
from core.ports.jobs import Job
from core.ports.scores import Timing
from core.ports.store import Store
from core.scoring import worker
from core.scoring.lease import WorkerIntervals
from tests.builders import counting_metric, small_dataset
from tests.cli.program import status_of
from tests.db.workers.helpers import N, work
from tests.stores import project_with


@pytest.fixture
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker look after each output whether another job goes first."""
    monkeypatch.setattr(worker, "LOOK_SECONDS", -1.0)


@pytest.mark.usefixtures("looks_often")
def test_a_short_job_interrupts_a_long_one_that_continues_afterwards(store: Store, job: Job) -> None:
    other = store.projects.create("other").id
    data = Dataset(
        (Segment("d", "1", "s"), Segment("d", "2", "s")), (Output("A", "d", "1", "x"), Output("A", "d", "2", "y"))
    )
    store.projects.add(other, data)
    order, short = list[str](), list[Job]()

    def of(item: Item) -> Value:
        order.append(item.hypothesis)
        if not short:
            short.append(store.jobs.enqueue(other, ["slow"], [SegmentKey("d", "2")]))
        return Value(1.0)

    work(store, lambda name: counting_metric(name, of))
    assert [store.jobs.get(j.id).state for j in (*short, job)] == ["done", "done"]
    assert order.index("y") < len(order) - 8
    assert "x" not in order
    assert len(store.scores.column(job.project_id, "slow|v:1")) == N


def test_a_cancelled_job_stops_between_two_items(store: Store, job: Job) -> None:
    begun, pause = list[str](), Event()

    def of(item: Item) -> Value:
        begun.append(item.hypothesis)
        if len(begun) == 2:
            store.jobs.cancel(job.id)
        pause.wait(0.05 if len(begun) >= 2 else 0.0)  # for the next look at the lease
        return Value(1.0)

    work(store, lambda name: counting_metric(name, of), pace=WorkerIntervals(beat=0.01, look=0.01))
    assert store.jobs.get(job.id).state == "cancelled"
    assert len(begun) < N // 2


@pytest.mark.usefixtures("looks_often")
def test_an_urgent_job_goes_before_a_larger_one(store: Store, job: Job) -> None:
    order, other = list[str](), store.projects.create("other").id
    store.projects.add(other, Dataset((Segment("d", "1", "s"),), (Output("A", "d", "1", "urgent"),)))
    urgent: list[Job] = []

    def of(item: Item) -> Value:
        order.append(item.hypothesis)
        if not urgent:
            urgent.append(store.jobs.enqueue(other, ["slow"]))
            store.jobs.prioritize(urgent[0].id, 1)
        return Value(1.0)

    work(store, lambda name: counting_metric(name, of))
    assert store.jobs.get(job.id).state == store.jobs.get(urgent[0].id).state == "done"
    assert 0 < order.index("urgent") < N - 8
    assert len(set(order)) == N + 1


def test_the_queue_is_changed_on_the_command_line(
    store: Store, url: str, job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        assert status_of("jobs", "--database", url, *arguments) == 0
        return capsys.readouterr().out

    assert run("priority", str(job.id), "7") == f"job {job.id}: priority 7\n"
    assert store.jobs.get(job.id).priority == 7
    assert "p, queued, priority 7" in run("list")
    assert run("cancel", str(job.id)) == f"job {job.id}: cancelled\n"
    assert run("list") == "no unfinished jobs\n"


@pytest.mark.parametrize("own", [False, True], ids=["of another project", "of its project"])
def test_a_small_job_has_its_turn_before_a_large_one_is_almost_done(store: Store, large_job: Job, own: bool) -> None:
    store.timings.add("quick", "", Timing(100, 1200, 0.01, 0.001))  # so it has one chunk
    other = project_with(store, Dataset((Segment("d", "1", "s"),), (Output("A", "d", "1", "x"),)), "other")
    jobs, order = [large_job], list[str]()

    def named(name: str) -> Metric:
        def of(item: Item) -> Value:
            order.append(name)
            if len(order) == 1:
                jobs.append(store.jobs.enqueue(large_job.project_id if own else other, ["quick"]))
            time.sleep(0.002)  # the next chunk is leased meanwhile
            return Value(1.0)

        return counting_metric(name, of)

    work(store, named)
    assert [store.jobs.get(job.id).state for job in jobs] == ["done", "done"]
    assert (order.count("slow"), order.count("quick")) == (200, 200 if own else 1)
    assert order.index("quick") < 50


def test_a_worker_looks_for_the_scripts_of_a_project_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project, passes, stream = store.projects.create("p").id, list[int](), store.chunks.stream
    store.projects.add(project, small_dataset(3))
    jobs, stop = [store.jobs.enqueue(project, ["bleu"], [SegmentKey("doc", "0")])], Event()

    def passed(given: int) -> Iterator[list[tuple[int, SegmentKey, Item]]]:
        passes.append(given)
        return stream(given)

    def next_job(*given: Any, **more: Any) -> None:
        put(*given, **more)
        if len(jobs) == 2:
            chinese = Dataset((Segment("zh", "1", None, ("参考",)),), (Output("A", "zh", "1", "翻译"),))
            store.projects.add(project, chinese)
        if len(jobs) < 4:
            key = SegmentKey("zh", "1") if len(jobs) == 3 else SegmentKey("doc", str(len(jobs)))
            jobs.append(store.jobs.enqueue(project, ["bleu"], [key]))

    put = store.scores.put
    monkeypatch.setattr(store.chunks, "stream", passed)
    monkeypatch.setattr(store.scores, "put", next_job)
    work(store, load_metric, stop)
    assert [store.jobs.get(job.id).state for job in jobs] == ["done"] * 4
    assert passes == [project, project]  # once more after the import
    signatures = [by.signature for by in store.scores.signatures(project)]
    assert len(signatures) == 2  # without and with Chinese
