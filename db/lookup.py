"""Lookups that several repositories share: projects, the outputs of a project, and long lists of keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, select

from core.data import OutputKey
from core.errors import UserError
from db.tables import outputs, projects, segment_references, segments

T = TypeVar("T")
AT_ONCE = 500  # keys in one IN list; SQLite and others bound the number of parameters


def require_project(connection: Connection, project_id: int, *, lock: bool = False) -> None:
    """Raise `UserError` if there is no such project. `lock` keeps its row until the transaction ends."""
    found = select(projects.c.id).where(projects.c.id == project_id)
    if connection.execute(found.with_for_update() if lock else found).first() is None:
        raise no_such_project(project_id)


def no_such_project(project_id: int) -> UserError:
    return UserError("there is no such project", got=str(project_id), hint="It may have been deleted; choose another")


def select_outputs(project_id: int, *columns: Any) -> Select[Any]:
    """Select the key of every output of a project (system, doc_id, segment_id), then `columns`."""
    key = (outputs.c.system, segments.c.doc_id, segments.c.segment_id)
    return select(*key, *columns).join_from(outputs, segments).where(segments.c.project_id == project_id)


def output_ids(connection: Connection, project_id: int) -> dict[OutputKey, int]:
    rows = connection.execute(select_outputs(project_id, outputs.c.id))
    return {OutputKey(system, doc_id, segment_id): i for system, doc_id, segment_id, i in rows}


def references(connection: Connection, project_id: int) -> dict[int, list[str]]:
    """Return the reference texts of a project by the id of their segment."""
    return grouped(
        connection,
        select(segment_references.c.segment, segment_references.c.text)
        .join_from(segment_references, segments)
        .where(segments.c.project_id == project_id)
        .order_by(segment_references.c.segment, segment_references.c.position),
    )


def grouped(connection: Connection, pairs: Select[Any]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = defaultdict(list)
    for key, value in connection.execute(pairs):
        groups[key].append(value)
    return groups


def parts(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the keys in parts that fit into one IN list."""
    for start in range(0, len(keys), AT_ONCE):
        yield keys[start : start + AT_ONCE]
