"""Chunks of scoring jobs: leases, heartbeats and results. Clocks of machines with workers must agree to a few seconds.

PostgreSQL skips chunks that another transaction has (SKIP LOCKED). On SQLite, writers take turns. In both, a chunk is taken only if it is
still as it was read.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, and_, case, delete, func, insert, or_, select, update

from core.data import Item, SegmentKey
from core.ports.jobs import Chunk, ChunkResult, Numbers, OutputWindow, PlannedChunk, PlannedMetric, is_short
from core.scoring.turns import SMALL_JOB_CHUNKS, JobInQueue, interrupts, judge_of, queue_order
from db.columns import digest_of, now
from db.engine import Repository, reading, take_turns, writing
from db.failures import retried
from db.jobs import chunk_texts
from db.jobs.repository import UNFINISHED, add_planner, end, end_with_outcome, forget_plan, locked, new_chunk
from db.lookup import LISTED, among, parts
from db.tables import chunks, claims, job_metrics, jobs, projects

ATTEMPTS = 4  # leases without progress before a job fails
AHEAD = 8  # chunks that are left to others when a worker leases its next one in advance
_METRIC = ("label", "signature", "unusable", "speed", "length")


class SqlChunks(Repository):
    """`core.ports.jobs.Chunks` over a database."""

    @retried
    def lease(self, worker: str, seconds: float = 30.0, *, ahead: bool = False) -> Chunk | None:
        late = now() - timedelta(seconds=seconds)
        with reading(self._engine) as connection:  # the common case, nothing to do, takes no lock
            turns, busy = queue_order(_queue(connection)), _busy(connection, chunks.c.worker != worker, late)
            waiting = [job for job in turns if _first(connection, job.id, late, 0, busy) is not None]
            if ahead:  # only from the first job: with a chunk of a later one, a worker would stay with large jobs
                waiting = [job for job in waiting[:1] if _first(connection, job.id, late, AHEAD, busy) is not None]
        for job in waiting:
            with writing(self._engine) as connection:
                if (taken := _taken(connection, job, worker, late)) is not None:
                    return taken
        return None

    def overtaken(self, chunk: Chunk) -> bool:
        with reading(self._engine) as connection:
            before = [job for job in _queue(connection) if interrupts(job, chunk.short, chunk.priority)]
            others = [job for job in before if job.id != chunk.job_id]
            busy = _busy(connection, chunks.c.id != chunk.id, None) if others else ()
            return any(_first(connection, job.id, None, 0, busy) is not None for job in others)

    def is_finished(self) -> bool:
        return self._first(select(jobs.c.id).where(jobs.c.state.in_(UNFINISHED)).limit(1)) is None

    def unfinished(self) -> int:
        return int(self._scalar(select(func.count(chunks.c.id)).where(chunks.c.state != "done")) or 0)

    def beat(
        self, chunk_id: int, worker: str, done: int, total: int = 0, message: str = "", seconds: float = 0.0
    ) -> bool:
        further = case((chunks.c.done < done, 0), else_=chunks.c.attempts)
        most = case((chunks.c.done < done, done), else_=chunks.c.done)
        values: dict[str, Any] = {"attempts": further, "done": most, "message": message, "heartbeat": now()}
        if total:
            values["n"] = total
        if seconds:
            values["seconds"] = seconds
        with writing(self._engine) as connection:
            recorded = connection.execute(update(chunks).where(_held(chunk_id, worker)).values(**values))
            return recorded.rowcount == 1

    def holds(self, chunk_id: int, worker: str) -> bool:
        return self._first(select(chunks.c.id).where(_held(chunk_id, worker))) is not None

    def window(self, chunk: Chunk) -> OutputWindow:
        with reading(self._engine) as connection:
            return chunk_texts.window(connection, chunk)

    def items(self, outputs: Sequence[int]) -> dict[int, Item]:
        with reading(self._engine) as connection:
            return chunk_texts.items(connection, outputs)

    def stream(self, project_id: int) -> Iterator[list[tuple[int, SegmentKey, Item]]]:
        return chunk_texts.stream(self._engine, project_id)

    @retried
    def plan(
        self,
        chunk: Chunk,
        worker: str,
        window: OutputWindow,
        metrics: Sequence[PlannedMetric],
        chunks: Sequence[PlannedChunk],
        known: Mapping[str, int],
    ) -> None:
        with writing(self._engine) as connection:
            if not _locked(connection, chunk, worker):
                return
            if not chunk.after:
                _add_metrics(connection, chunk.job_id, metrics, window)
            _add_chunks(connection, chunk.job_id, window.after, chunks, known)
            _end_chunk(connection, chunk, {"done": 0, "n": 0})

    def metrics(self, job_id: int) -> list[PlannedMetric]:
        query = select(job_metrics).where(job_metrics.c.job == job_id).order_by(job_metrics.c.id)
        return [_metric(row) for row in self._rows(query)]

    @retried
    def abandon(self, chunk: Chunk, worker: str, reason: str) -> None:
        with writing(self._engine) as connection:
            if _locked(connection, chunk, worker):
                mine = select(chunks.c.metric).where(chunks.c.id == chunk.id).scalar_subquery()
                connection.execute(update(job_metrics).where(job_metrics.c.id == mine).values(abandoned=reason))

    @retried
    def finish(self, chunk: Chunk, worker: str, result: ChunkResult) -> None:
        values = {"known": result.known, "failed": result.failed, "reason": result.reason, "seconds": result.seconds}
        n = result.new + result.known + result.failed
        with writing(self._engine) as connection:
            if _locked(connection, chunk, worker):
                _end_chunk(connection, chunk, values | {"done": n, "n": n})

    def is_last(self, chunk: Chunk) -> bool:
        metric = select(chunks.c.metric).where(chunks.c.id == chunk.id).scalar_subquery()
        other = and_(chunks.c.job == chunk.job_id, chunks.c.state != "done", chunks.c.id != chunk.id)
        same = or_(chunks.c.metric == metric, chunks.c.metric.is_(None))  # a chunk that plans adds others
        return self._first(select(chunks.c.id).where(other, same).limit(1)) is None

    def is_outdated(self, chunk: Chunk) -> bool:
        with reading(self._engine) as connection:
            return _is_outdated(connection, chunk.job_id)

    @retried
    def plan_again(self, chunk: Chunk, worker: str) -> None:
        with writing(self._engine) as connection:
            if _locked(connection, chunk, worker):
                _plan_again(connection, chunk.job_id)

    @retried
    def release(self, chunk: Chunk, worker: str, reason: str = "") -> None:
        with writing(self._engine) as connection:
            if not _locked(connection, chunk, worker):
                return
            mine = chunks.c.id == chunk.id
            connection.execute(delete(claims).where(claims.c.chunk == chunk.id))
            back: dict[str, Any] = {"state": "ready", "worker": None, "heartbeat": None, "message": ""}
            if not reason:
                back["attempts"] = 0
            elif connection.execute(select(chunks.c.attempts).where(mine)).scalar_one() >= ATTEMPTS:
                end(connection, chunk.job_id, "failed", reason)
                return
            connection.execute(update(chunks).where(mine).values(**back))
            running = select(chunks.c.id).where(chunks.c.job == chunk.job_id, chunks.c.state == "running")
            if connection.execute(running.limit(1)).first() is None:
                connection.execute(update(jobs).where(jobs.c.id == chunk.job_id).values(state="queued"))

    def release_all(self, worker: str, reason: str) -> None:
        with reading(self._engine) as connection:
            of_worker = and_(chunks.c.worker == worker, chunks.c.state == "running")
            leased = connection.execute(select(chunks.c.id, chunks.c.job).where(of_worker)).all()
        for number, job in leased:
            self.release(Chunk(number, job, 0, False, 0), worker, reason)

    @retried
    def fail(self, chunk: Chunk, worker: str, message: str) -> None:
        with writing(self._engine) as connection:
            if _locked(connection, chunk, worker):
                end(connection, chunk.job_id, "failed", message)

    @retried
    def claim(
        self, chunk: Chunk, worker: str, signature: str, keys: Collection[str], seconds: float = 30.0
    ) -> set[str]:
        """Claim the values of texts. While no other unfinished job has the metric, nothing is written."""
        with reading(self._engine) as connection:
            if not _is_shared(connection, chunk):
                return set(keys)
        digest, granted = digest_of(signature), set[str]()
        late = now() - timedelta(seconds=seconds)
        holds = and_(chunks.c.state == "running", chunks.c.worker == claims.c.worker, chunks.c.heartbeat >= late)
        joined = select(claims.c.content_key).join(chunks, chunks.c.id == claims.c.chunk)
        others = joined.where(claims.c.digest == digest, holds, chunks.c.id != chunk.id)
        with writing(self._engine) as connection:
            take_turns(connection, f"claims {digest}")  # else one could delete another's new claim as stale
            if connection.execute(select(chunks.c.id).where(_held(chunk.id, worker))).first() is None:
                return set()
            for part in parts(sorted(keys), LISTED):
                some = among(connection, claims.c.content_key, part)
                taken = set(connection.execute(others.where(some)).scalars())
                free = [key for key in part if key not in taken]
                stale = and_(claims.c.digest == digest, among(connection, claims.c.content_key, free))
                connection.execute(delete(claims).where(stale))
                if free:
                    rows = [{"digest": digest, "content_key": k, "chunk": chunk.id, "worker": worker} for k in free]
                    connection.execute(insert(claims), rows)
                granted.update(free)
        return granted


def _queue(connection: Connection) -> list[JobInQueue]:
    workers = select(func.count(chunks.c.id)).where(chunks.c.job == jobs.c.id, chunks.c.state == "running")
    more = select(chunks.c.id).where(chunks.c.job == jobs.c.id).offset(SMALL_JOB_CHUNKS).limit(1)
    names = ("id", "project_id", "segments", "timing", "priority", "served")
    query = select(*(jobs.c[name] for name in names), workers.scalar_subquery(), more.scalar_subquery())
    return [
        JobInQueue(
            row[0], row[1], is_short(row[2] or (), timing=bool(row[3])), row[4] or 0, row[6], row[5], row[7] is None
        )
        for row in connection.execute(query.where(jobs.c.state.in_(UNFINISHED)))
    ]


def _busy(connection: Connection, others: ColumnElement[bool], late: datetime | None) -> list[int]:
    """Return the metrics of unfinished jobs whose judge is asked by a chunk of `others` now (`core.scoring.turns.judge_of`)."""
    unfinished = and_(jobs.c.id == job_metrics.c.job, jobs.c.state.in_(UNFINISHED))
    asks = select(job_metrics.c.id, job_metrics.c.metric).join(jobs, unfinished)
    judges = {
        row.id: judge_of(row.metric) for row in connection.execute(asks.where(job_metrics.c.metric.like("judge%")))
    }
    if not judges:
        return []
    runs = and_(chunks.c.metric.in_(judges), chunks.c.state == "running", others)
    fresh = runs if late is None else and_(runs, chunks.c.heartbeat >= late)
    asked = {judges[number] for number in connection.execute(select(chunks.c.metric).where(fresh)).scalars()}
    return [number for number, judge in judges.items() if judge in asked]


def _free(job_id: int, late: datetime | None, busy: Collection[int]) -> ColumnElement[bool]:
    ready = chunks.c.state == "ready"
    silent = and_(chunks.c.state == "running", chunks.c.heartbeat < late) if late is not None else None
    of_job = and_(chunks.c.job == job_id, ready if silent is None else or_(ready, silent))
    return and_(of_job, or_(chunks.c.metric.is_(None), chunks.c.metric.not_in(busy))) if busy else of_job


def _first(
    connection: Connection, job_id: int, late: datetime | None, skipped: int, busy: Collection[int]
) -> int | None:
    """Return the first chunk that can be leased, if there are more than `skipped` of them."""
    for which in (_free(job_id, None, busy), *([_free(job_id, late, busy)] if late is not None else [])):
        in_order = select(chunks.c.id).where(which).order_by(chunks.c.position).offset(skipped).limit(1)
        chunk_id: int | None = connection.execute(in_order).scalar()
        if chunk_id is not None:
            return chunk_id
    return None


def _taken(connection: Connection, job: JobInQueue, worker: str, late: datetime) -> Chunk | None:
    """Lease the first free chunk of a job. The row of a job is always locked before those of its chunks, so that no two wait for each other."""
    if not locked(connection, job.id):
        return None
    query = select(chunks).order_by(chunks.c.position).limit(1).with_for_update(skip_locked=True)
    asks = select(job_metrics.c.id).where(job_metrics.c.job == job.id, job_metrics.c.metric.like("judge%")).limit(1)
    if connection.execute(asks).first() is not None:
        take_turns(connection, "judges")  # else two workers could both find a judge free
    busy = _busy(connection, chunks.c.worker != worker, late)
    row = connection.execute(query.where(_free(job.id, None, busy))).first()
    row = row or connection.execute(query.where(_free(job.id, late, busy))).first()
    if row is None:
        return None
    if row.state == "running" and row.attempts >= ATTEMPTS:
        end(connection, job.id, "failed", f"the worker died {row.attempts} times without progress; see worker.log")
        return None
    same = and_(
        chunks.c.id == row.id, chunks.c.state == row.state, chunks.c.heartbeat.is_not_distinct_from(row.heartbeat)
    )
    values = {"state": "running", "worker": worker, "heartbeat": now(), "attempts": row.attempts + 1}
    if connection.execute(update(chunks).where(same).values(**values)).rowcount != 1:
        return None
    begun = {"state": "running", "started": func.coalesce(jobs.c.started, now()), "served": now()}
    connection.execute(update(jobs).where(jobs.c.id == job.id).values(**begun))
    return _chunk(connection, job, row)


def _chunk(connection: Connection, job: JobInQueue, row: Row[tuple[Any, ...]]) -> Chunk:
    fields = (row.id, job.id, job.project_id, job.short, job.priority)
    if row.metric is None:
        return Chunk(*fields, after=row.begins_after)
    of = connection.execute(select(job_metrics).where(job_metrics.c.id == row.metric)).one()
    return Chunk(*fields, _metric(of), tuple(unpacked(row.outputs)), of.abandoned)


def _metric(row: Row[tuple[Any, ...]]) -> PlannedMetric:
    fields = {name: getattr(row, name) for name in _METRIC}
    return PlannedMetric(name=row.metric, examples=tuple(row.examples), **fields)


def _held(chunk_id: int, worker: str) -> ColumnElement[bool]:
    return and_(chunks.c.id == chunk_id, chunks.c.worker == worker, chunks.c.state == "running")


def _locked(connection: Connection, chunk: Chunk, worker: str) -> bool:
    """Keep the rows of a job until the transaction ends. Return False unless the worker has the chunk."""
    if not locked(connection, chunk.job_id):
        return False
    return connection.execute(select(chunks.c.id).where(_held(chunk.id, worker))).first() is not None


def _end_chunk(connection: Connection, chunk: Chunk, values: Mapping[str, Any]) -> None:
    """Mark a chunk of a job, whose row is locked, as done, and end the job with its last chunk."""
    connection.execute(delete(claims).where(claims.c.chunk == chunk.id))
    ended = {"state": "done", "outputs": None, "message": "", **values}
    connection.execute(update(chunks).where(chunks.c.id == chunk.id).values(**ended))
    left = select(chunks.c.id).where(chunks.c.job == chunk.job_id, chunks.c.state != "done").limit(1)
    if connection.execute(left).first() is not None:
        return
    if _is_outdated(connection, chunk.job_id):  # something was imported meanwhile: score that too
        _plan_again(connection, chunk.job_id)
    else:
        end_with_outcome(connection, chunk.job_id)


def _is_outdated(connection: Connection, job_id: int) -> bool:
    both = select(jobs.c.imports, jobs.c.timing, projects.c.imports).join(projects, projects.c.id == jobs.c.project_id)
    row = connection.execute(both.where(jobs.c.id == job_id)).first()
    return row is not None and not row[1] and row[0] is not None and row[0] != (row[2] or 0)


def _plan_again(connection: Connection, job_id: int) -> None:
    forget_plan(connection, job_id)
    add_planner(connection, job_id, 0, 0)


def _add_metrics(connection: Connection, job_id: int, metrics: Sequence[PlannedMetric], window: OutputWindow) -> None:
    planned = [
        m._asdict() | {"job": job_id, "metric": m.name, "abandoned": "", "total": window.total, "known": 0}
        for m in metrics
    ]
    for row in planned:  # one by one, because their ids are their order
        del row["name"]
        row["examples"] = list(row["examples"])
        connection.execute(insert(job_metrics).values(**row))
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(imports=window.version))


def _add_chunks(
    connection: Connection, job_id: int, after: int | None, planned: Sequence[PlannedChunk], known: Mapping[str, int]
) -> None:
    query = select(job_metrics.c.metric, job_metrics.c.id).where(job_metrics.c.job == job_id)
    of = {row.metric: row.id for row in connection.execute(query)}
    for metric, n in known.items():
        counted = update(job_metrics).where(job_metrics.c.id == of[metric])
        connection.execute(counted.values(known=job_metrics.c.known + n))
    last = connection.execute(select(func.max(chunks.c.position)).where(chunks.c.job == job_id)).scalar() or 0
    positions = count(last + 1)
    rows = [
        new_chunk()
        | {"job": job_id, "metric": of[chunk.metric], "position": next(positions)}
        | {"outputs": packed(chunk.outputs), "n": len(chunk.outputs), "size": float(chunk.size)}
        for chunk in planned
    ]
    if rows:
        connection.execute(insert(chunks), rows)
    if after is not None:
        add_planner(connection, job_id, after, next(positions))


def _is_shared(connection: Connection, chunk: Chunk) -> bool:
    """Return whether another unfinished job has the metric of a chunk (or, for one that plans, a metric of its job)."""
    unfinished = select(jobs.c.id, jobs.c.metrics).where(jobs.c.state.in_(UNFINISHED))
    metrics = {number: set(names) for number, names in connection.execute(unfinished).all()}
    mine = {chunk.metric.name} if chunk.metric else metrics.get(chunk.job_id, set())
    return any(mine & names for number, names in metrics.items() if number != chunk.job_id)


def packed(numbers: Numbers) -> bytes:
    """Return ids in little space."""
    return zlib.compress(np.diff(np.sort(numbers), prepend=0).astype("<i8").tobytes())


def unpacked(data: bytes | None) -> list[int]:
    if data is None:
        return []
    ids: list[int] = np.cumsum(np.frombuffer(zlib.decompress(data), "<i8")).tolist()
    return ids
