"""Projects and their texts."""

from __future__ import annotations

import builtins
from collections import defaultdict
from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Connection, Engine, Select, delete, func, insert, select, true, update

from core.data import Dataset, ExternalScores, HumanScore, Judgement, Output, Segment
from core.errors import UserError
from core.ports.labels import LabelBatch
from core.ports.projects import ImportReport, Project
from core.progress import Progress, no_progress
from db import external as elsewhere
from db import imports
from db import judgements as numbers
from db import labels as log
from db.engine import inserted, reading, writing
from db.failures import Conflict
from db.lookup import no_such_project, require_project
from db.tables import human_scores, judgements, now, outputs, projects, segment_references, segments


class SqlProjects:
    """`core.ports.projects.Projects` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, project_id: int) -> Project:
        with reading(self._engine) as connection:
            found = _projects(connection, project_id)
        if not found:
            raise no_such_project(project_id)
        return found[0]

    def create(self, name: str, *, sample: bool = False) -> Project:
        name = _checked(name)
        try:
            with writing(self._engine) as connection:
                made = inserted(connection, insert(projects).values(name=name, created=now(), sample=sample))
                return _projects(connection, made)[0]
        except Conflict as error:
            raise _taken(name) from error

    def rename(self, project_id: int, name: str) -> None:
        name = _checked(name)
        try:
            with writing(self._engine) as connection:
                if not connection.execute(
                    update(projects).where(projects.c.id == project_id).values(name=name)
                ).rowcount:
                    raise no_such_project(project_id)
        except Conflict as error:
            raise _taken(name) from error

    def delete(self, project_id: int) -> None:
        """Delete a project with its texts, jobs, labels and calibrations. Scores stay, because they are cached by text."""
        with writing(self._engine) as connection:
            if not connection.execute(delete(projects).where(projects.c.id == project_id)).rowcount:
                raise no_such_project(project_id)

    def add(
        self, project_id: int, dataset: Dataset, labels: Sequence[LabelBatch] = (), progress: Progress = no_progress,
        judgements: Sequence[Judgement] = (), *, external: Sequence[ExternalScores] = (), replace: Collection[str] = (),
        corrected: Collection[str] = (),
    ) -> ImportReport:  # fmt: skip
        """Add texts, labels, judgements and external scores in one transaction."""
        try:
            return self._add(project_id, dataset, labels, progress, judgements, external, replace, corrected)
        except Conflict:  # another process recorded a rater, or one of the actions, at the same moment
            return self._add(project_id, dataset, labels, progress, judgements, external, replace, corrected)

    def _add(
        self, project_id: int, dataset: Dataset, labels: Sequence[LabelBatch], progress: Progress, given: Sequence[Judgement],
        external: Sequence[ExternalScores], replace: Collection[str], corrected: Collection[str],
    ) -> ImportReport:  # fmt: skip
        with writing(self._engine) as connection:
            require_project(connection, project_id, lock=True)
            report = imports.add(connection, project_id, dataset)
            if labels:
                report = report._replace(labelled=log.record(connection, project_id, labels, progress))
            if given:
                new, known = numbers.record(connection, project_id, given, corrected)
                report = report._replace(judgements=new, unchanged=report.unchanged + known)
            if external:
                new, known = elsewhere.record(connection, project_id, external, replace)
                report = report._replace(metric_scores=new, unchanged=report.unchanged + known)
            return report

    def dataset(self, project_id: int) -> Dataset:
        """Return all data of a project as it was imported, in document order. Raises `UserError` if it does not exist."""
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            return _dataset(connection, project_id)

    def list(self) -> builtins.list[Project]:
        """Return all projects, ordered by name."""
        with reading(self._engine) as connection:
            return _projects(connection)


def _checked(name: str) -> str:
    name = name.strip()
    if not name:
        raise UserError("a project needs a name", hint="Type one")
    return name


def _taken(name: str) -> UserError:
    return UserError(f"there is a project “{name}” already", hint="Choose another name, or open that project")


def _projects(connection: Connection, project_id: int | None = None) -> builtins.list[Project]:
    of_these = true() if project_id is None else segments.c.project_id == project_id
    chosen = true() if project_id is None else projects.c.id == project_id
    rows = connection.execute(select(projects).where(chosen).order_by(projects.c.name)).all()
    count = select(segments.c.project_id, func.count().label("n")).where(of_these).group_by(segments.c.project_id)
    n_segments = {row.project_id: row.n for row in connection.execute(count)}
    n_outputs = {row.project_id: row.n for row in connection.execute(count.join(outputs))}
    systems, names = defaultdict(list), defaultdict(list)
    for ran in connection.execute(_systems(of_these)):
        systems[ran.project_id].append(ran.system)
    scored = (
        select(segments.c.project_id, human_scores.c.name)
        .join_from(human_scores, outputs)
        .join(segments)
        .where(of_these)
        .group_by(segments.c.project_id, human_scores.c.name)
        .order_by(func.min(human_scores.c.id))
    )
    for judged in connection.execute(scored):
        names[judged.project_id].append(judged.name)
    by_rater = (
        select(segments.c.project_id, judgements.c.name)
        .join_from(judgements, outputs)
        .join(segments)
        .where(of_these)
        .group_by(segments.c.project_id, judgements.c.name)
        .order_by(func.min(judgements.c.id))
    )
    single = defaultdict(list)
    for given in connection.execute(by_rater):
        single[given.project_id].append(given.name)
    return [
        Project(
            row.id,
            row.name,
            row.created,
            row.sample,
            n_segments.get(row.id, 0),
            n_outputs.get(row.id, 0),
            tuple(systems[row.id]),
            tuple(names[row.id]),
            tuple(single[row.id]),
        )
        for row in rows
    ]


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


def _dataset(connection: Connection, project_id: int) -> Dataset:
    mine = segments.c.project_id == project_id
    references: dict[int, builtins.list[str]] = defaultdict(list)
    for row in connection.execute(
        select(segment_references.c.segment, segment_references.c.text)
        .join_from(segment_references, segments)
        .where(mine)
        .order_by(segment_references.c.segment, segment_references.c.position)
    ):
        references[row.segment].append(row.text)
    texts = connection.execute(select(segments).where(mine).order_by(segments.c.position)).all()
    written = connection.execute(
        select(outputs.c.system, segments.c.doc_id, segments.c.segment_id, outputs.c.text)
        .join_from(outputs, segments)
        .where(mine)
        .order_by(segments.c.position, outputs.c.position)
    ).all()
    judged = connection.execute(
        select(outputs.c.system, segments.c.doc_id, segments.c.segment_id, human_scores.c.name, human_scores.c.value)
        .join_from(human_scores, outputs)
        .join(segments)
        .where(mine)
        .order_by(human_scores.c.id)
    ).all()
    return Dataset(
        tuple(Segment(row.doc_id, row.segment_id, row.source, tuple(references[row.id])) for row in texts),
        tuple(Output(*row) for row in written),
        tuple(HumanScore(*row) for row in judged),
    )
