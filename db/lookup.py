"""Lookups that several repositories share: whether a project exists, and the ids of its outputs."""

from __future__ import annotations

from sqlalchemy import Connection, select

from core.data import OutputKey
from core.errors import UserError
from db.tables import outputs, projects, segments


def require_project(connection: Connection, project_id: int, *, lock: bool = False) -> None:
    """Raise `UserError` if there is no such project. `lock` keeps its row until the transaction ends."""
    found = select(projects.c.id).where(projects.c.id == project_id)
    if connection.execute(found.with_for_update() if lock else found).first() is None:
        raise no_such_project(project_id)


def no_such_project(project_id: int) -> UserError:
    return UserError("there is no such project", got=str(project_id), hint="It may have been deleted; choose another")


def output_ids(connection: Connection, project_id: int) -> dict[OutputKey, int]:
    """Return the id of every output of a project."""
    found = select(outputs.c.system, segments.c.doc_id, segments.c.segment_id, outputs.c.id).join_from(
        outputs, segments
    )
    rows = connection.execute(found.where(segments.c.project_id == project_id))
    return {OutputKey(system, doc, segment): i for system, doc, segment, i in rows}
