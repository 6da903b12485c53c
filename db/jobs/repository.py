"""The queue of scoring jobs, and measured times. Workers on several machines may compute jobs if their clocks agree to a few seconds."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, and_, bindparam, case, delete, func, insert, select, update

from core.data import SegmentKey
from core.errors import UserError
from core.ports.jobs import Job, JobState, MetricProgress
from core.ports.scores import Timing
from core.scoring.turns import MetricOutcome, OpenMetric, outcome, progress_of, sentence
from core.settings import load_settings
from db.columns import digest_of, now, to_json
from db.engine import Repository, inserted, reading, writing
from db.failures import retried
from db.lookup import require_project
from db.scores.repository import machine
from db.tables import chunks, job_metrics, jobs, timings

UNFINISHED = ("queued", "running")
KEPT = 8  # timings of a metric, model and machine
GPU = Path("/dev/nvidiactl")
_COLUMNS = ("id", "project_id", "state", "done", "total", "message", "created", "started", "finished")


def _of_metrics(*sums: Any) -> Select[Any]:
    """Select the metrics of a job in order, with sums over their chunks."""
    joined = job_metrics.outerjoin(chunks, chunks.c.metric == job_metrics.c.id)
    query = select(*job_metrics.c, *sums).select_from(joined).where(job_metrics.c.job == bindparam("job_id"))
    return query.group_by(job_metrics.c.id).order_by(job_metrics.c.id)


# Every page asks for the running jobs, and building a query takes longer than running it, so each is built once.
_DONE, _COMPUTING = chunks.c.state == "done", chunks.c.state == "running"
_RUNNING = (
    select(*(chunks.c[name] for name in ("worker", "heartbeat", "metric", "done", "n", "message")))
    .where(chunks.c.job == bindparam("job_id"), _COMPUTING)
    .order_by(chunks.c.position)
)
_PROGRESS = _of_metrics(
    func.coalesce(func.sum(chunks.c.done), 0).label("computed"),
    func.coalesce(func.sum(chunks.c.n), 0).label("planned"),
    func.coalesce(func.sum(case((chunks.c.seconds > 0, chunks.c.size), else_=0.0)), 0.0).label("size"),
    func.coalesce(func.sum(chunks.c.seconds), 0.0).label("seconds"),
    func.coalesce(func.sum(case((_DONE, 0.0), else_=chunks.c.size * (chunks.c.n - chunks.c.done) / chunks.c.n)), 0.0).label("left"),
    func.coalesce(func.sum(case((_COMPUTING, 1), else_=0)), 0).label("workers"),
)  # fmt: skip
_OTHERS_COMPUTING = select(chunks.c.id).where(chunks.c.job != bindparam("job_id"), _COMPUTING).limit(1)
_OUTCOMES = _of_metrics(
    func.coalesce(func.sum(chunks.c.n), 0).label("n"),
    func.coalesce(func.sum(chunks.c.failed), 0).label("failed"),
    func.coalesce(func.sum(chunks.c.known), 0).label("already"),
    func.coalesce(func.max(chunks.c.reason), "").label("reason"),
)


class SqlJobs(Repository):
    """`core.ports.jobs.Jobs` over a database."""

    def enqueue(
        self, project_id: int, metrics: Sequence[str], segments: Sequence[SegmentKey] = (), *, timing: bool = False
    ) -> Job:
        names = list(dict.fromkeys(metrics))
        if not names:
            raise UserError("no metric is chosen", hint="Choose at least one")
        with writing(self._engine) as connection:
            require_project(connection, project_id, lock=True)
            same = select(jobs).where(jobs.c.project_id == project_id, jobs.c.state.in_(UNFINISHED)).order_by(jobs.c.id)
            asked = (set(names), set(segments), timing)
            for row in connection.execute(same):
                queued = _job(connection, row)
                if (set(queued.metrics), set(queued.segments), queued.timing) == asked:
                    return queued
            fresh = {"state": "queued", "done": 0, "total": 0, "message": "", "created": now()}
            fresh |= {"segments": [list(key) for key in segments] or None, "timing": timing or None}
            made = inserted(connection, insert(jobs).values(project_id=project_id, metrics=names, **fresh))
            add_planner(connection, made, 0, 0)
            return _get(connection, made)

    def get(self, job_id: int) -> Job:
        with reading(self._engine) as connection:
            return _get(connection, job_id)

    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]:
        return self._all(select(jobs).order_by(jobs.c.id.desc()).limit(limit), project_id)

    def unfinished(self, project_id: int | None = None) -> list[Job]:
        return self._all(select(jobs).where(jobs.c.state.in_(UNFINISHED)).order_by(jobs.c.id), project_id)

    def _all(self, query: Select[Any], project_id: int | None) -> list[Job]:
        query = query if project_id is None else query.where(jobs.c.project_id == project_id)
        with reading(self._engine) as connection:
            return [_job(connection, row) for row in connection.execute(query).all()]

    def progress(self, job_id: int) -> list[MetricProgress]:
        with reading(self._engine) as connection:
            return progress_of(_open(connection, job_id), _now(connection, job_id).workers)

    @retried
    def cancel(self, job_id: int) -> None:
        with writing(self._engine) as connection:
            end(connection, job_id, "cancelled", "")

    def prioritize(self, job_id: int, priority: int) -> None:
        with writing(self._engine) as connection:
            mine = and_(jobs.c.id == job_id, jobs.c.state.in_(UNFINISHED))
            if connection.execute(update(jobs).where(mine).values(priority=priority)).rowcount != 1:
                raise UserError("there is no such unfinished job", got=str(job_id), hint="It may be done already")


def add_planner(connection: Connection, job_id: int, begins_after: int, position: int) -> None:
    """Add the chunk that plans the outputs from `begins_after` on."""
    planner = new_chunk() | {"job": job_id, "begins_after": begins_after, "position": position}
    connection.execute(insert(chunks).values(**planner))


def new_chunk() -> dict[str, object]:
    """Return the columns of a chunk that nobody has leased yet."""
    numbers = dict.fromkeys(("n", "size", "begins_after", "done", "failed", "known", "seconds", "attempts"), 0)
    return numbers | {"state": "ready", "reason": "", "message": ""}


def locked(connection: Connection, job_id: int) -> bool:
    """Keep the row of an unfinished job until the transaction ends. Return False if there is no such job."""
    query = select(jobs.c.id).where(jobs.c.id == job_id, jobs.c.state.in_(UNFINISHED))
    return connection.execute(query.with_for_update()).first() is not None


def end(connection: Connection, job_id: int, state: JobState, message: str) -> None:
    """End an unfinished job with what is done now, and delete its chunks, so that workers stop."""
    if not locked(connection, job_id):
        return
    last = _job(connection, connection.execute(select(jobs).where(jobs.c.id == job_id)).one())
    done = last.total if state == "done" else last.done
    values = {"state": state, "message": message, "finished": now(), "done": done, "total": last.total}
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(**values))
    forget_plan(connection, job_id)


def end_with_outcome(connection: Connection, job_id: int) -> None:
    """End a job whose chunks are all done."""
    end(connection, job_id, *outcome(_outcomes(connection, job_id)))


def forget_plan(connection: Connection, job_id: int) -> None:
    """Delete the chunks of a job and what was planned."""
    connection.execute(delete(chunks).where(chunks.c.job == job_id))
    connection.execute(delete(job_metrics).where(job_metrics.c.job == job_id))


def _get(connection: Connection, job_id: int) -> Job:
    row = connection.execute(select(jobs).where(jobs.c.id == job_id)).first()
    if row is None:
        raise UserError("there is no such job", got=str(job_id), hint="Its project may have been deleted")
    return _job(connection, row)


def _job(connection: Connection, row: Row[tuple[object, ...]]) -> Job:
    segments = tuple(SegmentKey(*key) for key in row.segments or ())
    fields = {name: getattr(row, name) for name in _COLUMNS} | {"workers": 0, "heartbeat": None}
    if row.state in UNFINISHED:
        current = _now(connection, row.id)
        fields |= {"workers": current.workers, "heartbeat": current.heartbeat}
        progress = progress_of(_open(connection, row.id), current.workers)
        if progress:
            fields |= {"done": sum(m.done for m in progress), "total": sum(m.total for m in progress)}
            waiting = (
                not current.workers and connection.execute(_OTHERS_COMPUTING, {"job_id": row.id}).first() is not None
            )
            fields |= {"message": sentence(progress, waiting=waiting)}
        else:  # what is done before the first window is planned: times are measured
            fields |= {"done": current.done, "total": current.total, "message": current.message}
    priority, timing = row.priority or 0, bool(row.timing)
    return Job(metrics=tuple(row.metrics), segments=segments, timing=timing, priority=priority, **fields)


class _Now(NamedTuple):
    workers: int
    heartbeat: datetime | None
    done: int
    total: int
    message: str


def _now(connection: Connection, job_id: int) -> _Now:
    """Return who computes a job now, and the progress of a chunk that plans."""
    rows = connection.execute(_RUNNING, {"job_id": job_id}).all()
    planner = next((row for row in rows if row.metric is None), None)
    at = (planner.done, planner.n, planner.message) if planner else (0, 0, "")
    return _Now(len({row.worker for row in rows}), max((row.heartbeat for row in rows), default=None), *at)


def _open(connection: Connection, job_id: int) -> list[OpenMetric]:
    return [
        OpenMetric(
            row.metric, row.label, row.known + row.computed, row.total, row.speed, round(row.size), row.seconds,
            row.left + max(0, row.total - row.known - row.planned) * row.length, row.workers,
        )
        for row in connection.execute(_PROGRESS, {"job_id": job_id}) if not row.unusable
    ]  # fmt: skip


def _outcomes(connection: Connection, job_id: int) -> list[MetricOutcome]:
    return [
        MetricOutcome(
            row.metric, row.n - row.failed - row.already, row.known + row.already, row.failed, row.reason, row.unusable
        )
        for row in connection.execute(_OUTCOMES, {"job_id": job_id})
    ]


class SqlTimings(Repository):
    """`core.ports.scores.Timings` over a database."""

    def of(self, metric: str, model: str) -> list[Timing]:
        mine = timings.c.digest == _digest(metric, model)
        query = select(*(timings.c[name] for name in Timing._fields)).where(mine).order_by(timings.c.id.desc())
        return [Timing(*row) for row in self._rows(query.limit(KEPT))]

    @retried
    def add(self, metric: str, model: str, timing: Timing) -> None:
        digest = _digest(metric, model)
        with writing(self._engine) as connection:
            connection.execute(insert(timings).values(digest=digest, created=now(), **timing._asdict()))
            newest = select(timings.c.id).where(timings.c.digest == digest).order_by(timings.c.id.desc())
            old = list(connection.execute(newest.offset(KEPT)).scalars())
            connection.execute(delete(timings).where(timings.c.id.in_(old)))


@cache
def _this_machine() -> str:
    """Return what the speed depends on besides metric and model. The GPU is found without loading torch."""
    return to_json([machine(), platform.node(), load_settings().device, GPU.exists()])


def _digest(metric: str, model: str) -> str:
    return digest_of(to_json([metric, model, _this_machine()]))
