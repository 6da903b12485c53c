"""Projects, the texts of some of their segments, and the search for a phrase in all of them."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    FromClause,
    LargeBinary,
    Select,
    and_,
    case,
    cast,
    collate,
    delete,
    false,
    func,
    insert,
    literal,
    select,
    true,
    update,
)

from core.columns import ProjectIndex, ScoreColumn
from core.data import Dataset, ExternalScores, HumanScore, Judgement, Output, OutputKey, Segment, SegmentKey
from core.errors import UserError
from core.ports.files import DatasetImport, ImportComparison, ImportReport, ImportSource
from core.ports.labels import LabelBatch
from core.ports.projects import Project
from core.progress import Progress, no_progress
from core.text.words import fold
from db.columns import Json, now
from db.engine import Repository, inserted, reading, writing
from db.failures import require_name, retried, unique
from db.imports import adding, slices
from db.imports.adding import Addition
from db.imports.plan import present_outputs
from db.lookup import (
    among,
    hidden_project,
    human_scores,
    judgements,
    no_such_project,
    outputs,
    parts,
    references,
    require_project,
    segment_ids,
    segment_references,
    segments,
    with_roles,
)
from db.scores.arrays import ArraySource, ProjectArrays
from db.tables import campaigns, jobs, projects

AT_ONCE = 5000
LONGEST_PATTERN = 1000


class SqlProjects(Repository):
    """`core.ports.projects.Projects` over a database. The texts of a campaign are a project with its name that is in no list."""

    def get(self, project_id: int) -> Project:
        with self._reading(project_id) as connection:
            return _projects(connection, project_id)[0]

    def create(self, name: str, *, sample: bool = False) -> Project:
        name = _checked(name)
        slices.remove_interrupted(self._engine, projects.c.name == name)
        with _unique_name(name), writing(self._engine) as connection:
            _refuse_hidden(connection, name)
            made = inserted(connection, insert(projects).values(name=name, created=now(), sample=sample))
            return _projects(connection, made)[0]

    def rename(self, project_id: int, name: str) -> None:
        name = _checked(name)
        slices.remove_interrupted(self._engine, projects.c.name == name)
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
        self, project_id: int, source: Dataset | ImportSource, labels: Sequence[LabelBatch] = (), progress: Progress = no_progress,
        judgements: Sequence[Judgement] = (), *, external: Sequence[ExternalScores] = (), replace: Collection[str] = (),
        corrected: Collection[str] = (), new_project: bool = False,
    ) -> ImportReport:  # fmt: skip
        in_parts = DatasetImport(source, external) if isinstance(source, Dataset) else source
        new = Addition(in_parts, progress, replace, labels, judgements, corrected, new_project=new_project)
        report = adding.add(self._engine, project_id, new)
        _keep_summary(self._engine, project_id)
        if isinstance(source, Dataset):
            with suppress(UserError):  # who opens the project first does not wait for it
                self.index(project_id)
        return report

    def compare(self, project_id: int, source: ImportSource, replace: Collection[str] = ()) -> ImportComparison:
        with self._reading(project_id) as connection:
            return adding.compare(connection, project_id, source, replace)

    def continues(self, project_id: int, source: ImportSource) -> bool:
        with self._reading(project_id) as connection:
            return adding.continues(connection, project_id, source)

    def present(self, project_id: int, keys: Collection[OutputKey]) -> set[OutputKey]:
        with self._reading(project_id) as connection:
            return present_outputs(connection, project_id, keys)

    @contextmanager
    def _reading(self, project_id: int) -> Iterator[Connection]:
        """A transaction that reads a project. Raises `UserError` if it does not exist or is hidden."""
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            yield connection

    def dataset(self, project_id: int) -> Dataset:
        with self._reading(project_id) as connection:
            return read_part(connection, segments.c.project_id == project_id)

    def document(self, project_id: int, doc_id: str) -> Dataset:
        with self._reading(project_id) as connection:
            return read_part(
                connection, and_(segments.c.project_id == project_id, segments.c.doc_id == doc_id), scores=False
            )

    def index(self, project_id: int) -> ProjectIndex:
        return ProjectArrays.of(self._engine).index(project_id)

    def human_score(self, project_id: int, name: str) -> ScoreColumn:
        arrays = ProjectArrays.of(self._engine)
        return arrays.column(project_id, _human(arrays, project_id, name))

    def texts(self, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        with self._reading(project_id) as connection:
            return read_texts(connection, project_id, segments, systems)

    def search(self, project_id: int, phrase: str) -> builtins.list[SegmentKey]:
        with self._reading(project_id) as connection:
            return matching_segments(connection, project_id, phrase)

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
    chosen = campaigns.c.id.is_(None) if project_id is None else projects.c.id == project_id
    with_campaign = projects.outerjoin(campaigns, campaigns.c.texts == projects.c.id)
    every = select(projects, campaigns.c.name.label("campaign")).select_from(with_campaign)
    rows = connection.execute(every.where(chosen, projects.c.importing.is_(None))).all()
    listed = []
    for row in sorted(rows, key=lambda row: row.name):  # servers sort by their own language
        summary, name = _summary_of(connection, row.id, row.imports, row.summary), row.campaign or row.name
        listed.append(Project(row.id, name, row.created, row.sample, *summary[1:], imports=row.imports or 0))
    return listed


class ProjectSummary(NamedTuple):
    """What the list of projects shows of each: counts and names, those of systems in the order of their first output.

    It is counted once after an import and kept in `projects.summary`. If `imports` is not the number of the last import, it is counted again when
    it is read.
    """

    imports: int
    n_segments: int
    n_outputs: int
    systems: tuple[str, ...]
    human_scores: tuple[str, ...]
    judged: tuple[str, ...]


def _summary_of(connection: Connection, project_id: int, imports: int | None, kept: Any) -> ProjectSummary:
    """Return the summary of a project whose row has these values of `imports` and `summary`."""
    if kept is not None and kept[0] == imports:
        number, n_segments, n_outputs, *names = kept
        return ProjectSummary(number, n_segments, n_outputs, *map(tuple, names))
    return _counted(connection, project_id, imports or 0)


def _keep_summary(engine: Engine, project_id: int) -> None:
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


def _human(arrays: ProjectArrays, project_id: int, name: str) -> ArraySource:
    """Return where an imported human score comes from: it changes with imports only."""
    of = human_scores.c
    values = select(of.output, of.value, literal("ok"), literal(""), literal(None, Json)).join_from(
        human_scores, outputs
    )
    mine = values.join(segments).where(segments.c.project_id == project_id, of.name == name)
    return ArraySource(f"human|{name}", lambda _: 0, lambda connection, _: arrays.by_id(connection, project_id, mine))


def read_part(
    connection: Connection,
    which: ColumnElement[bool],
    written: ColumnElement[bool] | None = None,
    *,
    scores: bool = True,
) -> Dataset:
    """Return some segments of a project in document order, with all outputs or those of a condition, and human scores in the order of storing."""
    of_segment = references(connection, which)
    rows = select(segments).where(which).order_by(segments.c.position)
    key = outputs.c.system, segments.c.doc_id, segments.c.segment_id
    texts = (
        select(*key, outputs.c.text).join_from(outputs, segments).where(which, true() if written is None else written)
    )
    scored = select(*key, human_scores.c.name, human_scores.c.value).join_from(outputs, segments).join(human_scores)
    return Dataset(
        tuple(Segment(r.doc_id, r.segment_id, r.source, tuple(of_segment[r.id])) for r in connection.execute(rows)),
        tuple(Output(*row) for row in connection.execute(texts.order_by(segments.c.position, outputs.c.position))),
        tuple(HumanScore(*row) for row in connection.execute(scored.where(which).order_by(human_scores.c.id)))
        if scores
        else (),
    )


def read_texts(
    connection: Connection, project_id: int, keys: Sequence[SegmentKey], systems: Collection[str] | None = None
) -> Dataset:
    """Return the texts of these segments in document order, without human scores: all outputs, or those of `systems`."""
    chosen = None if systems is None else among(connection, outputs.c.system, sorted(systems))
    read = [
        read_part(connection, segments.c.id.in_(ids), chosen, scores=False)
        for ids in parts([*segment_ids(connection, project_id, keys).values()])
    ]
    return Dataset(tuple(s for part in read for s in part.segments), tuple(o for part in read for o in part.outputs))


def matching_segments(connection: Connection, project_id: int, phrase: str) -> list[SegmentKey]:
    """Return the segments with the phrase in a text or name, in document order."""
    folded, in_project = fold(phrase), segments.c.project_id == project_id
    of = segments.c
    every: list[Select[Any]] = [
        select(of.id, of.source).where(in_project, of.source.is_not(None)),
        select(of.id, of.doc_id).where(in_project),
        select(of.id, of.segment_id).where(in_project),
        select(of.id, segment_references.c.text).join_from(segments, segment_references).where(in_project),
        select(of.id, outputs.c.text).join_from(segments, outputs).where(in_project),
    ]
    matching_ids: set[int] = set()
    for query in every:
        narrowed = query.where(_may_match(connection.dialect.name, query.selected_columns[1], folded))
        for rows in connection.execution_options(yield_per=AT_ONCE).execute(narrowed).partitions():
            matching_ids.update(i for i, shown in rows if folded in fold(shown))
    keys = connection.execute(select(of.id, of.doc_id, of.segment_id).where(in_project).order_by(of.position))
    return [SegmentKey(doc_id, segment_id) for i, doc_id, segment_id in keys if i in matching_ids]


def _may_match(dialect: str, text: ColumnElement[str], folded_phrase: str) -> ColumnElement[bool]:
    """Return a condition that every text with the phrase fulfils. For ASCII texts, `fold` makes letters lower-case."""
    if dialect == "sqlite":
        others = func.length(text) != func.length(cast(text, LargeBinary))
        like = text.contains(
            folded_phrase[:LONGEST_PATTERN], autoescape=True
        )  # SQLite's LIKE ignores the case of ASCII letters
        return case((like, true()), (others, func.instr(func.folded(text), folded_phrase) > 0), else_=false())
    is_ascii = func.octet_length(text) == func.length(text)
    return case((is_ascii, func.strpos(func.lower(collate(text, "C")), folded_phrase) > 0), else_=true())
