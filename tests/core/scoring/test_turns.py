"""Which job gets a worker, how outputs are cut into chunks, and how a job reports them."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from core.scoring.turns import (
    CHUNK,
    CHUNK_SECONDS,
    UNTIMED,
    JobInQueue,
    MetricOutcome,
    OpenMetric,
    interrupts,
    outcome,
    progress_of,
    queue_order,
    sentence,
    split_into_chunks,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def job(number: int, project: int = 1, workers: int = 0, served: int | None = None, **more: object) -> JobInQueue:
    when = None if served is None else START + timedelta(seconds=served)
    fields: dict[str, object] = {"short": False, "priority": 0, **more}
    few = bool(fields.get("few_chunks", False))
    return JobInQueue(number, project, bool(fields["short"]), int(str(fields["priority"])), workers, when, few)


def test_priority_then_short_then_few_workers_then_long_waiting() -> None:
    jobs = [
        job(1, project=1, workers=1, served=1), job(2, project=2, workers=0, served=9), job(3, project=3, served=5),
        job(4, project=1, short=True), job(5, project=2, priority=-1, short=True), job(6, project=1, priority=1, workers=3),
    ]  # fmt: skip
    assert [j.id for j in queue_order(jobs)] == [6, 4, 3, 2, 1, 5]
    assert queue_order([]) == []


def test_few_chunks_go_before_larger_jobs_of_their_project_only() -> None:
    jobs = [
        job(1, project=1),
        job(2, project=2, served=1),
        job(3, project=1, few_chunks=True),
        job(4, project=2, few_chunks=True),
    ]
    assert [j.id for j in queue_order(jobs)] == [3, 1, 4, 2]


@pytest.mark.parametrize("seed", range(5))
def test_projects_share_workers_evenly_whatever_their_jobs(seed: int) -> None:
    draw = random.Random(seed)
    projects = {number: draw.randrange(4) for number in range(10)}
    served, running, turns = dict[int, int](), list[int](), Counter[int]()
    for second in range(400):
        jobs = [job(n, of, running.count(n), served.get(n)) for n, of in projects.items()]
        first = queue_order(jobs)[0]
        served[first.id] = second
        running.append(first.id)
        turns.update(projects[number] for number in running)
        if len(running) > 3:  # three workers, which end in any order
            running.pop(draw.randrange(len(running)))
    assert max(turns.values()) - min(turns.values()) <= 0.15 * max(turns.values())


def test_a_new_project_gets_the_next_worker() -> None:
    old = [job(n, project=1, workers=2, served=n) for n in range(5)]
    assert queue_order([*old, job(9, project=2)])[0].id == 9


def test_only_short_and_urgent_jobs_interrupt() -> None:
    assert interrupts(job(1, short=True), short=False, priority=0)
    assert interrupts(job(1, priority=1), short=True, priority=0)
    assert not interrupts(job(1), short=False, priority=0)
    assert not interrupts(job(1, short=True), short=True, priority=0)
    assert not interrupts(job(1, short=True), short=False, priority=1)


@pytest.mark.parametrize("n", [1, 2, 99, 100, 101, 2000, 2001, 12345])
@pytest.mark.parametrize("speed", [None, 1e-6, 2e-3, 0.1])
def test_every_output_is_in_one_chunk_of_bounded_time(n: int, speed: float | None) -> None:
    sizes = np.random.default_rng(n).integers(1, 400, n)
    chunks = split_into_chunks(sizes, np.arange(n), speed)
    assert sorted(i for at in chunks for i in at.tolist()) == list(range(n))
    assert max(map(len, chunks)) <= (CHUNK if speed else UNTIMED)
    for at in chunks:
        assert len(at) == 1 or speed is None or sizes[at].sum() * speed <= CHUNK_SECONDS + 1e-6
    ranges = sorted((int(sizes[at].min()), int(sizes[at].max())) for at in chunks)
    assert all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:], strict=False))  # similar lengths together
    none = np.array([], dtype=np.int64)
    assert split_into_chunks(none, none, speed) == []


def test_the_first_chunks_cover_all_lengths() -> None:
    sizes = np.arange(1, 100_001)
    first = [float(sizes[at].mean()) for at in split_into_chunks(sizes, sizes, 1e-9)[:3]]
    assert np.mean(first) == pytest.approx(50_000, rel=0.05)


def test_outputs_of_a_segment_stay_together() -> None:
    draw = np.random.default_rng(0)
    segments = np.repeat(np.arange(500), 20)
    draw.shuffle(segments)
    sizes = 10 * (segments % 37) + draw.integers(1, 300, len(segments))
    chunks = split_into_chunks(sizes, segments, 1e-9)
    pieces = sum(len(set(segments[at].tolist())) for at in chunks)
    assert pieces <= 500 + len(chunks)
    for at in chunks:  # and follow each other
        changes = int((np.diff(segments[at]) != 0).sum()) + 1
        assert changes == len(set(segments[at].tolist()))


def test_an_outcome_names_what_has_no_score() -> None:
    fine = MetricOutcome("chrf", 3, 2, 0, "", "")
    assert outcome([fine]) == ("done", "")
    assert outcome([fine, MetricOutcome("bleu", 1, 1, 1, "why", "")]) == ("done", "bleu: 1 of 3 not scored: why")
    assert outcome([MetricOutcome("bleu", 0, 0, 2, "why", "")]) == ("failed", "bleu: 2 of 2 not scored: why")
    missing = MetricOutcome("bart", 0, 0, 0, "", "no weights")
    assert outcome([fine, missing]) == ("failed", "bart: no weights")


def test_what_is_left_is_shared_by_all_workers() -> None:
    chrf = OpenMetric("chrf", "chrF", 10, 20, 0.5, 100, 10.0, 100.0, 1)
    bart = OpenMetric("bart", "BART", 0, 20, 2.0, 0, 0.0, 200.0, 1)
    one, two = progress_of([chrf, bart], 2)
    assert (one.seconds_left, two.seconds_left) == (5.0, 200.0)  # measured 0.1 s per unit; estimated 2 s
    assert sentence([one, two]) == "chrF · 10 of 20 distinct outputs · about 3 min left"
    unknown = progress_of([chrf, bart._replace(speed=None)], 2)
    assert unknown[1].seconds_left is None
    assert sentence(unknown) == "chrF · 10 of 20 distinct outputs · about 5 s left for this metric"
    assert sentence([]) == ""
    assert sentence([one, two], waiting=True).endswith("distinct outputs · waiting for another job, then about 3 min")
    assert sentence(unknown[1:], waiting=True).endswith("0 of 20 distinct outputs · waiting for another job")
    [over] = progress_of([chrf._replace(done=25)], 1)
    assert over.done == 20
