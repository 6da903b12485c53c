"""External scores. They belong to the outputs of a project and stay when references change."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, delete, func, literal, select

from core.data import OutputKey, SegmentKey, SourceFile, Value
from core.errors import UserError
from core.ports.scores import ExternalMetric
from db.columns import Json
from db.lookup import outputs, require_no_import, segments, select_outputs
from db.scores.arrays import ArraySource, Found, ProjectArrays
from db.tables import external_metrics, external_scores


def listed(connection: Connection, project_id: int) -> list[ExternalMetric]:
    query = (
        select(external_metrics, func.count(external_scores.c.output).label("n"))
        .outerjoin(external_scores)
        .where(external_metrics.c.project_id == project_id)
        .group_by(external_metrics.c.id)
    )
    return [
        ExternalMetric(
            row.name, row.higher_is_better, tuple(SourceFile(*file) for file in row.files), row.n, row.created
        )
        for row in sorted(connection.execute(query), key=lambda row: row.name)  # servers sort by their own language
    ]


def table(
    connection: Connection, project_id: int, signature: str, segment: SegmentKey | None = None
) -> dict[OutputKey, Value]:
    """Return the values with an external signature in the order of the project, of one segment if given."""
    metric = next((m for m in listed(connection, project_id) if m.signature == signature), None)
    if metric is None:
        return {}
    query = (
        select_outputs(project_id, external_scores)
        .join(external_scores)
        .join(external_metrics)
        .where(external_metrics.c.project_id == project_id, external_metrics.c.name == metric.name)
        .order_by(segments.c.position, outputs.c.position)
    )
    if segment is not None:
        query = query.where(segments.c.doc_id == segment.doc_id, segments.c.segment_id == segment.segment_id)
    return {
        OutputKey(row.system, row.doc_id, row.segment_id): Value(row.value, row.status, row.reason)
        for row in connection.execute(query)
    }


def source(arrays: ProjectArrays, project_id: int, metric: ExternalMetric) -> ArraySource:
    """Return where the column of an external metric comes from."""
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == metric.name)

    def changed(connection: Connection) -> int:
        created = connection.execute(select(external_metrics.c.created).where(*mine)).scalar()
        return 0 if created is None else round(created.timestamp() * 1e6)

    def values(connection: Connection, _: int) -> Iterator[Found]:
        of = external_scores.c
        query = select(of.output, of.value, of.status, of.reason, literal(None, Json))
        return arrays.by_id(connection, project_id, query.join_from(external_scores, external_metrics).where(*mine))

    return ArraySource(metric.signature, changed, values, grows=False)


def remove(connection: Connection, project_id: int, name: str) -> None:
    """Delete an external metric and its values. Raises `UserError` if the project has none with this name."""
    require_no_import(connection, project_id)
    mine = (external_metrics.c.project_id == project_id, external_metrics.c.name == name)
    if not connection.execute(delete(external_metrics).where(*mine)).rowcount:
        raise UserError(f"there is no external metric “{name}”", hint="It may have been removed already")
