"""What workers read of a project: lengths to plan with, the texts of a chunk, and all texts in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Engine, FromClause, Row, Select, Subquery, func, select, tuple_

from core.data import Item, SegmentKey
from core.ports.jobs import Chunk, OutputWindow
from db.engine import reading
from db.lookup import LISTED, among, grouped, outputs, parts, require_project, segment_ids, segment_references, segments
from db.tables import jobs, projects

WINDOW = 250_000
"""Outputs that are planned at once. A planner needs about 100 MB for as many."""
STREAMED, STREAMED_OUTPUTS = 500, 5_000
"""Segments and outputs in one part of a stream; a segment is never split."""


def window(connection: Connection, chunk: Chunk) -> OutputWindow:
    """Return the outputs that a chunk plans. Raises `UserError` if the project is gone."""
    require_project(connection, chunk.project_id)
    row = connection.execute(select(jobs.c.segments).where(jobs.c.id == chunk.job_id)).one()
    if row.segments:
        candidates = [
            one
            for part in parts(
                [*segment_ids(connection, chunk.project_id, (SegmentKey(*key) for key in row.segments)).values()]
            )
            for one in connection.execute(_lengths(outputs, outputs.c.segment.in_(part)))
        ]
        return _columns(connection, chunk, candidates, None, None)
    mine = select(func.count(), func.max(outputs.c.id)).join_from(outputs, segments)
    n, last = connection.execute(mine.where(segments.c.project_id == chunk.project_id)).one()
    of_project = segments.c.project_id == chunk.project_id
    if n <= WINDOW:
        return _columns(connection, chunk, connection.execute(_lengths(outputs, of_project)).all(), None, None)
    distinct = select(func.count(func.distinct(outputs.c.content_key))).join_from(outputs, segments)
    total = connection.execute(distinct.where(of_project)).scalar_one()
    after = chunk.after
    while True:  # ids between those of the project belong to others
        some = select(outputs).where(outputs.c.id > after).order_by(outputs.c.id).limit(WINDOW).subquery()
        candidates = list(connection.execute(_lengths(some, of_project)).all())
        ended = connection.execute(select(func.max(some.c.id))).scalar()
        after = last if ended is None else min(ended, last)
        if candidates or after >= last:
            return _columns(connection, chunk, candidates, total, after if after < last else None)


def _lengths(of: FromClause | Subquery, where: Any) -> Select[Any]:
    """Select the columns of `OutputWindow` for outputs."""
    mine = segment_references.c.segment == of.c.segment
    reference_lengths = select(func.coalesce(func.sum(func.length(segment_references.c.text)), 0)).where(mine)
    n = select(func.count()).select_from(segment_references).where(mine)
    columns = (of.c.id, of.c.content_key, of.c.segment, func.length(of.c.text), func.length(segments.c.source))
    joined = select(*columns, reference_lengths.scalar_subquery(), n.scalar_subquery()).join_from(
        of, segments, segments.c.id == of.c.segment
    )
    return joined.where(where)


def _columns(
    connection: Connection, chunk: Chunk, rows: Sequence[Row[Any]], total: int | None, after: int | None
) -> OutputWindow:
    first = {key: row for row in reversed(rows) for key in (row[1],)}
    distinct = sorted(first.values(), key=lambda row: int(row[0]))
    numbers = np.array([[r[0], r[2], r[3], -1 if r[4] is None else r[4], r[5], r[6]] for r in distinct], dtype=np.int64)
    columns = numbers.reshape(-1, 6).T
    version = connection.execute(select(projects.c.imports).where(projects.c.id == chunk.project_id)).scalar() or 0
    keys = [row[1] for row in distinct]
    n = len(keys) if total is None else total
    ids, of, hypothesis, source, references, n_references = columns
    return OutputWindow(ids, keys, of, hypothesis, source, references, n_references, n, version, after)


def items(connection: Connection, numbers: Sequence[int]) -> dict[int, Item]:
    """Return the texts of outputs by id, in the order of the ids."""
    return {
        i: item
        for part in parts(sorted(numbers), LISTED)
        for i, _, item in _texts(connection, among(connection, outputs.c.id, part), outputs.c.id)
    }


def _texts(connection: Connection, where: ColumnElement[bool], *order: Any) -> list[tuple[int, int, Item]]:
    """Return outputs: their id, the id of their segment, and their texts."""
    columns = (outputs.c.id, outputs.c.segment, outputs.c.text, segments.c.source)
    rows = connection.execute(select(*columns).join_from(outputs, segments).where(where).order_by(*order)).all()
    references = _references(connection, sorted({row.segment for row in rows}))
    return [(i, of, Item(source, text, tuple(references.get(of, ())))) for i, of, text, source in rows]


def _references(connection: Connection, segment_ids: Sequence[int]) -> dict[int, list[str]]:
    references: dict[int, list[str]] = {}
    texts = select(segment_references.c.segment, segment_references.c.text)
    for part in parts(segment_ids, LISTED):
        mine = texts.where(among(connection, segment_references.c.segment, part))
        references |= grouped(connection, mine.order_by(segment_references.c.segment, segment_references.c.position))
    return references


def stream(engine: Engine, project_id: int) -> Iterator[list[tuple[int, SegmentKey, Item]]]:
    """Yield the outputs of a project, those of some segments at a time. No transaction stays open between them."""
    key, n = tuple_(segments.c.doc_id, segments.c.segment_id), func.count(outputs.c.id)
    counted = select(n).where(outputs.c.segment == segments.c.id).correlate(segments).scalar_subquery()
    in_order = select(segments.c.id, segments.c.doc_id, segments.c.segment_id, counted.label("n"))
    in_order = in_order.where(segments.c.project_id == project_id)
    in_order = in_order.order_by(segments.c.doc_id, segments.c.segment_id).limit(STREAMED)
    last: SegmentKey | None = None
    while True:
        with reading(engine) as connection:
            rows = connection.execute(in_order if last is None else in_order.where(key > last)).all()
        if not rows:
            return
        for part in _parts(rows):
            with reading(engine) as connection:
                read = _texts(connection, outputs.c.segment.in_(part), outputs.c.segment, outputs.c.id)
            yield [(i, part[of], item) for i, of, item in read]
        last = SegmentKey(rows[-1].doc_id, rows[-1].segment_id)


def _parts(rows: Sequence[Any]) -> Iterator[dict[int, SegmentKey]]:
    """Yield the ids and keys of segments, of at most `STREAMED_OUTPUTS` outputs at a time."""
    part, size = dict[int, SegmentKey](), 0
    for row in rows:
        if part and size + row.n > STREAMED_OUTPUTS:
            yield part
            part, size = {}, 0
        part[row.id] = SegmentKey(row.doc_id, row.segment_id)
        size += row.n
    yield part
