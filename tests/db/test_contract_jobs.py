"""Jobs and their chunks."""

from __future__ import annotations

import numpy as np
import pytest

from core.data import Dataset, Item, Output, Segment, SegmentKey, Value
from core.errors import UserError
from core.ports.jobs import Chunk, ChunkResult, PlannedChunk, PlannedMetric
from core.ports.store import Store
from core.signature import content_key
from tests.builders import small_dataset
from tests.stores import project_with

CHRF = PlannedMetric("chrf", "chrF", "chrf|v:1", speed=0.5, length=10.0)


def leased(store: Store, worker: str, seconds: float = 30.0) -> Chunk:
    chunk = store.chunks.lease(worker, seconds)
    assert chunk is not None
    return chunk


def planned(store: Store, worker: str = "planner", chunks: int = 2, metric: PlannedMetric = CHRF) -> Chunk:
    """Plan the next job with chunks of equal sizes; return the chunk that planned."""
    planner = leased(store, worker)
    assert planner.metric is None
    window = store.chunks.window(planner)
    cuts = [PlannedChunk(metric.name, ids, 10 * len(ids)) for ids in np.array_split(window.ids, chunks)]
    store.chunks.plan(planner, worker, window, [metric], cuts, {metric.name: 0})
    return planner


def result(n: int, failed: int = 0, reason: str = "") -> ChunkResult:
    return ChunkResult(n - failed, 0, failed, reason, 2.0)


def test_a_job_goes_through_its_chunks(store: Store, project: int) -> None:
    queued = store.jobs.enqueue(project, ["chrf"])
    assert (queued.state, queued.workers, queued.heartbeat) == ("queued", 0, None)
    planned(store)
    assert store.chunks.metrics(queued.id) == [CHRF]
    one, two = leased(store, "w1"), leased(store, "w2")
    assert (one.metric, len(one.outputs), one.job_id, one.project_id) == (CHRF, 3, queued.id, project)
    assert set(one.outputs) & set(two.outputs) == set()
    assert store.chunks.lease("w3") is None
    assert not store.chunks.is_finished()
    assert store.chunks.beat(one.id, "w1", 2)
    running = store.jobs.get(queued.id)
    assert (running.state, running.workers, running.done, running.total) == ("running", 2, 2, 6)
    assert running.message == "chrF · 2 of 6 distinct outputs · about 10 s left"  # 40 units at 0.5 s by two workers
    store.chunks.finish(one, "w1", result(3))
    store.chunks.finish(one, "w1", result(3))  # a second time changes nothing
    [progress] = store.jobs.progress(queued.id)
    # 2 s for 30 units by the only worker that is left
    assert (progress.done, progress.total, progress.seconds_left) == (3, 6, pytest.approx(2.0))
    store.chunks.finish(two, "w2", result(3, 1, "why"))
    done = store.jobs.get(queued.id)
    assert (done.state, done.done, done.total) == ("done", 6, 6)
    assert done.message == "chrf: 1 of 6 not scored: why"
    assert (done.started is not None, done.finished is not None, done.workers) == (True, True, 0)
    assert store.chunks.is_finished()
    assert store.jobs.progress(queued.id) == []


def test_the_time_left_follows_the_speed_within_a_chunk(store: Store, project: int) -> None:
    """On a busy machine the first chunk takes longer than planned; a chunk without a measured speed says nothing of it."""
    queued = store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=3)
    cold = leased(store, "w1")
    store.chunks.finish(cold, "w1", result(2)._replace(seconds=0.0))
    [progress] = store.jobs.progress(queued.id)
    assert progress.seconds_left == pytest.approx(20.0)  # 40 units at the planned 0.5 s
    slow = leased(store, "w1")
    assert store.chunks.beat(slow.id, "w1", 1, seconds=60.0)
    [progress] = store.jobs.progress(queued.id)
    assert progress.seconds_left == pytest.approx(90.0)  # 30 units at 60 s for 20
    other = store.jobs.enqueue(project, ["chrf"], [SegmentKey("doc", "0")])
    planned(store, "w2", chunks=1)
    assert (
        store.jobs.get(other.id).message == "chrF · 0 of 2 distinct outputs · waiting for another job, then about 10 s"
    )
    assert "waiting" not in store.jobs.get(queued.id).message


