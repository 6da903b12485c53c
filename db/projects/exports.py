"""The content of a project in parts of a few segments, each read in a transaction of its own."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, select

from core.data import Dataset, OutputKey, Value
from db.engine import Repository, reading
from db.lookup import outputs, require_project, segment_references, segments, select_outputs
from db.projects.repository import read_part
from db.scores.repository import VALUE, scored

SEGMENTS, FEWEST = 200, 5
"""Most and fewest segments per part. A split by `CHARACTERS` may leave fewer."""
ROWS = 5000
"""Approximate outputs per part. `texts` also splits parts by `CHARACTERS`; `keys` and `scores` do not."""
CHARACTERS = 4_000_000
"""A part has at most this many characters of texts, unless it is a single segment."""


class SqlExports(Repository):
    """`core.ports.files.Exports` over a database."""

    def texts(self, project_id: int) -> Iterator[Dataset]:
        for ids in self._parts_by_characters(project_id):
            with reading(self._engine) as connection:
                part = read_part(connection, segments.c.id.in_(ids))
            yield part

    def keys(self, project_id: int) -> Iterator[Sequence[OutputKey]]:
        for ids in self._segments(project_id):
            with reading(self._engine) as connection:
                rows = connection.execute(_ordered(select_outputs(project_id).where(segments.c.id.in_(ids)))).all()
            yield [OutputKey(*row) for row in rows]

    def scores(self, project_id: int, signature: str) -> Iterator[Sequence[tuple[OutputKey, Value]]]:
        with reading(self._engine) as connection:
            every = _ordered(scored(connection, project_id, signature, *VALUE))
        for ids in self._segments(project_id):
            with reading(self._engine) as connection:
                rows = connection.execute(every.where(segments.c.id.in_(ids))).all()
            yield [(OutputKey(*row[:3]), Value(*row[3:])) for row in rows]

    def n_references(self, project_id: int) -> int:
        query = select(func.count()).select_from(segment_references.join(segments))
        return int(self._scalar(query.where(segments.c.project_id == project_id)) or 0)

    def most_references(self, project_id: int) -> int:
        counted = select(func.count()).select_from(segment_references.join(segments))
        each = counted.where(segments.c.project_id == project_id).group_by(segments.c.id).subquery()
        return int(self._scalar(select(func.max(each.c[0]))) or 0)

    def _parts_by_characters(self, project_id: int) -> Iterator[Sequence[int]]:
        for ids in self._segments(project_id):
            measured = select(segments.c.id, _characters()).where(segments.c.id.in_(ids)).order_by(segments.c.position)
            with reading(self._engine) as connection:
                sizes = connection.execute(measured).all()
            part, characters = list[int](), 0
            for number, size in sizes:
                if part and characters + size > CHARACTERS:
                    yield part
                    part, characters = [], 0
                part.append(number)
                characters += size
            if part:
                yield part

    def _segments(self, project_id: int) -> Iterator[Sequence[int]]:
        """Yield the ids of the segments in document order, in parts."""
        mine = segments.c.project_id == project_id
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            ids = array(
                "q", connection.execute(select(segments.c.id).where(mine).order_by(segments.c.position)).scalars()
            )
            some = select(func.count()).select_from(outputs).where(outputs.c.segment.in_(ids[:SEGMENTS].tolist()))
            per_segment = connection.execute(some).scalar_one() / max(1, len(ids[:SEGMENTS]))
        size = round(min(SEGMENTS, max(FEWEST, ROWS / max(1.0, per_segment))))
        for start in range(0, len(ids), size):
            yield ids[start : start + size].tolist()


def _characters() -> ColumnElement[int]:
    """Return the characters of a segment with its references and outputs."""
    characters: ColumnElement[int] = func.coalesce(func.length(segments.c.source), 0)
    for texts in (segment_references, outputs):
        length = select(func.coalesce(func.sum(func.length(texts.c.text)), 0)).where(texts.c.segment == segments.c.id)
        characters = characters + length.scalar_subquery()
    return characters


def _ordered(query: Any) -> Any:
    return query.order_by(segments.c.position, outputs.c.position)
