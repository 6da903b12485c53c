"""Projects and their texts."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager

from sqlalchemy import ColumnElement, Connection, Engine, Select, Table, delete, func, insert, select, true, update

from core.data import Dataset, ExternalScores, HumanScore, Judgement, Output, Segment, SegmentKey
from core.data import grouped as by_key
from core.ports.labels import LabelBatch
from core.ports.projects import ImportReport, Project
from core.progress import Progress, no_progress
from db import imports, slices, tables
from db.columns import now
from db.engine import inserted, reading, writing
from db.failures import require_name, retried, unique
from db.lookup import (
    grouped,
    hidden_project,
    no_such_project,
    references,
    require_project,
    select_outputs,
    with_roles,
)
from db.tables import campaigns, human_scores, jobs, outputs, projects, segments


class SqlProjects:
    """`core.ports.projects.Projects` over a database. The texts of a campaign are a project with its name that is in no list."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, project_id: int) -> Project:
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            return _projects(connection, project_id)[0]

    def create(self, name: str, *, sample: bool = False) -> Project:
        name = _checked(name)
        slices.remove_interrupted(self._engine, name)
        with _unique_name(name), writing(self._engine) as connection:
            _refuse_hidden(connection, name)
            made = inserted(connection, insert(projects).values(name=name, created=now(), sample=sample))
            return _projects(connection, made)[0]

    def rename(self, project_id: int, name: str) -> None:
        name = _checked(name)
        slices.remove_interrupted(self._engine, name)
        with _unique_name(name), writing(self._engine) as connection:
            require_project(connection, project_id)
            if with_roles(connection, project_id) != project_id:
                raise no_such_project(project_id)
            _refuse_hidden(connection, name)
            connection.execute(update(projects).where(projects.c.id == project_id).values(name=name))

    def delete(self, project_id: int) -> None:
        """Delete a project with its texts, jobs, labels, calibrations and campaigns. Scores stay, because they are cached by text."""
        with writing(self._engine) as connection:
            hidden = slices.hide(connection, self._engine, project_id)
            slices.hide_campaigns(connection, project_id)
            connection.execute(delete(jobs).where(jobs.c.project_id == project_id))
        hidden.remove()

    @retried
    def add(
        self, project_id: int, dataset: Dataset, labels: Sequence[LabelBatch] = (), progress: Progress = no_progress,
        judgements: Sequence[Judgement] = (), *, external: Sequence[ExternalScores] = (), replace: Collection[str] = (),
        corrected: Collection[str] = (),
    ) -> ImportReport:  # fmt: skip
        given = imports.Given(dataset, labels, progress, judgements, external, replace, corrected)
        return imports.add(self._engine, project_id, given)

    def dataset(self, project_id: int) -> Dataset:
        """Return all data of a project as it was imported, in document order. Raises `UserError` if it does not exist."""
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            return _dataset(connection, project_id)

    def document(self, project_id: int, doc_id: str) -> Dataset:
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            return _dataset(connection, project_id, doc_id)

    def outline(self, project_id: int) -> dict[SegmentKey, tuple[str, ...]]:
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            in_order = select_outputs(project_id).order_by(segments.c.position, outputs.c.position)
            found = by_key((SegmentKey(doc, seg), system) for system, doc, seg in connection.execute(in_order))
            return {key: tuple(systems) for key, systems in found.items()}

    def list(self) -> builtins.list[Project]:
        with reading(self._engine) as connection:
            return _projects(connection)


def _checked(name: str) -> str:
    require_name("a project", name)
    return name.strip()


def _refuse_hidden(connection: Connection, name: str) -> None:
    hidden = select(projects.c.id).where(projects.c.name == name, projects.c.importing.is_not(None))
    if connection.execute(hidden).first() is not None:
        raise hidden_project(name)


def _unique_name(name: str) -> AbstractContextManager[None]:
    return unique(f"project “{name}”", "Choose another name, or open that project")


def _projects(connection: Connection, project_id: int | None = None) -> builtins.list[Project]:
    of_these = true() if project_id is None else segments.c.project_id == project_id
    chosen = campaigns.c.id.is_(None) if project_id is None else projects.c.id == project_id
    with_campaign = projects.outerjoin(campaigns, campaigns.c.texts == projects.c.id)
    found = select(projects, campaigns.c.name.label("campaign")).select_from(with_campaign)
    rows = connection.execute(found.where(chosen, projects.c.importing.is_(None))).all()
    count = select(segments.c.project_id, func.count().label("n")).where(of_these).group_by(segments.c.project_id)
    n_segments = {row.project_id: row.n for row in connection.execute(count)}
    n_outputs = {row.project_id: row.n for row in connection.execute(count.join(outputs))}
    systems = grouped(connection, _systems(of_these))
    scored = grouped(connection, _names(human_scores, of_these))
    judged = grouped(connection, _names(tables.judgements, of_these))
    return [
        Project(
            row.id,
            row.campaign or row.name,
            row.created,
            row.sample,
            n_segments.get(row.id, 0),
            n_outputs.get(row.id, 0),
            tuple(systems[row.id]),
            tuple(scored[row.id]),
            tuple(judged[row.id]),
        )
        for row in sorted(rows, key=lambda row: row.name)  # servers sort by their own language
    ]


def _names(table: Table, where: ColumnElement[bool]) -> Select[tuple[int, str]]:
    """Select the names of human scores or judgements in the order of their import."""
    return (
        select(segments.c.project_id, table.c.name)
        .join_from(table, outputs)
        .join(segments)
        .where(where)
        .group_by(segments.c.project_id, table.c.name)
        .order_by(func.min(table.c.id))
    )


def _systems(where: ColumnElement[bool]) -> Select[tuple[int, str]]:
    """Select the systems in the order of their first output, as in `Dataset.systems`."""
    rank = (
        func.row_number()
        .over(
            partition_by=(segments.c.project_id, outputs.c.system), order_by=(segments.c.position, outputs.c.position)
        )
        .label("rank")
    )
    every = (
        select(segments.c.project_id, outputs.c.system, segments.c.position, outputs.c.position.label("within"), rank)
        .join_from(outputs, segments)
        .where(where)
        .subquery()
    )
    return (
        select(every.c.project_id, every.c.system).where(every.c.rank == 1).order_by(every.c.position, every.c.within)
    )


def _dataset(connection: Connection, project_id: int, doc_id: str | None = None) -> Dataset:
    """Return a project, or the texts of one of its documents."""
    here = true() if doc_id is None else segments.c.doc_id == doc_id
    by_segment = references(connection, project_id, here)
    texts = connection.execute(
        select(segments).where(segments.c.project_id == project_id, here).order_by(segments.c.position)
    ).all()
    written = select_outputs(project_id, outputs.c.text).where(here).order_by(segments.c.position, outputs.c.position)
    scored = select_outputs(project_id, human_scores.c.name, human_scores.c.value).join(human_scores)
    return Dataset(
        tuple(Segment(row.doc_id, row.segment_id, row.source, tuple(by_segment[row.id])) for row in texts),
        tuple(Output(*row) for row in connection.execute(written)),
        tuple(HumanScore(*row) for row in connection.execute(scored.order_by(human_scores.c.id)))
        if doc_id is None
        else (),
    )