def test_a_job_without_scores_ends_as_its_metric_says(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"]).id
    planned(store, chunks=1)
    store.chunks.finish(leased(store, "w"), "w", result(6, 6, "no weights"))
    assert store.jobs.get(job)[3:7] == ("failed", 6, 6, "chrf: 6 of 6 not scored: no weights")
    for metric, known, ended in (
        (CHRF, {"chrf": 6}, ("done", 6, 6, "")),
        (
            PlannedMetric("bart", "bart", "", "its model is not here"),
            {},
            ("failed", 0, 0, "bart: its model is not here"),
        ),
    ):
        job = store.jobs.enqueue(project, [metric.name]).id
        planner = leased(store, "w")
        store.chunks.plan(planner, "w", store.chunks.window(planner), [metric], [], known)
        assert store.jobs.get(job)[3:7] == ended


def test_the_window_has_each_text_once_with_its_lengths(store: Store, project: int) -> None:
    more = Dataset((Segment("d", "1", None), Segment("doc", "0", "source 0")), (Output("C", "d", "1", "x"),))
    store.projects.add(project, more)
    store.projects.add(project, Dataset((), (Output("C", "doc", "0", "A output 0"),)))  # as system A
    store.jobs.enqueue(project, ["chrf"])
    window = store.chunks.window(leased(store, "w"))
    expected = {content_key(*item): item for _, item in store.projects.dataset(project).items()}
    assert sorted(window.keys) == sorted(expected)
    assert (window.total, window.after) == (7, None)
    for number, key, *lengths in zip(window.ids.tolist(), window.keys, *map(list, window[3:7]), strict=True):
        item = expected[key]
        assert store.chunks.items([number]) == {number: item}
        source = -1 if item.source is None else len(item.source)
        assert lengths == [len(item.hypothesis), source, sum(map(len, item.references)), len(item.references)]
    together = [
        set(window.segments[[window.keys.index(content_key(*i)) for i in of]]) for of in _by_segment(store, project)
    ]
    assert all(len(segment) == 1 for segment in together)


def _by_segment(store: Store, project: int) -> list[list[Item]]:
    items = store.projects.dataset(project).items()
    return [[item for k, item in items if k.segment == s.key] for s in store.projects.dataset(project).segments]


def test_a_job_for_some_segments_reads_only_those(store: Store, project: int) -> None:
    keys = [SegmentKey("doc", "0"), SegmentKey("doc", "2"), SegmentKey("doc", "none")]
    store.jobs.enqueue(project, ["chrf"], keys)
    window = store.chunks.window(leased(store, "w"))
    texts = {item.hypothesis for item in store.chunks.items(window.ids.tolist()).values()}
    assert texts == {"A output 0", "B output 0", "A output 2", "B output 2"}
    assert window.total == 4


def test_all_texts_come_in_parts(store: Store, project: int) -> None:
    store.projects.add(project, small_dataset(600))
    parts = list(store.chunks.stream(project))
    assert len(parts) > 1
    streamed = [(segment, item) for part in parts for _, segment, item in part]
    assert sorted(streamed) == sorted((key.segment, item) for key, item in store.projects.dataset(project).items())
    number, _, item = parts[0][0]
    assert store.chunks.items([number, -5]) == {number: item}


def test_short_jobs_go_first(store: Store, project: int) -> None:
    key = SegmentKey("doc", "1")
    long = store.jobs.enqueue(project, ["chrf"])
    first = leased(store, "w")
    assert not store.chunks.overtaken(first)
    some = store.jobs.enqueue(project, ["chrf"], [key])
    timed = store.jobs.enqueue(project, ["chrf"], timing=True)
    assert store.jobs.enqueue(project, ["chrf"], [key]) == some
    assert store.chunks.overtaken(first)
    assert [(j.segments, j.timing, j.short) for j in map(store.jobs.get, (long.id, some.id, timed.id))] == [
        ((), False, False), ((key,), False, True), ((), True, True),
    ]  # fmt: skip
    store.chunks.release(first, "w")
    assert [leased(store, "w").job_id for _ in range(3)] == [some.id, timed.id, long.id]


def test_a_higher_priority_goes_first(store: Store, project: int) -> None:
    first = store.jobs.enqueue(project, ["chrf"])
    second = store.jobs.enqueue(project, ["bleu"])
    store.jobs.prioritize(second.id, 5)
    assert store.jobs.get(second.id).priority == 5
    chunk = leased(store, "w")
    assert (chunk.job_id, chunk.priority) == (second.id, 5)
    other = leased(store, "w")
    assert other.job_id == first.id
    store.chunks.release(chunk, "w")
    assert store.chunks.overtaken(other)
    assert not store.chunks.overtaken(chunk)
    store.jobs.cancel(first.id)
    with pytest.raises(UserError):
        store.jobs.prioritize(first.id, 1)


def test_projects_take_turns(store: Store, project: int) -> None:
    other = project_with(store, small_dataset(4), "other")
    jobs = [store.jobs.enqueue(of, ["chrf"]).id for of in (project, project, other)]
    jobs.append(store.jobs.enqueue(project, ["bleu"]).id)
    for _ in range(3):
        planned(store, chunks=4)
    turns = []
    for _ in range(6):
        chunk = leased(store, "w")
        turns.append(chunk.project_id)
        store.chunks.finish(chunk, "w", result(1))
    assert jobs[0] == jobs[1]
    assert abs(turns.count(project) - turns.count(other)) <= 1


def test_a_worker_leases_ahead_only_of_many_chunks(store: Store, project: int) -> None:
    store.projects.add(project, small_dataset(20))
    store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=10)
    assert store.chunks.lease("w", ahead=True) is not None
    assert store.chunks.lease("w", ahead=True) is not None
    assert store.chunks.lease("w", ahead=True) is None
    assert store.chunks.lease("w") is not None


