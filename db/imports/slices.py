"""Write and delete many rows of a project in short transactions, so that others never wait long for the database.

While that goes on, the project is hidden: `projects.importing` is the time of the last slice, and the project is in no list.
If the process dies, the time grows old, and the next process that opens the database removes what was added: `projects.cleanup` says
whether the project was there before (`EMPTY`) or is of the import (`REMOVE`). An interrupted deletion, without either, is completed.

A project that has texts is not hidden while something is added to it. A second, hidden project stands for the import then
(`projects.adds_to`), and each new value names it, so that `db.lookup` leaves it out until the last one is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Delete,
    Engine,
    Select,
    Table,
    Update,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from core.errors import Unavailable, UserError
from db.columns import insert_rows, now
from db.engine import copy_log, inserted, reading, writing
from db.lookup import HIDDEN_NAME, parts, rater_id, require_project, take_turns_in_log
from db.tables import (
    assignments,
    audit,
    campaign_units,
    campaigns,
    events,
    external_metrics,
    external_scores,
    human_scores,
    judgements,
    outputs,
    projects,
    raters,
    segment_references,
    segments,
)

INTERRUPTED_SECONDS = 60.0  # without a slice; then the process that wrote them has died
SLICE_SECONDS = 0.04  # aim of the duration of a transaction
PAUSE_SECONDS = 0.005  # between two of them, in which others take their turn
FIRST, FEWEST, MOST = 500, 20, 4000  # rows per slice
EMPTY, REMOVE = "empty", "remove"
_KEY: BindParameter[int] = bindparam("key_of_row")
LOGGED = 4  # slices until SQLite's log is copied


class Step(NamedTuple):
    """A statement that writes some rows, and how many."""

    rows: int
    do: Callable[[Connection], object]


class OneTransaction:
    """Writes the rows of an import within the caller's transaction."""

    added_by = None

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run(self, steps: Iterable[Step]) -> None:
        for step in steps:
            step.do(self._connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        yield self._connection

    writing = reading

    def insert(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        if all_rows := list(rows):
            insert_rows(self._connection, table, all_rows)

    def raters(self, names: Iterable[str]) -> dict[str, int]:
        """Return the ids of raters by name; create those that do not exist."""
        return {name: rater_id(self._connection, name) for name in names}


class SlicedWriter:
    """A project that only this object may change, in slices, until `show` or `remove`. With `adds_to`, it stands for an import into that project.

    Raises `Unavailable` if another process has taken it for interrupted, because no slice was written for a long time.
    """

    def __init__(self, engine: Engine, project_id: int, beat: datetime, adds_to: int | None = None) -> None:
        self._engine, self.id, self._beat, self._adds_to, self._slices = engine, project_id, beat, adds_to, 0
        self.rows = FIRST
        """The number of rows to write in the next transaction, by the time that the last ones took."""
        self._new_raters: list[int] = []
        self.labels_after: int | None = None
        """The number of the newest event that added labels were compared with; None if no labels are added."""
        self.n_left_out = 0
        """Outputs whose added labels were left out by `show`, because their rater was at work on the segment meanwhile."""

    @property
    def added_by(self) -> int | None:
        """What the values that it adds to another project name."""
        return None if self._adds_to is None else self.id

    def reading(self) -> AbstractContextManager[Connection]:
        return reading(self._engine)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A short transaction. Renews the time in `projects.importing`, which shows that the process is alive."""
        time.sleep(PAUSE_SECONDS)
        with writing(self._engine) as connection:
            began, beat = time.monotonic(), max(now(), self._beat + timedelta(microseconds=1))
            if not self._renewed(connection, beat):
                raise Unavailable("the import made no progress and was removed", hint="Nothing was imported. Try again")
            yield connection
        self._beat, self._slices = beat, self._slices + 1
        change = SLICE_SECONDS / max(time.monotonic() - began, 0.001)
        self.rows = round(min(MOST, max(FEWEST, self.rows * min(1.25, max(0.5, change)))))
        if self._slices % LOGGED == 0:
            copy_log(self._engine)

    def insert(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        left = iter(rows)
        while part := list(islice(left, self.rows)):
            with self.writing() as connection:
                if self._adds_to is not None:
                    require_project(connection, self._adds_to)
                insert_rows(connection, table, part)

    def run(self, steps: Iterable[Step]) -> None:
        """Run steps in order, some in each transaction. A step may be made from what the ones before it have found."""
        left = iter(steps)
        step = next(left, None)
        while step is not None:
            with self.writing() as connection:
                if self._adds_to is not None:
                    require_project(connection, self._adds_to)  # it may have been deleted meanwhile
                room = self.rows
                while step is not None and (room == self.rows or step.rows <= room):
                    step.do(connection)
                    room -= max(1, step.rows)
                    step = next(left, None)

    def raters(self, names: Iterable[str]) -> dict[str, int]:
        """Return the ids of raters by name; create those that do not exist."""
        with self.writing() as connection:
            newest = connection.execute(select(raters.c.id).order_by(raters.c.id.desc()).limit(1)).scalar() or 0
            ids = {name: rater_id(connection, name) for name in names}
        self._new_raters += [i for i in ids.values() if i > newest]
        return ids

    def show(self, campaign_of: int | None = None) -> None:
        """End the import: the project is in all lists from now on, or the campaign whose texts it has.

        Raises `UserError` if the project `campaign_of` of that campaign was deleted meanwhile.
        """
        with self.writing() as connection:
            if campaign_of is not None:
                require_project(connection, campaign_of, lock=True)
            if self._adds_to is None:
                shown = update(projects).where(projects.c.id == self.id).values(importing=None, cleanup=None)
                connection.execute(shown)
                return
            if self.labels_after is not None:
                take_turns_in_log(connection, self._adds_to)
            require_project(connection, self._adds_to, lock=True)
            if self.labels_after is not None:
                self._complete_labels(connection, self._adds_to, self.labels_after)
            count_import(connection, self._adds_to)
            self._exchange_metrics(connection, self._adds_to)
            connection.execute(update(projects).where(projects.c.id == self.id).values(adds_to=None, cleanup=None))
        self._adds_to = None

    def _complete_labels(self, connection: Connection, project_id: int, labels_after: int) -> None:
        """Leave out the labels of segments on which their rater has worked meanwhile, and record the last event once more, so that its number
        is the highest: readers that know all events up to another number read all of the import then.
        """
        of = events.c
        meanwhile = select(of.segment, of.rater).where(of.project_id == project_id, of.number > labels_after)
        for segment, rater in connection.execute(meanwhile.where(of.added_by.is_(None)).distinct()).all():
            mine = (of.segment == segment, of.rater == rater, of.added_by == self.id)
            labelled = select(func.count(of.system.distinct())).where(*mine)
            self.n_left_out += connection.execute(labelled).scalar_one()
            connection.execute(delete(events).where(*mine))
        last = select(events).where(of.added_by == self.id).order_by(of.number.desc()).limit(1)
        if (row := connection.execute(last).mappings().first()) is not None:
            connection.execute(delete(events).where(of.number == row["number"]))
            connection.execute(insert(events).values({name: row[name] for name in row if name != "number"}))

    def _exchange_metrics(self, connection: Connection, project_id: int) -> None:
        """Move the external metrics that are written here to the other project, and its own of the same names here."""
        of = external_metrics.c
        for row in connection.execute(select(of.id, of.name).where(of.project_id == self.id)).all():
            old = (of.project_id == project_id, of.name == row.name)
            away = {"project_id": self.id, "name": HIDDEN_NAME + row.name}
            connection.execute(update(external_metrics).where(*old).values(away))
            connection.execute(update(external_metrics).where(of.id == row.id).values(project_id=project_id))

    @contextmanager
    def shown_at_end(self) -> Iterator[None]:
        """Show the project after the body. If anything fails, it is as before: empty, or without what was added."""
        adds = self._adds_to is not None
        try:
            yield
            self.show()
        except BaseException:
            with suppress(UserError):  # what cannot be deleted now stays hidden and is deleted later
                if adds:
                    self.remove()
                else:
                    self.clear()
                    self.show()
            raise
        if adds:
            with suppress(UserError):  # is deleted later
                self.remove()

    def record(self, act: str, name: str) -> None:
        """Write an audit entry about the project of this name."""
        of = self.id if self._adds_to is None else self._adds_to
        row = {"time": now(), "who": "server", "act": act, "project_id": of, "details": {"name": name}}
        with self.writing() as connection:
            connection.execute(insert(audit).values(**row))

    def clear(self) -> None:
        """Delete all texts, labels and scores, what was added to another project, and the raters that were created here and have no others."""
        if self._adds_to is not None:
            self._take_back(self._adds_to)
        self._clear(self.id)
        of_metrics = select(external_metrics.c.id).where(external_metrics.c.project_id == self.id)
        with self.reading() as connection:
            metrics: Sequence[int] = connection.execute(of_metrics).scalars().all()
        for metric in metrics:
            output, mine = external_scores.c.output, external_scores.c.metric == metric
            self._each(delete(external_scores).where(mine, output == _KEY), select(output).where(mine))
        with self.writing() as connection:
            connection.execute(delete(external_metrics).where(external_metrics.c.project_id == self.id))
            for part in parts(self._new_raters):
                unused = (~exists().where(table.c.rater == raters.c.id) for table in (events, judgements))
                connection.execute(delete(raters).where(raters.c.id.in_(part), *unused))

    def remove(self) -> None:
        """Delete the project with all that belongs to it, and the texts of its campaigns."""
        with self.reading() as connection:
            of_campaigns: Sequence[int] = connection.execute(texts_of(self.id)).scalars().all()
        for project_id in of_campaigns:
            self._clear(project_id)
        self.clear()
        with self.writing() as connection:
            connection.execute(delete(projects).where(projects.c.id.in_([*of_campaigns, self.id])))

    def _clear(self, project_id: int) -> None:
        """Delete most rows of a project, those of a campaign first if it has its texts."""
        mine = segments.c.project_id == project_id
        units = select(campaign_units.c.id).join(campaigns).where(campaigns.c.texts == project_id)
        self._delete(assignments.c.id, select(assignments.c.id).where(assignments.c.unit.in_(units)))
        self._delete(campaign_units.c.id, units)
        self._delete(events.c.number, select(events.c.number).where(events.c.project_id == project_id))
        self._delete(outputs.c.id, select(outputs.c.id).join_from(outputs, segments).where(mine))
        self._delete(segments.c.id, select(segments.c.id).where(mine))

    def _take_back(self, project_id: int) -> None:
        """Delete what was added to a project, and undo the changes of its rows."""
        mine, by = segments.c.project_id == project_id, self.id
        self._delete(events.c.number, select(events.c.number).where(events.c.added_by == by))
        self._delete(judgements.c.id, select(judgements.c.id).where(judgements.c.added_by == by))
        scored = select(human_scores.c.id).join_from(human_scores, outputs).join(segments)
        self._delete(human_scores.c.id, scored.where(mine, human_scores.c.added_by == by))
        written, of = select(outputs.c.id).join_from(outputs, segments).where(mine), segment_references.c
        self._delete(outputs.c.id, written.where(outputs.c.added_by == by))
        added = of.added_by == by
        referred = select(of.segment).join_from(segment_references, segments).where(mine, added)
        self._each(delete(segment_references).where(of.segment == _KEY, added), referred.distinct())
        self._delete(segments.c.id, select(segments.c.id).where(mine, segments.c.added_by == by))
        self._each(
            update(segments).where(segments.c.id == _KEY).values(source=None, source_by=None),
            select(segments.c.id).where(mine, segments.c.source_by == by),
        )
        self._each(
            update(outputs).where(outputs.c.id == _KEY).values(next_key=None, next_key_by=None),
            written.where(outputs.c.next_key_by == by),
        )

    def _delete(self, key: ColumnElement[int], which: Select[Any]) -> None:
        """Delete rows, and those that refer to them, by the values of their key column."""
        self._each(delete(key.table).where(key == _KEY), which)

    def _renewed(self, connection: Connection, beat: datetime) -> bool:
        of = projects.c
        mine = (of.id == self.id, of.importing == self._beat, of.adds_to.is_not_distinct_from(self._adds_to))
        return bool(connection.execute(update(projects).where(*mine).values(importing=beat)).rowcount)

    def _each(self, change: Delete | Update, which: Select[Any]) -> None:
        """Delete or change the rows whose keys are selected."""
        with self.reading() as connection:
            left = iter(sorted(connection.execute(which).scalars()))
        while part := list(islice(left, self.rows)):
            with self.writing() as connection:
                connection.execute(change, [{_KEY.key: value} for value in part])


def hide(connection: Connection, engine: Engine, project_id: int, cleanup: str | None = None) -> SlicedWriter:
    """Hide a project within the caller's transaction. Raises `UserError` if it does not exist or is hidden already."""
    require_project(connection, project_id, lock=True)
    beat = now()
    connection.execute(update(projects).where(projects.c.id == project_id).values(importing=beat, cleanup=cleanup))
    return SlicedWriter(engine, project_id, beat)


def begin(connection: Connection, engine: Engine, name: str, adds_to: int | None = None) -> SlicedWriter:
    """Insert a hidden project within the caller's transaction; return what fills it, or with `adds_to` what adds to that project, which stays visible."""
    beat, cleanup = now(), None if adds_to is None else REMOVE
    row = {"name": HIDDEN_NAME + name, "created": beat, "sample": False, "importing": beat, "cleanup": cleanup}
    made = inserted(connection, insert(projects).values(**row, adds_to=adds_to))
    return SlicedWriter(engine, made, beat, adds_to)


def count_import(connection: Connection, project_id: int) -> None:
    counted = func.coalesce(projects.c.imports, 0) + 1
    connection.execute(update(projects).where(projects.c.id == project_id).values(imports=counted))


def texts_of(project_id: int) -> Select[Any]:
    """Select the ids of the texts projects of a project's campaigns."""
    return select(campaigns.c.texts).where(campaigns.c.project_id == project_id)


def hide_campaigns(connection: Connection, project_id: int) -> None:
    """Hide the texts of the campaigns of a project that is hidden, before it is deleted."""
    theirs = projects.c.id.in_(texts_of(project_id))
    connection.execute(update(projects).where(theirs, projects.c.importing.is_(None)).values(importing=now()))


def remove_interrupted(engine: Engine, *which: ColumnElement[bool]) -> None:
    """Clean up the projects (or some of them) whose import or deletion was interrupted by the end of its process.

    An import leaves what was there before it: a project with its texts, roles, links and settings, or no project. A deletion is
    completed. The audit record has an entry for each.
    """
    old = projects.c.importing < now() - timedelta(seconds=INTERRUPTED_SECONDS)
    of = projects.c
    target = projects.alias("target")
    these = (
        select(of.id, of.name, of.importing, of.cleanup, of.adds_to, target.c.name.label("of_target"))
        .outerjoin_from(projects, target, target.c.id == of.adds_to)
        .where(old, *which)
    )
    with reading(engine) as connection:
        interrupted: Sequence[Any] = connection.execute(these).all()
    for project_id, its_name, before, cleanup, adds_to, of_target in interrupted:
        with suppress(UserError):  # another process removes it too, or the database may only be read
            hidden = SlicedWriter(engine, project_id, before, adds_to)
            if (shown := of_target or its_name) and not shown.startswith(HIDDEN_NAME):
                hidden.record("interrupted import removed" if cleanup else "interrupted deletion completed", shown)
            if cleanup == EMPTY:
                hidden.clear()
                hidden.show()
            else:
                hidden.remove()
