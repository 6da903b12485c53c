"""Scoring jobs, as pages see them. Workers compute their chunks (`core.ports.chunks`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from core.data import SegmentKey
from core.ports.rules import cancel_job, change_project, prioritize_job, read_job, read_job_progress, visible_jobs

JobState = Literal["queued", "running", "done", "failed", "cancelled"]
SHORT = 100
"""A short job has at most this many segments."""


def is_short(segments: Collection[object], *, timing: bool) -> bool:
    """Return whether jobs for more segments (none means all) let this one go first."""
    return timing or 0 < len(segments) <= SHORT


class Job(NamedTuple):
    """A job for all outputs, or only those of `segments`. With `timing` it only measures how long the metrics take.

    `done` and `total` count distinct outputs over all metrics, known ones included; with `timing` they count metrics. `message` says
    what is computed now, or how the job ended. `workers` compute it now; `heartbeat` is the newest of theirs. Jobs of a higher
    `priority` go first.
    """

    id: int
    project_id: int
    metrics: tuple[str, ...]
    state: JobState
    done: int
    total: int
    message: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    workers: int
    heartbeat: datetime | None
    segments: tuple[SegmentKey, ...] = ()
    timing: bool = False
    priority: int = 0

    @property
    def short(self) -> bool:
        """Return whether larger jobs let this one go first (`is_short`)."""
        return is_short(self.segments, timing=self.timing)


class MetricProgress(NamedTuple):
    """What a job has done of one metric, in distinct outputs, and the estimated seconds until the rest is done, if they are known.

    `computing` says whether a worker computes the metric now.
    """

    metric: str
    label: str
    done: int
    total: int
    seconds_left: float | None
    computing: bool


class Jobs(Protocol):
    @change_project("scoring started", "metrics")
    def enqueue(
        self, project_id: int, metrics: Sequence[str], segments: Sequence[SegmentKey] = (), *, timing: bool = False
    ) -> Job:
        """Add a job to the queue, or return the unfinished job with the same metrics for the same outputs."""
        ...

    @read_job
    def get(self, job_id: int) -> Job: ...

    @visible_jobs
    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]: ...  # newest first

    @visible_jobs
    def unfinished(self, project_id: int | None = None) -> list[Job]: ...  # oldest first

    @read_job_progress
    def progress(self, job_id: int) -> list[MetricProgress]: ...  # of an unfinished job that is planned; else empty

    @cancel_job
    def cancel(self, job_id: int) -> None: ...  # its workers stop within a second; a finished job does not change

    @prioritize_job
    def prioritize(self, job_id: int, priority: int) -> None: ...  # UserError if the job is finished
