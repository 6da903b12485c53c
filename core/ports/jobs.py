"""Scoring jobs as pages see them, and their chunks, which any number of workers lease.

A job starts as one chunk without a metric: its worker plans the job, which adds a chunk for every few outputs and metric. A project with
very many outputs is planned in windows; the chunk that plans the next window comes after the chunks of this one. A chunk is leased by
one worker at a time, and goes to another one if its heartbeat stops. Scores are stored by content, so repeating a chunk does no harm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from core.data import Item, SegmentKey
from core.ports.rules import (
    cancel_job,
    change_project,
    prioritize_job,
    read_job,
    read_job_progress,
    server_only,
    visible_jobs,
)

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


Numbers = npt.NDArray[np.int64]


class PlannedMetric(NamedTuple):
    """A metric of a job. `unusable` is the reason why it cannot run, or "".

    `examples` are ids of outputs whose texts decide the signature (`core.scoring.ready_metrics`); `speed` is in seconds per unit of size
    (`core.scoring.timing.size_of`), None if it is not known; `length` is the mean size of an output.
    """

    name: str
    label: str
    signature: str
    unusable: str = ""
    examples: tuple[int, ...] = ()
    speed: float | None = None
    length: float = 0.0


class PlannedChunk(NamedTuple):
    """Outputs that one metric scores: their ids, and the sum of their sizes."""

    metric: str
    outputs: Numbers
    size: int


class Chunk(NamedTuple):
    """A leased chunk of a job. Without a `metric` it plans the outputs from number `after` on.

    `abandoned` is the reason why no further texts are tried with the metric, or "".
    """

    id: int
    job_id: int
    project_id: int
    short: bool
    priority: int
    metric: PlannedMetric | None = None
    outputs: tuple[int, ...] = ()
    abandoned: str = ""
    after: int = 0


class OutputWindow(NamedTuple):
    """Distinct outputs that a planner looks at, as columns: ids, content keys, ids of segments, and lengths in characters.

    `source` is −1 for outputs without a source; `references` is the length of `n_references` texts together. `total` counts the distinct
    outputs of the whole job, `version` changes with every import into the project. `after` is where the next window begins, None after
    the last one.
    """

    ids: Numbers
    keys: Sequence[str]
    segments: Numbers
    hypothesis: Numbers
    source: Numbers
    references: Numbers
    n_references: Numbers
    total: int
    version: int
    after: int | None


class ChunkResult(NamedTuple):
    """Numbers of newly scored, known and failed outputs of a chunk, the reason of the first failure, and the seconds that it took."""

    new: int
    known: int
    failed: int
    reason: str
    seconds: float


@server_only
class Chunks(Protocol):
    """The queue of workers. `worker` names the calling worker; a call for a chunk that it does not have changes nothing."""

    def lease(self, worker: str, seconds: float = 30.0, *, ahead: bool = False) -> Chunk | None:
        """Return the next chunk (`core.scoring.turns`) that is ready, or whose heartbeat is older than `seconds`; never to two workers.

        `ahead` is for workers that have a chunk already: they get one only if the job whose turn it is has many chunks left.
        """
        ...

    def overtaken(self, chunk: Chunk) -> bool: ...  # whether a chunk is ready for which this one is interrupted
    def is_finished(self) -> bool: ...  # whether no job is unfinished
    def unfinished(self) -> int: ...  # number of chunks that wait or are computed

    def beat(
        self, chunk_id: int, worker: str, done: int, total: int = 0, message: str = "", seconds: float = 0.0
    ) -> bool:
        """Record the progress within a chunk. Return False if its job was cancelled or another worker has it: the caller must stop.

        `seconds` is what the whole chunk takes at the speed measured so far, 0 if none is measured yet.
        """
        ...

    def holds(self, chunk_id: int, worker: str) -> bool: ...  # what `beat` returns, without writing
    def window(self, chunk: Chunk) -> OutputWindow: ...  # for a chunk that plans
    def items(self, outputs: Sequence[int]) -> dict[int, Item]: ...  # texts of outputs by id; deleted ones are left out
    def stream(self, project_id: int) -> Iterator[list[tuple[int, SegmentKey, Item]]]: ...  # all outputs, in parts

    def plan(
        self,
        chunk: Chunk,
        worker: str,
        window: OutputWindow,
        metrics: Sequence[PlannedMetric],
        chunks: Sequence[PlannedChunk],
        known: Mapping[str, int],
    ) -> None:
        """Finish a chunk that plans: store the metrics of the job, if it is the first one, and the chunks of the window.

        `known` counts the outputs of the window that have a score already, by metric.
        """
        ...

    def metrics(self, job_id: int) -> list[PlannedMetric]: ...  # of a job whose first window is planned
    def abandon(
        self, chunk: Chunk, worker: str, reason: str
    ) -> None: ...  # try no further texts with the chunk's metric

    def finish(self, chunk: Chunk, worker: str, result: ChunkResult) -> None:
        """End a chunk, and its job with the last one. A job whose project has changed meanwhile is planned again instead."""
        ...

    def is_last(self, chunk: Chunk) -> bool: ...  # whether its metric has no other chunk that waits or is computed
    def is_outdated(self, chunk: Chunk) -> bool: ...  # whether the project has changed since its job was planned
    def plan_again(self, chunk: Chunk, worker: str) -> None: ...  # drop all chunks of the job

    def release(self, chunk: Chunk, worker: str, reason: str = "") -> None:
        """Return a chunk to the queue. With a `reason`, an error, the job fails after a few times."""
        ...

    def release_all(self, worker: str, reason: str) -> None: ...  # `release` all chunks of a worker that is gone
    def fail(self, chunk: Chunk, worker: str, message: str) -> None: ...  # end the whole job

    def claim(
        self, chunk: Chunk, worker: str, signature: str, keys: Collection[str], seconds: float = 30.0
    ) -> set[str]:
        """Return the keys whose values this worker may compute now.

        The others are claimed by a worker on a chunk of another job. A claim ends when `Scores.put` stores the value, or with the lease.
        """
        ...
