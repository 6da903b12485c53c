"""The order in which jobs get workers, the size of chunks, and what a job reports of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import NamedTuple

import numpy as np

from core.metrics.base import is_judge
from core.ports.jobs import JobState, MetricProgress, Numbers
from core.scoring.timing import spread
from core.scoring.values import ScoringProgress

CHUNK = 2000
"""Outputs in a chunk at most."""
CHUNK_SECONDS = 30.0
SMALL_JOB_CHUNKS = 4
"""A job with at most this many chunks, including the one that plans it, goes before larger jobs of its project.

The other three chunks are at most about 90 s of work.
"""
UNTIMED = 100
"""Outputs in a chunk of a metric whose speed is not known."""
_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class JobInQueue(NamedTuple):
    """An unfinished job.

    `short` jobs have few segments or only measure times (`core.ports.jobs.is_short`). Jobs of a higher `priority` go
    first. `workers` is the number of workers that compute it now, `served` the time when one of its chunks was last
    leased. `few_chunks`: it has at most `SMALL_JOB_CHUNKS` chunks.
    """

    id: int
    project_id: int
    short: bool
    priority: int
    workers: int
    served: datetime | None
    few_chunks: bool = False


def judge_of(metric: str) -> str:
    """Return the name of the judge that a metric expression asks, or "". One chunk at a time asks a judge, whichever worker has it."""
    name, *options = metric.split("|")
    if not is_judge(name):
        return ""
    return next((option.removeprefix("judge:") for option in options if option.startswith("judge:")), "default")


def queue_order(jobs: Collection[JobInQueue]) -> list[JobInQueue]:
    """Return all unfinished jobs in the order in which they get the next worker.

    Higher priorities go first, then short jobs, then projects with fewer workers, then those that were served longest
    ago. Within a project, jobs with few chunks go first, then all others in the order of their ids.
    """
    workers, served = Counter[int](), dict[int, datetime]()
    for job in jobs:
        workers[job.project_id] += job.workers
        served[job.project_id] = max(job.served or _NEVER, served.get(job.project_id, _NEVER))

    def place(j: JobInQueue) -> tuple[object, ...]:
        of_project = workers[j.project_id], served[j.project_id], j.project_id
        return -j.priority, not j.short, *of_project, not j.few_chunks, j.id

    return sorted(jobs, key=place)


def interrupts(new: JobInQueue, short: bool, priority: int) -> bool:
    """Return whether a chunk of a job with these properties is interrupted for a job that waits."""
    return new.priority > priority or (new.priority == priority and new.short and not short)


def split_into_chunks(sizes: Numbers, segments: Numbers, speed: float | None) -> list[Numbers]:
    """Return the positions of outputs by chunk. Outputs of a chunk have similar sizes, and take about `CHUNK_SECONDS` at most.

    Outputs of a segment stay together, because metrics prepare its reference once for all of them.
    Each beginning of the list covers all sizes evenly, so that the time that is left can be estimated from what is done.
    """
    n = len(sizes)
    if not n:
        return []
    _, of = np.unique(segments, return_inverse=True)
    mean = np.bincount(of, weights=sizes) / np.bincount(of)
    order = np.lexsort((sizes, of, mean[of]))
    total = np.cumsum(sizes[order])
    most = CHUNK if speed is not None else UNTIMED
    most = ceil(n / ceil(n / most))
    limit = CHUNK_SECONDS / speed if speed else float("inf")
    ends, end = list[int](), 0
    while end < n:
        before = total[end - 1] if end else 0
        end = min(end + most, max(end + 1, int(np.searchsorted(total, before + limit, side="right"))))
        end = min(end, n)
        ends.append(end)
    return spread([order[start:end] for start, end in zip([0, *ends], ends, strict=False)])


class MetricOutcome(NamedTuple):
    """What became of one metric of a job; `unusable` is the reason why it could not run, or ""."""

    metric: str
    new: int
    known: int
    failed: int
    reason: str
    unusable: str


def outcome(metrics: Iterable[MetricOutcome]) -> tuple[JobState, str]:
    """Return how a job ended: it failed if a metric could not run or scored nothing. The message says what has no score."""
    unusable, complaints, nothing = list[str](), list[str](), False
    for m in metrics:
        scored = m.new + m.known
        if m.unusable:
            unusable.append(f"{m.metric}: {m.unusable}")
        elif m.failed:
            complaints.append(f"{m.metric}: {m.failed} of {m.failed + scored} not scored: {m.reason}")
            nothing = nothing or not scored
    return ("failed" if unusable or nothing else "done"), "; ".join([*unusable, *complaints])


class OpenMetric(NamedTuple):
    """Sums over the chunks of one metric of an unfinished job.

    `size` and `seconds` are those of the chunks whose speed was measured, `size_left` is the size of all outputs without scores.
    """

    metric: str
    label: str
    done: int
    total: int
    speed: float | None
    size: int
    seconds: float
    size_left: float
    workers: int


def progress_of(metrics: Sequence[OpenMetric], workers: int) -> list[MetricProgress]:
    """Return the progress of each metric. `workers` share what is left of the job."""
    of_metrics = []
    for m in metrics:
        speed = m.seconds / m.size if m.size and m.seconds else m.speed
        left = 0.0 if not m.size_left else None if speed is None else speed * m.size_left / max(1, workers)
        of_metrics.append(MetricProgress(m.metric, m.label, min(m.done, m.total), m.total, left, m.workers > 0))
    return of_metrics


def sentence(progress: Sequence[MetricProgress], *, waiting: bool = False) -> str:
    """Return for example "BARTScore · 12 of 160 distinct outputs · about 2 min left"; "" before the job is planned.

    `waiting` says that all workers compute other jobs.
    """
    if not progress:
        return ""
    unfinished = [m for m in progress if m.done < m.total]
    now = next((m for m in progress if m.computing), (unfinished or progress)[0])
    known = [m.seconds_left for m in progress if m.seconds_left is not None]
    whole = len(known) == len(progress)
    left = None if now.seconds_left is None else sum(known) if whole else now.seconds_left
    done, total = sum(m.done for m in progress), sum(m.total for m in progress)
    return ScoringProgress(done, total, now.label, now.done, now.total, left, whole, waiting).sentence()
