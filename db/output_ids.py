"""The ids of the outputs of a project, for what is stored beside them."""

from __future__ import annotations

from sqlalchemy import Connection, select

from core.data import OutputKey
from db.tables import outputs, segments


def output_ids(connection: Connection, project_id: int) -> dict[OutputKey, int]:
    """Every output of a project with its id."""
    found = select(outputs.c.system, segments.c.doc_id, segments.c.segment_id, outputs.c.id).join_from(
        outputs, segments
    )
    rows = connection.execute(found.where(segments.c.project_id == project_id))
    return {OutputKey(system, doc, segment): i for system, doc, segment, i in rows}
