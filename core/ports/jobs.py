"""Scoring jobs that workers lease."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from core.data import SegmentKey

JobState = Literal["queued", "running", "done", "failed", "cancelled"]


class Job(NamedTuple):
    """A job for all outputs, or only those of `segments`. With `timing` it only measures how long the metrics take."""

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
    worker: str | None
    heartbeat: datetime | None
    segments: tuple[SegmentKey, ...] = ()
    timing: bool = False

    @property
    def short(self) -> bool:
        """Return whether jobs for all outputs let this one go first."""
        return self.timing or bool(self.segments)


class Jobs(Protocol):
    def enqueue(
        self, project_id: int, metrics: Sequence[str], segments: Sequence[SegmentKey] = (), *, timing: bool = False
    ) -> Job:
        """Add a job to the queue, or return the unfinished job with the same metrics for the same outputs."""
        ...

    def get(self, job_id: int) -> Job: ...
    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]: ...  # newest first
    def cancel(self, job_id: int) -> None: ...
    def lease(self, worker: str, seconds: float = 30.0) -> Job | None:
        """Return the oldest job that is queued, or running with a heartbeat older than `seconds`; never to two workers.

        Short jobs go first.
        """
        ...

    def short_waits(self) -> bool:
        """Return whether a short job is queued, for which a worker interrupts a job for all outputs."""
        ...

    def beat(self, job_id: int, worker: str, done: int, total: int, message: str = "") -> bool:
        """Record progress. Return False if the job was cancelled or leased by another worker, so the caller must stop."""
        ...

    def claim(self, job_id: int, worker: str, signature: str, keys: Collection[str], seconds: float = 30.0) -> set[str]:
        """Return the keys whose values this worker may compute now.

        The others are claimed by a worker whose job has a heartbeat not older than `seconds`. A claim ends when `Scores.put`
        stores the value, or when the worker loses its lease.
        """
        ...

    def finish(self, job_id: int, worker: str, state: JobState, message: str = "") -> None:
        """End the worker's lease; "queued" returns the job to the queue. Does nothing if another worker has the job."""
        ...
