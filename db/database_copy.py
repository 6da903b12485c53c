"""Copy a whole database to another one, of the same kind or not, and check every row of the copy.

The source is read in one snapshot. The target is written in one transaction, which is committed only if all rows read back
from it are those of the source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, DateTime, Engine, Integer, Table, column, func, insert, select, table
from sqlalchemy.exc import DataError
from sqlalchemy.sql.expression import TableClause
from sqlalchemy.types import TypeEngine

from core.errors import UserError
from core.formatting import format_count
from core.progress import Progress, no_progress
from db.columns import TEXT, Json, NotStorable, Utc
from db.engine import connect, head, migrate, reading, revision, sqlite_file, writing
from db.tables import metadata

SLICE = 1000
"""Rows that are read and written at once."""


class Copied(NamedTuple):
    """A finished copy: rows by table, and the number of projects and events among them."""

    rows: dict[str, int]

    @property
    def projects(self) -> int:
        return self.rows["projects"] - self.rows["campaigns"]  # each campaign has its texts in a hidden project

    @property
    def events(self) -> int:
        return self.rows["events"]

    def sentence(self) -> str:
        projects, events = format_count(self.projects, "project"), format_count(self.events, "recorded action")
        return (
            f"{projects}, {events}, {format_count(sum(self.rows.values()), 'row')} in {len(self.rows)} tables, verified"
        )


class _Content(NamedTuple):
    """Number of rows of a table, and a sum of their hashes, which does not depend on their order."""

    n: int = 0
    total: int = 0

    def plus(self, row: Sequence[Any]) -> _Content:
        digest = hashlib.sha256("\x1f".join(map(_canonical, row)).encode("utf-8", "surrogatepass")).digest()
        return _Content(self.n + 1, (self.total + int.from_bytes(digest, "big")) % 2**256)


def copy_database(source: str, target: str, progress: Progress = no_progress) -> Copied:
    """Copy the database at the URL `source` to `target`, whose tables are created if they are missing.

    The target must have no rows. Raises `UserError` if the source is missing or of another version, if the target is not empty,
    or if the copy differs; the target is left as it was then.
    """
    require_database(source)
    old, new = connect(source), connect(target)
    try:
        _require_current(old)
        migrate(new)
        with reading(old) as origin, writing(new) as copy:
            _lock(copy)
            _require_empty(copy, new)
            contents = _copy_rows(origin, copy, new, progress)
            _set_sequences(origin, copy)
        return Copied({name: content.n for name, content in contents.items()})
    finally:
        old.dispose()
        new.dispose()


def require_database(url: str) -> None:
    """Raise `UserError` if the URL names an SQLite file that does not exist, because opening it would create it."""
    file = sqlite_file(url)
    if file is not None and not file.path.exists():
        raise UserError(
            "there is no database", where=str(file.path), hint="Set ERRORSCOPE_HOME or ERRORSCOPE_DB to its location"
        )


def _require_current(engine: Engine) -> None:
    current = revision(engine)
    if current is None:
        raise UserError(
            "there is no database of Errorscope here",
            where=engine.url.render_as_string(hide_password=True),
            got="no tables",
            hint="Check the address; nothing was copied",
        )
    if current != head():
        raise UserError(
            "this database was made by another version of Errorscope",
            where=engine.url.render_as_string(hide_password=True),
            got=f"schema {current}",
            expected=f"schema {head()}",
            hint="Start this version of Errorscope with it once, which updates it. Nothing was copied",
        )


def _lock(connection: Connection) -> None:
    """Keep other writers out until the transaction ends; on SQLite a writer is alone."""
    if connection.dialect.name == "postgresql":
        names = ", ".join(t.name for t in metadata.sorted_tables)
        connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")


def _require_empty(connection: Connection, engine: Engine) -> None:
    counts = {
        t.name: connection.execute(select(func.count()).select_from(t)).scalar() or 0 for t in metadata.sorted_tables
    }
    if row_counts := [f"{n:,} in {name}" for name, n in counts.items() if n]:
        raise UserError(
            "the target is not empty",
            where=engine.url.render_as_string(hide_password=True),
            got="rows: " + ", ".join(row_counts),
            expected="a database without rows",
            hint="Choose an empty database; nothing was copied",
        )


def _copy_rows(origin: Connection, copy: Connection, target: Engine, progress: Progress) -> dict[str, _Content]:
    counts = {t: origin.execute(select(func.count()).select_from(t)).scalar() or 0 for t in metadata.sorted_tables}
    steps = 2 * sum(counts.values()) or 1
    done = 0

    def read(connection: Connection, rows: Table, write: bool) -> _Content:
        nonlocal done
        content, stored = _Content(), _stored(rows)
        for some in _slices(connection, stored):
            for row in some:
                content = content.plus(row)
            if write:
                _insert(copy, stored, some)
            done += len(some)
            progress(min(1.0, done / steps))
        return content

    contents = {rows.name: read(origin, rows, write=True) for rows in metadata.sorted_tables}
    for rows in metadata.sorted_tables:
        content, source = read(copy, rows, write=False), contents[rows.name]
        if content != source:
            as_many = content.n == source.n
            raise UserError(
                "the copy differs from the source",
                where=f"{target.url.render_as_string(hide_password=True)}, table {rows.name}",
                got="other values" if as_many else f"{content.n:,} rows",
                expected="those of the source" if as_many else f"{source.n:,} rows",
                hint="Nothing was copied. Please report this",
            )
    return contents


def _stored(rows: Table) -> TableClause:
    """Return a table with the stored form of every column: JSON as its text, a time as it was written."""
    return table(rows.name, *(column(c.name, _stored_type(c.type)) for c in rows.c))


def _stored_type(kind: TypeEngine[Any]) -> TypeEngine[Any]:
    return TEXT if isinstance(kind, Json) else DateTime() if isinstance(kind, Utc) else kind


def _slices(connection: Connection, rows: TableClause) -> Iterator[Sequence[Any]]:
    rows_read = connection.execute(select(rows), execution_options={"yield_per": SLICE})
    yield from rows_read.partitions()


def _insert(copy: Connection, rows: TableClause, some: Sequence[Any]) -> None:
    """Insert a slice. Raises `UserError` that names the row which the target cannot store."""
    try:
        copy.execute(insert(rows), [dict(row._mapping) for row in some])
    except (NotStorable, DataError) as error:
        first = some[0]._mapping
        key = next(iter(first))
        said = str(error.orig).partition("\n")[0] if isinstance(error, DataError) else error.got
        raise UserError(
            "the target cannot store this table",
            where=f"table {rows.name}, rows from {key} {first[key]} to {some[-1]._mapping[key]}",
            got=said,
            hint="Nothing was copied. Change or delete what holds it, and copy again",
        ) from error


def _canonical(value: Any) -> str:
    """Return one text for values that are equal on both databases; SQLite stores −0.0 as 0.0."""
    if isinstance(value, float):
        return f"f{value + 0.0!r}"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"b{bytes(value).hex()}"
    return f"{type(value).__name__[0]}{len(str(value))}:{value}"


def _set_sequences(origin: Connection, copy: Connection) -> None:
    """Let the target go on with the ids after those that the source gave last, deleted ones included."""
    for rows in metadata.sorted_tables:
        keys = list(rows.primary_key.columns)
        if len(keys) != 1 or not isinstance(keys[0].type, Integer) or keys[0].foreign_keys:
            continue
        last = max(_last_given(origin, rows), copy.execute(select(func.max(keys[0]))).scalar() or 0)
        if last:
            _set_sequence(copy, rows, last)


def _last_given(connection: Connection, rows: Table) -> int:
    if connection.dialect.name == "postgresql":
        name = _sequence(connection, rows)
        last, used = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {name}").one()
        return int(last) if used else 0
    if connection.dialect.name == "sqlite" and rows.dialect_options["sqlite"]["autoincrement"]:
        known = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        return int(connection.exec_driver_sql(known, (rows.name,)).scalar() or 0)
    return 0


def _set_sequence(connection: Connection, rows: Table, last: int) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT setval('{_sequence(connection, rows)}', {last})")
    elif connection.dialect.name == "sqlite" and rows.dialect_options["sqlite"]["autoincrement"]:
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", (rows.name,))
        connection.exec_driver_sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (rows.name, last))


def _sequence(connection: Connection, rows: Table) -> str:
    key = next(iter(rows.primary_key.columns)).name
    return str(connection.exec_driver_sql(f"SELECT pg_get_serial_sequence('{rows.name}', '{key}')").scalar())