def test_a_cancelled_job_is_lost_at_once(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    planned(store)
    chunk = leased(store, "w1")
    assert store.chunks.holds(chunk.id, "w1")
    assert store.chunks.beat(chunk.id, "w1", 1)
    store.jobs.cancel(job.id)
    assert not store.chunks.holds(chunk.id, "w1")
    assert not store.chunks.beat(chunk.id, "w1", 2)
    store.chunks.finish(chunk, "w1", result(3))
    store.chunks.fail(chunk, "w1", "why")
    cancelled = store.jobs.get(job.id)
    assert (cancelled.state, cancelled.done, cancelled.total, cancelled.message) == ("cancelled", 1, 6, "")
    assert store.chunks.lease("w1") is None
    store.jobs.cancel(job.id)


def test_a_chunk_whose_worker_went_silent_goes_to_another(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=1)
    first = leased(store, "w1")
    assert store.chunks.lease("w2") is None
    assert leased(store, "w2", 0.0).id == first.id  # a lease of 0 s has run out
    assert not store.chunks.beat(first.id, "w1", 5)
    store.chunks.finish(first, "w1", result(6))
    store.chunks.release(first, "w1")
    assert store.jobs.get(job.id).state == "running"
    store.chunks.finish(first, "w2", result(6))
    assert store.jobs.get(job.id).state == "done"


def test_a_chunk_that_kills_its_workers_fails_the_job(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=1)
    for attempt in range(5):
        chunk = leased(store, f"w{attempt}", 0.0)
        # the first attempt got further and does not count, so a fifth is granted
        assert store.chunks.beat(chunk.id, f"w{attempt}", 5)
    assert store.chunks.lease("never", 0.0) is None
    failed = store.jobs.get(job.id)
    assert (failed.state, "worker died 4 times" in failed.message) == ("failed", True)


def test_an_error_is_tried_again_a_few_times(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=1)
    for _ in range(10):
        store.chunks.release(leased(store, "w"), "w")  # given back, which is no error
    for attempt in range(4):
        assert store.jobs.get(job.id).state == "queued", attempt
        store.chunks.release(leased(store, "w"), "w", "the disk is full")
    assert store.jobs.get(job.id)[3:7] == ("failed", 0, 6, "the disk is full")


def test_the_chunks_of_a_worker_that_is_gone_return_to_the_queue(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    assert store.chunks.unfinished() == 1  # the planner
    planned(store, chunks=3)
    assert store.chunks.unfinished() == 3
    one, two, other = leased(store, "gone"), leased(store, "gone"), leased(store, "w")
    store.chunks.release_all("gone", "a node is lost")
    assert not store.chunks.holds(one.id, "gone")
    assert store.chunks.holds(other.id, "w")
    assert {leased(store, "w").id, leased(store, "w").id} == {one.id, two.id}
    store.chunks.finish(other, "w", result(2))
    assert store.chunks.unfinished() == 2
    store.chunks.release_all("nobody", "")
    assert store.jobs.get(job.id).workers == 1


def test_later_chunks_know_that_a_metric_is_abandoned_and_which_is_the_last(store: Store, project: int) -> None:
    store.jobs.enqueue(project, ["chrf"])
    planned(store)
    one = leased(store, "w1")
    store.chunks.abandon(one, "other", "not mine")
    assert one.abandoned == ""
    store.chunks.abandon(one, "w1", "no weights")
    two = leased(store, "w2")
    assert (two.abandoned, store.chunks.is_last(two)) == ("no weights", False)
    store.chunks.finish(one, "w1", result(3))
    assert store.chunks.is_last(two)


def test_an_import_during_a_job_is_planned_again(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=1)
    chunk = leased(store, "w")
    assert not store.chunks.is_outdated(chunk)
    store.projects.add(project, small_dataset(4))
    assert store.chunks.is_outdated(chunk)
    store.chunks.finish(chunk, "w", result(6))
    again = leased(store, "w")
    assert (again.metric, store.chunks.window(again).total) == (None, 8)
    store.chunks.plan(again, "w", store.chunks.window(again), [CHRF], [], {"chrf": 8})
    assert store.jobs.get(job.id).state == "done"


def test_a_job_can_be_planned_again_at_once(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    planned(store)
    one, two = leased(store, "w1"), leased(store, "w2")
    store.chunks.plan_again(one, "w2")  # not its chunk
    assert store.chunks.holds(two.id, "w2")
    store.chunks.plan_again(one, "w1")
    assert not store.chunks.holds(two.id, "w2")
    assert leased(store, "w3").metric is None
    assert store.jobs.get(job.id).state == "running"


def test_a_timing_job_reports_its_planner(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf", "bleu"], timing=True)
    planner = leased(store, "w")
    assert store.chunks.beat(planner.id, "w", 1, 2, "Timing BLEU")
    assert store.jobs.get(job.id)[3:7] == ("running", 1, 2, "Timing BLEU")
    store.projects.add(project, small_dataset(4))
    window = store.chunks.window(planner)._replace(total=1)
    store.chunks.plan(planner, "w", window, [CHRF, CHRF._replace(name="bleu")], [], {})
    assert store.jobs.get(job.id)[3:7] == ("done", 2, 2, "")


def test_a_failed_chunk_ends_its_job(store: Store, project: int) -> None:
    job = store.jobs.enqueue(project, ["chrf"])
    planned(store)
    one, two = leased(store, "w1"), leased(store, "w2")
    store.chunks.fail(one, "w1", "it broke")
    assert (store.jobs.get(job.id).state, store.jobs.get(job.id).message) == ("failed", "it broke")
    assert not store.chunks.holds(two.id, "w2")
    with pytest.raises(UserError):
        store.jobs.get(job.id + 1000)


def test_a_value_is_claimed_by_one_worker_of_two_jobs(store: Store, project: int) -> None:
    store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=1)
    one = leased(store, "w1")
    assert store.chunks.claim(one, "w1", "s", ["a", "b"]) == {"a", "b"}  # alone, so nothing is recorded
    other = project_with(store, small_dataset(4), "other")
    store.jobs.enqueue(other, ["chrf"])
    planned(store, chunks=1)
    two = leased(store, "w2")
    assert store.chunks.claim(one, "w1", "s", ["a", "b"]) == {"a", "b"}
    assert store.chunks.claim(two, "w2", "s", ["b", "c"]) == {"c"}
    assert store.chunks.claim(two, "w2", "another signature", ["b"]) == {"b"}
    assert store.chunks.claim(one, "w1", "s", ["a", "c"]) == {"a"}
    store.scores.put("m", "s", {"a": Value(1.0)}, 0.1)
    assert store.chunks.claim(two, "w2", "s", ["a"]) == {"a"}
    assert store.chunks.claim(one, "w2", "s", ["d"]) == set()  # not its chunk
    store.chunks.release(one, "w1")
    assert store.chunks.claim(two, "w2", "s", ["b"]) == {"b"}


def test_a_job_is_found_until_it_ends_however_many_are_newer(store: Store, project: int) -> None:
    other = project_with(store, name="other")
    old, elsewhere = store.jobs.enqueue(project, ["chrf"]), store.jobs.enqueue(other, ["chrf"])
    for i in range(25):
        store.jobs.cancel(store.jobs.enqueue(project, [f"m{i}"]).id)
    new = store.jobs.enqueue(project, ["bleu"])
    assert [job.id for job in store.jobs.unfinished()] == [old.id, elsewhere.id, new.id]
    assert [job.id for job in store.jobs.unfinished(project)] == [old.id, new.id]
    store.jobs.cancel(old.id)
    assert [job.id for job in store.jobs.unfinished(project)] == [new.id]


def test_a_worker_leases_ahead_only_from_the_project_whose_turn_it_is(store: Store, project: int) -> None:
    store.projects.add(project, small_dataset(40))
    store.jobs.enqueue(project, ["chrf"])
    planned(store, chunks=20)
    leased(store, "w1")
    other = project_with(store, name="other")
    assert store.chunks.lease("w1", ahead=True) is not None
    store.jobs.enqueue(other, ["chrf"])
    assert store.chunks.lease("w1", ahead=True) is None
    assert leased(store, "w1").project_id == other
