"""Scores in memory, and the queue that computes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from core.columns import ScoreColumn
from core.data import (
    OutputKey,
    SegmentKey,
    Value,
)
from core.errors import UserError
from core.ports.jobs import Job, JobState
from core.ports.scores import ExternalMetric, ScoredBy
from core.ports.timings import Timing
from core.signature import content_key
from tests.fakes.columns import index_of
from tests.fakes.memory import Memory, now

UNFINISHED = ("queued", "running")


class FakeScores:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        stored = self.m.values.get(signature, {})
        return {key for key in keys if key in stored and stored[key].status != "error"}

    def values(self, signature: str, keys: Collection[str]) -> dict[str, Value]:
        stored = self.m.values.get(signature, {})
        return {key: replace(stored[key], detail=None) for key in keys if key in stored}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        known = self.known(signature, values.keys())
        self.m.values.setdefault(signature, {}).update({k: v for k, v in values.items() if k not in known})
        self.m.metrics[signature] = (metric, now())

    def _rows(self, project_id: int, signature: str) -> dict[OutputKey, Value]:
        named = next((m.name for m in self.external(project_id) if m.signature == signature), None)
        if named is not None:
            values = self.m.external[project_id, named][0].values
            return {o.key: values[o.key] for o in self.m.datasets[project_id].outputs if o.key in values}
        stored = self.m.values.get(signature, {})
        items = self.m.datasets[project_id].items()
        return {key: stored[content_key(*item)] for key, item in items if content_key(*item) in stored}

    def newest(self) -> int:
        return max((int(stored.timestamp() * 1e6) for _, stored in self.m.metrics.values()), default=0)

    def signatures(self, project_id: int) -> list[ScoredBy]:
        found = [
            (metric, s, sum(v.status != "error" for v in self._rows(project_id, s).values()), newest)
            for s, (metric, newest) in self.m.metrics.items()
        ]
        ours = [ScoredBy(*row) for row in found if row[2]]
        return sorted([*ours, *(m.scored_by for m in self.external(project_id))], key=lambda by: by.newest)

    def external(self, project_id: int) -> list[ExternalMetric]:
        mine = sorted((name, *held) for (project, name), held in self.m.external.items() if project == project_id)
        return [ExternalMetric(n, s.higher_is_better, s.files, len(s.values), created) for n, s, created in mine]

    def remove_external(self, project_id: int, name: str) -> None:
        if self.m.external.pop((project_id, name), None) is None:
            raise UserError(f"there is no external metric “{name}”")

    def column(self, project_id: int, signature: str) -> ScoreColumn:
        self.m.need(project_id)
        return ScoreColumn.of(index_of(self.m.datasets[project_id]), self._rows(project_id, signature))

    def table(self, project_id: int, signature: str) -> dict[OutputKey, Value]:
        return {key: replace(value, detail=None) for key, value in self._rows(project_id, signature).items()}

    def detail(self, project_id: int, signature: str, segment: SegmentKey) -> dict[str, Value]:
        rows = {key.system: value for key, value in self._rows(project_id, signature).items() if key.segment == segment}
        return {
            s: v if v.detail is None else replace(v, detail=json.loads(json.dumps(v.detail))) for s, v in rows.items()
        }


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
            next(self.m.ids), project_id, names, "queued", 0, 0, "", now(), None, None, None, None, tuple(segments), timing
        )  # fmt: skip
        self.m.jobs[job.id] = job
        return job

    def get(self, job_id: int) -> Job:
        if job_id not in self.m.jobs:
            raise UserError("there is no such job", got=str(job_id))
        return self.m.jobs[job_id]

    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]:
        rows = [job for job in self.m.jobs.values() if project_id in (None, job.project_id)]
        return rows[::-1][:limit]

    def cancel(self, job_id: int) -> None:
        job = self.m.jobs.get(job_id)
        if job is not None and job.state in UNFINISHED:
            self.m.jobs[job_id] = job._replace(state="cancelled", finished=now())

    def lease(self, worker: str, seconds: float = 30.0) -> Job | None:
        late = now() - timedelta(seconds=seconds)
        for job in sorted(self.m.jobs.values(), key=lambda job: not job.short):
            expired = job.state == "running" and job.heartbeat is not None and job.heartbeat < late
            if job.state == "queued" or expired:
                taken = job._replace(state="running", worker=worker, heartbeat=now(), started=job.started or now())
                self.m.jobs[job.id] = taken
                return taken
        return None

    def short_waits(self) -> bool:
        return any(job.short and job.state == "queued" for job in self.m.jobs.values())

    def _held(self, job_id: int, worker: str) -> Job | None:
        job = self.m.jobs.get(job_id)
        return job if job is not None and job.worker == worker and job.state == "running" else None

    def beat(self, job_id: int, worker: str, done: int, total: int, message: str = "") -> bool:
        if (job := self._held(job_id, worker)) is None:
            return False
        self.m.jobs[job_id] = job._replace(done=done, total=total, message=message, heartbeat=now())
        return True

    def claim(self, job_id: int, worker: str, signature: str, keys: Collection[str], seconds: float = 30.0) -> set[str]:
        if self._held(job_id, worker) is None:
            return set()
        late = now() - timedelta(seconds=seconds)
        stored = self.m.values.get(signature, {})
        granted = set()
        for key in keys:
            job_of, by = self.m.claims.get((signature, key), (job_id, worker))
            holder = self._held(job_of, by)
            alive = holder is not None and holder.heartbeat is not None and holder.heartbeat >= late
            if job_of == job_id or not alive or key in stored:
                self.m.claims[signature, key] = (job_id, worker)
                granted.add(key)
        return granted

    def finish(self, job_id: int, worker: str, state: JobState, message: str = "") -> None:
        if (job := self._held(job_id, worker)) is not None:
            back = state == "queued"
            ended = {"worker": None, "heartbeat": None} if back else {"finished": now(), "heartbeat": now()}
            self.m.jobs[job_id] = job._replace(state=state, message=message, **ended)


class FakeTimings:
    def __init__(self, memory: Memory) -> None:
        self.m = memory

    def of(self, metric: str, model: str) -> list[Timing]:
        return self.m.timings.get((metric, model), [])[:8]

    def add(self, metric: str, model: str, timing: Timing) -> None:
        self.m.timings.setdefault((metric, model), []).insert(0, timing)
