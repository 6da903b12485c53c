"""The queue of scoring jobs in memory, with its chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from core.data import Item, SegmentKey
from core.errors import UserError
from core.ports.chunks import Chunk, ChunkResult, OutputWindow, PlannedChunk, PlannedMetric
from core.ports.jobs import Job, JobState, MetricProgress
from core.scoring.turns import (
    SMALL_JOB_CHUNKS,
    JobInQueue,
    MetricOutcome,
    OpenMetric,
    in_turn,
    interrupts,
    outcome,
    progress_of,
    sentence,
)
from core.signature import content_key
from tests.fakes.memory import Memory, now

UNFINISHED = ("queued", "running")
ATTEMPTS, AHEAD = 4, 8
NUMBERS = 1_000_000
"""Outputs of a project are numbered from its id times this."""


@dataclass
class FakeChunk:
    """A chunk, and who has it."""

    chunk: Chunk
    size: int = 0
    state: str = "ready"
    n: int = 0
    done: int = 0
    message: str = ""
    worker: str | None = None
    heartbeat: datetime | None = None
    attempts: int = 0
    result: ChunkResult = ChunkResult(0, 0, 0, "", 0.0)

    def held(self, worker: str) -> bool:
        return self.state == "running" and self.worker == worker


@dataclass
class FakePlan:
    """What a job has planned: its metrics, outputs per metric, and those that were scored before."""

    metrics: dict[str, PlannedMetric]
    known: dict[str, int]
    abandoned: dict[str, str]
    total: int
    version: int


class FakeJobs:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def enqueue(
        self, project_id: int, metrics: Sequence[str], segments: Sequence[SegmentKey] = (), *, timing: bool = False
    ) -> Job:
        self.m.need(project_id)
        names = tuple(dict.fromkeys(metrics))
        if not names:
            raise UserError("no metric is chosen")
        for job in self.m.jobs.values():
            same = set(job.metrics) == set(names) and (job.segments, job.timing) == (tuple(segments), timing)
            if job.project_id == project_id and job.state in UNFINISHED and same:
                return job
        job = Job(
            next(self.m.ids), project_id, names, "queued", 0, 0, "", now(), None, None, 0, None, tuple(segments), timing
        )  # fmt: skip
        self.m.jobs[job.id] = job
        self._add_planner(job, 0)
        return job

    def _add_planner(self, job: Job, after: int) -> None:
        chunk = Chunk(next(self.m.ids), job.id, job.project_id, job.short, job.priority, after=after)
        self.m.chunks.setdefault(job.id, []).append(FakeChunk(chunk))

    def get(self, job_id: int) -> Job:
        if job_id not in self.m.jobs:
            raise UserError("there is no such job", got=str(job_id))
        return self._current(self.m.jobs[job_id])

    def _current(self, job: Job) -> Job:
        if job.state not in UNFINISHED:
            return job
        running = [c for c in self.m.chunks.get(job.id, []) if c.state == "running"]
        job = job._replace(
            workers=len({c.worker for c in running}),
            heartbeat=max((c.heartbeat or now() for c in running), default=None),
        )
        if found := self.progress(job.id):
            done, total = sum(m.done for m in found), sum(m.total for m in found)
            return job._replace(done=done, total=total, message=sentence(found))
        at = next((c for c in running if c.chunk.metric is None), None)
        return job._replace(done=at.done, total=at.n, message=at.message) if at else job

    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]:
        rows = [self._current(job) for job in self.m.jobs.values() if project_id in (None, job.project_id)]
        return rows[::-1][:limit]

    def unfinished(self, project_id: int | None = None) -> list[Job]:
        return [job for job in reversed(self.recent(project_id, len(self.m.jobs))) if job.state in UNFINISHED]

    def progress(self, job_id: int) -> list[MetricProgress]:
        plan = self.m.plans.get(job_id)
        if plan is None:
            return []
        chunks, found = self.m.chunks.get(job_id, []), []
        for name, metric in plan.metrics.items():
            mine = [c for c in chunks if c.chunk.metric and c.chunk.metric.name == name]
            done = [c for c in mine if c.state == "done"]
            left = sum(c.size * (c.n - c.done) / c.n for c in mine if c.state != "done" and c.n)
            unplanned = plan.total - plan.known.get(name, 0) - sum(c.n for c in mine)
            if not metric.unusable:
                found.append(
                    OpenMetric(
                        name, metric.label, plan.known.get(name, 0) + sum(c.done for c in mine), plan.total, metric.speed,
                        sum(c.size for c in done), sum(c.result.seconds for c in done),
                        left + max(0, unplanned) * metric.length, sum(c.state == "running" for c in mine),
                    )
                )  # fmt: skip
        return progress_of(found, len({c.worker for c in chunks if c.state == "running"}))

    def cancel(self, job_id: int) -> None:
        self._end(job_id, "cancelled", "")

    def prioritize(self, job_id: int, priority: int) -> None:
        if (job := self.m.jobs.get(job_id)) is None or job.state not in UNFINISHED:
            raise UserError("there is no such unfinished job", got=str(job_id))
        self.m.jobs[job_id] = job._replace(priority=priority)

    def _end(self, job_id: int, state: JobState, message: str) -> None:
        if (job := self.m.jobs.get(job_id)) is not None and job.state in UNFINISHED:
            last = self._current(job)
            done = last.total if state == "done" else last.done
            ended = last._replace(state=state, message=message, finished=now(), done=done, workers=0, heartbeat=None)
            self.m.jobs[job_id] = ended
            self._forget(job_id)

    def _forget(self, job_id: int) -> None:
        self.m.chunks.pop(job_id, None)
        self.m.plans.pop(job_id, None)


class FakeChunks:
    def __init__(self, memory: Memory) -> None:
        self.m, self._jobs = memory, FakeJobs(memory)

    def _queue(self) -> list[JobInQueue]:
        unfinished = [j for j in self.m.jobs.values() if j.state in UNFINISHED]
        return [
            JobInQueue(
                j.id, j.project_id, j.short, j.priority,
                sum(c.state == "running" for c in self.m.chunks.get(j.id, [])), self.m.served.get(j.id),
                len(self.m.chunks.get(j.id, [])) <= SMALL_JOB_CHUNKS,
            )
            for j in unfinished
        ]  # fmt: skip

    def lease(self, worker: str, seconds: float = 30.0, *, ahead: bool = False) -> Chunk | None:
        late = now() - timedelta(seconds=seconds)
        for waiting in in_turn(self._queue()):
            chunks = self.m.chunks.get(waiting.id, [])
            free = [c for c in chunks if c.state == "ready"]
            free += [c for c in chunks if c.state == "running" and (c.heartbeat or now()) < late]
            if not free:
                continue
            if ahead and len(free) <= AHEAD:
                return None
            taken = free[0]
            if taken.state == "running" and taken.attempts >= ATTEMPTS:
                text = f"the worker died {taken.attempts} times without progress; see worker.log"
                self._jobs._end(waiting.id, "failed", text)
                continue
            taken.state, taken.worker, taken.heartbeat = "running", worker, now()
            taken.attempts += 1
            job = self.m.jobs[waiting.id]
            self.m.jobs[job.id] = job._replace(state="running", started=job.started or now())
            self.m.served[job.id] = now()
            metric, plan = taken.chunk.metric, self.m.plans.get(job.id)
            abandoned = plan.abandoned.get(metric.name, "") if plan and metric else ""
            return taken.chunk._replace(abandoned=abandoned, priority=job.priority)
        return None

    def overtaken(self, chunk: Chunk) -> bool:
        before = [j for j in self._queue() if j.id != chunk.job_id and interrupts(j, chunk.short, chunk.priority)]
        return any(c.state == "ready" for j in before for c in self.m.chunks.get(j.id, []))

    def is_finished(self) -> bool:
        return not any(job.state in UNFINISHED for job in self.m.jobs.values())

    def unfinished(self) -> int:
        return sum(c.state != "done" for chunks in self.m.chunks.values() for c in chunks)

    def _find(self, chunk_id: int, worker: str) -> FakeChunk | None:
        every = (c for chunks in self.m.chunks.values() for c in chunks)
        return next((c for c in every if c.chunk.id == chunk_id and c.held(worker)), None)

    def beat(self, chunk_id: int, worker: str, done: int, total: int = 0, message: str = "") -> bool:
        if (mine := self._find(chunk_id, worker)) is None:
            return False
        mine.attempts = 0 if done > mine.done else mine.attempts
        mine.done, mine.n, mine.message, mine.heartbeat = max(done, mine.done), total or mine.n, message, now()
        return True

    def holds(self, chunk_id: int, worker: str) -> bool:
        return self._find(chunk_id, worker) is not None

    def _version(self, project_id: int) -> int:
        data = self.m.datasets[project_id]
        return hash((data.segments, data.outputs))

    def window(self, chunk: Chunk) -> OutputWindow:
        self.m.need(chunk.project_id)
        job, data = self.m.jobs[chunk.job_id], self.m.datasets[chunk.project_id]
        places = {segment.key: i for i, segment in enumerate(data.segments)}
        found: dict[str, list[int]] = {}
        for number, (key, item) in enumerate(data.items(), NUMBERS * chunk.project_id):
            if not job.segments or key.segment in job.segments:
                source = -1 if item.source is None else len(item.source)
                whole = sum(map(len, item.references))
                row = [number, places[key.segment], len(item.hypothesis), source, whole, len(item.references)]
                found.setdefault(content_key(*item), row)
        columns = np.array(list(found.values()), dtype=np.int64).reshape(-1, 6).T
        ids, of, hypothesis, source_length, references, n = columns
        version = self._version(chunk.project_id)
        return OutputWindow(
            ids, list(found), of, hypothesis, source_length, references, n, len(found), version, after=None
        )  # fmt: skip

    def items(self, outputs: Sequence[int]) -> dict[int, Item]:
        found = dict[int, Item]()
        for number in sorted(outputs):
            project, place = divmod(number, NUMBERS)
            every = self.m.datasets[project].items() if project in self.m.datasets else []
            if place < len(every):
                found[number] = every[place][1]
        return found

    def stream(self, project_id: int) -> Iterator[list[tuple[int, SegmentKey, Item]]]:
        every = list(enumerate(self.m.datasets[project_id].items(), NUMBERS * project_id))
        for start in range(0, len(every), 500):
            yield [(number, key.segment, item) for number, (key, item) in every[start : start + 500]]

    def plan(
        self, chunk: Chunk, worker: str, window: OutputWindow, metrics: Sequence[PlannedMetric],
        chunks: Sequence[PlannedChunk], known: Mapping[str, int],
    ) -> None:  # fmt: skip
        if (mine := self._find(chunk.id, worker)) is None:
            return
        plan = FakePlan({m.name: m for m in metrics}, dict(known), {}, window.total, window.version)
        self.m.plans[chunk.job_id] = plan
        given = (chunk.job_id, chunk.project_id, chunk.short, chunk.priority)
        for new in chunks:
            made = Chunk(next(self.m.ids), *given, plan.metrics[new.metric], tuple(sorted(new.outputs.tolist())))
            self.m.chunks[chunk.job_id].append(FakeChunk(made, new.size, n=len(new.outputs)))
        self._end_chunk(mine)

    def metrics(self, job_id: int) -> list[PlannedMetric]:
        return list(self.m.plans[job_id].metrics.values()) if job_id in self.m.plans else []

    def abandon(self, chunk: Chunk, worker: str, reason: str) -> None:
        if self._find(chunk.id, worker) is not None and chunk.metric is not None:
            self.m.plans[chunk.job_id].abandoned[chunk.metric.name] = reason

    def finish(self, chunk: Chunk, worker: str, result: ChunkResult) -> None:
        if (mine := self._find(chunk.id, worker)) is not None:
            mine.result, mine.n = result, result.new + result.known + result.failed
            mine.done = mine.n
            self._end_chunk(mine)

    def _end_chunk(self, mine: FakeChunk) -> None:
        mine.state, job_id = "done", mine.chunk.job_id
        if any(c.state != "done" for c in self.m.chunks[job_id]):
            return
        if self.is_outdated(mine.chunk):
            self._plan_again(job_id)
            return
        plan, outcomes = self.m.plans[job_id], []
        for name, metric in plan.metrics.items():
            done = [c.result for c in self.m.chunks[job_id] if c.chunk.metric and c.chunk.metric.name == name]
            new, known, failed = (
                (sum(values) for values in zip(*(r[:3] for r in done), strict=True)) if done else (0, 0, 0)
            )
            reason = max((r.reason for r in done), default="")
            known += plan.known.get(name, 0)
            outcomes.append(MetricOutcome(name, new, known, failed, reason, metric.unusable))
        self._jobs._end(job_id, *outcome(outcomes))

    def _plan_again(self, job_id: int) -> None:
        self._jobs._forget(job_id)
        self._jobs._add_planner(self.m.jobs[job_id], 0)

    def is_last(self, chunk: Chunk) -> bool:
        others = [c.chunk for c in self.m.chunks[chunk.job_id] if c.state != "done" and c.chunk.id != chunk.id]
        return not any(c.metric is None or c.metric == chunk.metric for c in others)

    def is_outdated(self, chunk: Chunk) -> bool:
        plan, job = self.m.plans.get(chunk.job_id), self.m.jobs[chunk.job_id]
        return plan is not None and not job.timing and plan.version != self._version(job.project_id)

    def plan_again(self, chunk: Chunk, worker: str) -> None:
        if self._find(chunk.id, worker) is not None:
            self._plan_again(chunk.job_id)

    def release(self, chunk: Chunk, worker: str, reason: str = "") -> None:
        if (mine := self._find(chunk.id, worker)) is None:
            return
        if reason and mine.attempts >= ATTEMPTS:
            self._jobs._end(chunk.job_id, "failed", reason)
            return
        mine.attempts = mine.attempts if reason else 0
        mine.state, mine.worker, mine.heartbeat, mine.message = "ready", None, None, ""
        if all(c.state != "running" for c in self.m.chunks[chunk.job_id]):
            self.m.jobs[chunk.job_id] = self.m.jobs[chunk.job_id]._replace(state="queued")

    def release_all(self, worker: str, reason: str) -> None:
        held = [c.chunk for chunks in self.m.chunks.values() for c in chunks if c.held(worker)]
        for chunk in held:
            self.release(chunk, worker, reason)

    def fail(self, chunk: Chunk, worker: str, message: str) -> None:
        if self._find(chunk.id, worker) is not None:
            self._jobs._end(chunk.job_id, "failed", message)

    def claim(
        self, chunk: Chunk, worker: str, signature: str, keys: Collection[str], seconds: float = 30.0
    ) -> set[str]:
        others = [j for j in self.m.jobs.values() if j.state in UNFINISHED and j.id != chunk.job_id]
        mine = {chunk.metric.name} if chunk.metric else set(self.m.jobs[chunk.job_id].metrics)
        if not any(mine & set(other.metrics) for other in others):
            return set(keys)
        if self._find(chunk.id, worker) is None:
            return set()
        late, stored, granted = now() - timedelta(seconds=seconds), self.m.values.get(signature, {}), set()
        for key in keys:
            of, by = self.m.claims.get((signature, key), (chunk.id, worker))
            holder = self._find(of, by)
            alive = holder is not None and (holder.heartbeat or now()) >= late
            if of == chunk.id or not alive or key in stored:
                self.m.claims[signature, key] = (chunk.id, worker)
                granted.add(key)
        return granted
