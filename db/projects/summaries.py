"""What the list of projects shows of each: counted once after an import and kept in `projects.summary`.

A summary holds the number of the import after which it was counted. If that is not the last one, it is counted again when it is read.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, FromClause, Select, func, select, update

from core.errors import UserError
from db.engine import reading, writing
from db.lookup import human_scores, judgements, outputs, segments
from db.tables import projects


class ProjectSummary(NamedTuple):
    """Counts and names, those of systems in the order of their first output."""

    imports: int
    n_segments: int
    n_outputs: int
    systems: tuple[str, ...]
    human_scores: tuple[str, ...]
    judged: tuple[str, ...]


def summary_of(connection: Connection, project_id: int, imports: int | None, kept: Any) -> ProjectSummary:
    """Return the summary of a project whose row has these values of `imports` and `summary`."""
    if kept is not None and kept[0] == imports:
        number, n_segments, n_outputs, *names = kept
        return ProjectSummary(number, n_segments, n_outputs, *map(tuple, names))
    return _counted(connection, project_id, imports or 0)


def keep_summary(engine: Engine, project_id: int) -> None:
    """Count a project and keep the result, unless it changes meanwhile. Storage that fails now costs time later, and nothing else."""
    with suppress(UserError):
        row = projects.c.id == project_id
        with reading(engine) as connection:
            imports = connection.execute(select(projects.c.imports).where(row)).scalar()
            if imports is None:
                return
            summary = _counted(connection, project_id, imports)
        with writing(engine) as connection:
            connection.execute(update(projects).where(row, projects.c.imports == imports).values(summary=summary))


def _counted(connection: Connection, project_id: int, imports: int) -> ProjectSummary:
    def number(of: Select[int]) -> int:
        return connection.execute(of.where(segments.c.project_id == project_id)).scalar_one()

    def names(table: FromClause) -> tuple[str, ...]:
        in_order = func.min(table.c.id)
        query = select(table.c.name).join_from(table, outputs).join(segments).group_by(table.c.name).order_by(in_order)
        return tuple(connection.execute(query.where(segments.c.project_id == project_id)).scalars())

    every = select(func.count()).select_from(segments)
    return ProjectSummary(
        imports, number(every), number(every.join(outputs)), _systems(connection, project_id), names(human_scores),
        names(judgements),
    )  # fmt: skip


def _systems(connection: Connection, project_id: int) -> tuple[str, ...]:
    rank = func.row_number().over(partition_by=outputs.c.system, order_by=(segments.c.position, outputs.c.position))
    every = (
        select(outputs.c.system, segments.c.position, outputs.c.position.label("within"), rank.label("rank"))
        .join_from(outputs, segments)
        .where(segments.c.project_id == project_id)
        .subquery()
    )
    first = select(every.c.system).where(every.c.rank == 1).order_by(every.c.position, every.c.within)
    return tuple(connection.execute(first).scalars())
