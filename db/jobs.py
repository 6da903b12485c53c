"""The queue of scoring jobs. Workers on several machines may lease jobs if their clocks agree to a few seconds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, case, delete, insert, or_, select, update

from core.data import SegmentKey
from core.errors import UserError
from core.ports.jobs import Job, JobState
from db.columns import now
from db.engine import inserted, reading, take_turns, writing
from db.failures import retried
from db.lookup import parts, require_project
from db.scores import digest_of
from db.tables import claims, jobs

ATTEMPTS = 4  # leases without progress before a job fails
UNFINISHED = ("queued", "running")


class SqlJobs:
    """`core.ports.jobs.Jobs` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def enqueue(
        self, project_id: int, metrics: Sequence[str], segments: Sequence[SegmentKey] = (), *, timing: bool = False
    ) -> Job:
        """Queue the scoring of a project, or return the unfinished job with the same metrics for the same outputs."""
        names = list(dict.fromkeys(metrics))
        if not names:
            raise UserError("no metric is chosen", hint="Choose at least one")
        with writing(self._engine) as connection:
            require_project(connection, project_id, lock=True)
            same = select(jobs).where(jobs.c.project_id == project_id, jobs.c.state.in_(UNFINISHED)).order_by(jobs.c.id)
            for row in connection.execute(same):
                there = _job(row)
                if set(there.metrics) == set(names) and (set(there.segments), there.timing) == (set(segments), timing):
                    return there
            fresh = {"state": "queued", "done": 0, "total": 0, "message": "", "attempts": 0, "created": now()}
            fresh |= {"segments": [list(key) for key in segments] or None, "timing": timing or None}
            made = inserted(connection, insert(jobs).values(project_id=project_id, metrics=names, **fresh))
            return _get(connection, made)

    def get(self, job_id: int) -> Job:
        with reading(self._engine) as connection:
            return _get(connection, job_id)

    def recent(self, project_id: int | None = None, limit: int = 20) -> list[Job]:
        found = select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        if project_id is not None:
            found = found.where(jobs.c.project_id == project_id)
        with reading(self._engine) as connection:
            return [_job(row) for row in connection.execute(found)]

    def cancel(self, job_id: int) -> None:
        """Cancel an unfinished job; its worker stops at the next heartbeat. A finished job does not change."""
        with writing(self._engine) as connection:
            open_job = and_(jobs.c.id == job_id, jobs.c.state.in_(UNFINISHED))
            connection.execute(update(jobs).where(open_job).values(state="cancelled", finished=now()))

    def lease(self, worker: str, seconds: float = 30.0) -> Job | None:
        late = now() - timedelta(seconds=seconds)
        free = or_(jobs.c.state == "queued", and_(jobs.c.state == "running", jobs.c.heartbeat < late))
        waiting = select(jobs).where(free).order_by(jobs.c.id)
        with reading(self._engine) as connection:  # the common case, nothing to do, takes no lock
            if connection.execute(waiting.limit(1)).first() is None:
                return None
        with writing(self._engine) as connection:
            for row in sorted(connection.execute(waiting).all(), key=lambda row: not _job(row).short):
                if row.state == "running" and row.attempts >= ATTEMPTS:
                    message = f"the worker died {row.attempts} times without progress; see worker.log"
                    _take(connection, row, state="failed", finished=now(), message=message)
                elif _take(
                    connection,
                    row,
                    state="running",
                    worker=worker,
                    heartbeat=now(),
                    started=row.started or now(),
                    attempts=row.attempts + 1,
                ):
                    return _get(connection, row.id)
        return None

    def short_waits(self) -> bool:
        short = and_(jobs.c.state == "queued", or_(jobs.c.timing.is_not(None), jobs.c.segments.is_not(None)))
        with reading(self._engine) as connection:
            return connection.execute(select(jobs.c.id).where(short).limit(1)).first() is not None

    def beat(self, job_id: int, worker: str, done: int, total: int, message: str = "") -> bool:
        further = case((jobs.c.done < done, 0), else_=jobs.c.attempts)
        with writing(self._engine) as connection:
            recorded = connection.execute(
                update(jobs)
                .where(_held(job_id, worker))
                .values(attempts=further, done=done, total=total, message=message, heartbeat=now())
            )
            return recorded.rowcount == 1

    @retried
    def claim(self, job_id: int, worker: str, signature: str, keys: Collection[str], seconds: float = 30.0) -> set[str]:
        """Claim the values of texts, so that no other worker computes them while this one has the job."""
        digest, granted = digest_of(signature), set[str]()
        late = now() - timedelta(seconds=seconds)
        holds = and_(jobs.c.state == "running", jobs.c.worker == claims.c.worker, jobs.c.heartbeat >= late)
        others = select(claims.c.content_key).join(jobs).where(claims.c.digest == digest, holds, jobs.c.id != job_id)
        with writing(self._engine) as connection:
            take_turns(connection, f"claims {digest}")  # else one could delete another's new claim as stale
            if connection.execute(select(jobs.c.id).where(_held(job_id, worker))).first() is None:
                return set()
            for part in parts(sorted(keys)):
                taken = set(connection.execute(others.where(claims.c.content_key.in_(part))).scalars())
                free = [key for key in part if key not in taken]
                stale = and_(claims.c.digest == digest, claims.c.content_key.in_(free))
                connection.execute(delete(claims).where(stale))
                if free:
                    rows = [{"digest": digest, "content_key": k, "job": job_id, "worker": worker} for k in free]
                    connection.execute(insert(claims), rows)
                granted.update(free)
        return granted

    def finish(self, job_id: int, worker: str, state: JobState, message: str = "") -> None:
        end: dict[str, object] = {"finished": now(), "heartbeat": now()}
        if state == "queued":
            end = {"finished": None, "heartbeat": None, "worker": None, "attempts": 0}
        with writing(self._engine) as connection:
            connection.execute(delete(claims).where(claims.c.job == job_id, claims.c.worker == worker))
            connection.execute(update(jobs).where(_held(job_id, worker)).values(state=state, message=message, **end))


def _held(job_id: int, worker: str) -> ColumnElement[bool]:
    return and_(jobs.c.id == job_id, jobs.c.worker == worker, jobs.c.state == "running")


def _take(connection: Connection, row: Row[tuple[object, ...]], **values: object) -> bool:
    """Change a job if its state and heartbeat are still those of `row`. Return whether it was changed."""
    unchanged = and_(
        jobs.c.id == row.id, jobs.c.state == row.state, jobs.c.heartbeat.is_not_distinct_from(row.heartbeat)
    )
    return connection.execute(update(jobs).where(unchanged).values(**values)).rowcount == 1


def _get(connection: Connection, job_id: int) -> Job:
    row = connection.execute(select(jobs).where(jobs.c.id == job_id)).first()
    if row is None:
        raise UserError("there is no such job", got=str(job_id), hint="Its project may have been deleted")
    return _job(row)


def _job(row: Row[tuple[object, ...]]) -> Job:
    fields = {name: getattr(row, name) for name in Job._fields}
    segments = tuple(SegmentKey(*key) for key in row.segments or ())
    return Job(**fields | {"metrics": tuple(row.metrics), "segments": segments, "timing": bool(row.timing)})
