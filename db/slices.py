"""Write and delete many rows of a project in short transactions, so that others never wait long for the database.

While that goes on, the project is hidden: `projects.importing` is the time of the last slice, and the project is in no list.
If the process dies, the time grows old, and the next process that opens the database removes what was added: `projects.cleanup` says
whether the project was there before (`EMPTY`) or is of the import (`REMOVE`). An interrupted deletion, without either, is completed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    Table,
    bindparam,
    delete,
    exists,
    insert,
    select,
    true,
    update,
)

from core.errors import Unavailable, UserError
from db.columns import now
from db.engine import copy_log, inserted, reading, writing
from db.lookup import HIDDEN_NAME, parts, rater_id, require_project
from db.row_insert import insert_rows
from db.tables import (
    assignments,
    audit,
    campaign_units,
    campaigns,
    events,
    external_metrics,
    judgements,
    outputs,
    projects,
    raters,
    segments,
)

INTERRUPTED_SECONDS = 60.0  # without a slice; then the process that wrote them has died
SLICE_SECONDS = 0.04  # aim of the duration of a transaction
PAUSE_SECONDS = 0.005  # between two of them, in which others take their turn
FIRST, FEWEST, MOST = 500, 20, 4000  # rows per slice
EMPTY, REMOVE = "empty", "remove"
LOGGED = 4  # slices until SQLite's log is copied


class OneTransaction:
    """Writes the rows of an import within the caller's transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        yield self._connection

    writing = reading

    def insert(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        if given := list(rows):
            insert_rows(self._connection, table, given)

    def raters(self, names: Iterable[str]) -> dict[str, int]:
        """Return the ids of raters by name; create those that do not exist."""
        return {name: rater_id(self._connection, name) for name in names}


class Hidden:
    """A project that only this object may change, in slices, until `show` or `remove`.

    Raises `Unavailable` if another process has taken it for interrupted, because no slice was written for a long time.
    """

    def __init__(self, engine: Engine, project_id: int, beat: datetime) -> None:
        self._engine, self._id, self._beat = engine, project_id, beat
        self._rows, self._slices = FIRST, 0
        self._new_raters: list[int] = []

    @property
    def rows(self) -> int:
        """The number of rows to write in the next transaction, by the time that the last ones took."""
        return self._rows

    def reading(self) -> AbstractContextManager[Connection]:
        return reading(self._engine)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A short transaction. Renews the time in `projects.importing`, which shows that the process is alive."""
        time.sleep(PAUSE_SECONDS)
        with writing(self._engine) as connection:
            began, beat = time.monotonic(), max(now(), self._beat + timedelta(microseconds=1))
            if not _renewed(connection, self._id, self._beat, beat):
                raise Unavailable(
                    "the import stood still for so long that another process has removed it",
                    hint="Nothing was imported. Try again",
                )
            yield connection
        self._beat, self._slices = beat, self._slices + 1
        change = SLICE_SECONDS / max(time.monotonic() - began, 0.001)
        self._rows = round(min(MOST, max(FEWEST, self._rows * min(1.25, max(0.5, change)))))
        if self._slices % LOGGED == 0:
            copy_log(self._engine)

    def insert(self, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
        left = iter(rows)
        while part := list(islice(left, self._rows)):
            with self.writing() as connection:
                insert_rows(connection, table, part)

    def raters(self, names: Iterable[str]) -> dict[str, int]:
        """Return the ids of raters by name; create those that do not exist."""
        with self.writing() as connection:
            newest = connection.execute(select(raters.c.id).order_by(raters.c.id.desc()).limit(1)).scalar() or 0
            found = {name: rater_id(connection, name) for name in names}
        self._new_raters += [i for i in found.values() if i > newest]
        return found

    def show(self, campaign_of: int | None = None) -> None:
        """End the import: the project is in all lists from now on, or the campaign whose texts it has.

        Raises `UserError` if the project `campaign_of` of that campaign was deleted meanwhile.
        """
        with self.writing() as connection:
            if campaign_of is not None:
                require_project(connection, campaign_of, lock=True)
            connection.execute(update(projects).where(projects.c.id == self._id).values(importing=None, cleanup=None))

    @contextmanager
    def shown_at_end(self) -> Iterator[None]:
        """Show the project after the body. If anything fails, the project is as empty as before."""
        try:
            yield
            self.show()
        except BaseException:
            with suppress(UserError):  # what cannot be deleted now stays hidden and is deleted later
                self.clear()
                self.show()
            raise

    def record(self, act: str, name: str) -> None:
        """Write an audit entry about the project of this name."""
        row = {"time": now(), "who": "server", "act": act, "project_id": self._id, "details": {"name": name}}
        with self.writing() as connection:
            connection.execute(insert(audit).values(**row))

    def clear(self) -> None:
        """Delete all texts, labels and scores, and the raters that were created here and have no others."""
        self._clear(self._id)
        with self.writing() as connection:
            connection.execute(delete(external_metrics).where(external_metrics.c.project_id == self._id))
            for part in parts(self._new_raters):
                unused = (~exists().where(table.c.rater == raters.c.id) for table in (events, judgements))
                connection.execute(delete(raters).where(raters.c.id.in_(part), *unused))

    def remove(self) -> None:
        """Delete the project with all that belongs to it, and the texts of its campaigns."""
        with self.reading() as connection:
            of_campaigns: Sequence[int] = connection.execute(texts_of(self._id)).scalars().all()
        for project_id in of_campaigns:
            self._clear(project_id)
        self.clear()
        with self.writing() as connection:
            connection.execute(delete(projects).where(projects.c.id.in_([*of_campaigns, self._id])))

    def _clear(self, project_id: int) -> None:
        """Delete most rows of a project, those of a campaign first if it has its texts."""
        mine = segments.c.project_id == project_id
        units = select(campaign_units.c.id).join(campaigns).where(campaigns.c.texts == project_id)
        self._delete(assignments.c.id, select(assignments.c.id).where(assignments.c.unit.in_(units)))
        self._delete(campaign_units.c.id, units)
        self._delete(events.c.number, select(events.c.number).where(events.c.project_id == project_id))
        self._delete(outputs.c.id, select(outputs.c.id).join_from(outputs, segments).where(mine))
        self._delete(segments.c.id, select(segments.c.id).where(mine))

    def _delete(self, key: ColumnElement[int], which: Any) -> None:
        """Delete rows, and those that refer to them, by the values of their key column."""
        with self.reading() as connection:
            left = iter(connection.execute(which.order_by(key)).scalars().all())
        of_row = delete(key.table).where(key == bindparam("key_of_row"))
        while part := list(islice(left, self._rows)):
            with self.writing() as connection:
                connection.execute(of_row, [{"key_of_row": value} for value in part])


def hide(connection: Connection, engine: Engine, project_id: int, cleanup: str | None = None) -> Hidden:
    """Hide a project within the caller's transaction. Raises `UserError` if it does not exist or is hidden already."""
    require_project(connection, project_id, lock=True)
    beat = now()
    connection.execute(update(projects).where(projects.c.id == project_id).values(importing=beat, cleanup=cleanup))
    return Hidden(engine, project_id, beat)


def texts_of(project_id: int) -> Select[Any]:
    """Select the ids of the texts projects of a project's campaigns."""
    return select(campaigns.c.texts).where(campaigns.c.project_id == project_id)


def hide_campaigns(connection: Connection, project_id: int) -> None:
    """Hide the texts of the campaigns of a project that is hidden, before it is deleted."""
    theirs = projects.c.id.in_(texts_of(project_id))
    connection.execute(update(projects).where(theirs, projects.c.importing.is_(None)).values(importing=now()))


def begin(connection: Connection, engine: Engine, name: str) -> tuple[int, Hidden]:
    """Insert a hidden project within the caller's transaction; return its id and what fills it."""
    beat = now()
    row = {"name": name, "created": beat, "sample": False, "importing": beat}
    project_id = inserted(connection, insert(projects).values(**row))
    return project_id, Hidden(engine, project_id, beat)


def remove_interrupted(engine: Engine, name: str | None = None) -> None:
    """Clean up the projects (or the one of this name) whose import or deletion was interrupted by the end of its process.

    An import leaves what was there before it: an empty project with its roles, links and settings, or no project. A deletion is
    completed. The audit record has an entry for each.
    """
    old = projects.c.importing < now() - timedelta(seconds=INTERRUPTED_SECONDS)
    of = projects.c
    these = select(of.id, of.name, of.importing, of.cleanup).where(
        old, true() if name is None else projects.c.name == name
    )
    with reading(engine) as connection:
        found: Sequence[Any] = connection.execute(these).all()
    for project_id, its_name, before, cleanup in found:
        with suppress(UserError):  # another process removes it too, or the database may only be read
            hidden = Hidden(engine, project_id, before)
            if not its_name.startswith(HIDDEN_NAME):
                hidden.record("interrupted import removed" if cleanup else "interrupted deletion completed", its_name)
            if cleanup == EMPTY:
                hidden.clear()
                hidden.show()
            else:
                hidden.remove()


def _renewed(connection: Connection, project_id: int, before: datetime, beat: datetime) -> bool:
    mine = (projects.c.id == project_id, projects.c.importing == before)
    return bool(connection.execute(update(projects).where(*mine).values(importing=beat)).rowcount)
