"""Insert many rows at once, without SQLAlchemy's work per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table, insert
from sqlalchemy.exc import DBAPIError

from db.columns import StoredText, check_storable


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have the same columns, in the caller's transaction."""
    if rows:
        insert_columns(connection, table, _columns(rows))


def insert_columns(connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]) -> None:
    """Insert rows that are given column by column, in the caller's transaction."""
    dialect = connection.dialect
    statement = insert(table).compile(dialect=dialect, column_keys=list(columns))
    if statement.positional:
        connection.exec_driver_sql(str(statement), _stored(connection, table, statement.positiontup or [], columns))
    else:
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        connection.execute(insert(table), rows)


def copy_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows as `insert_rows` does; on PostgreSQL with COPY, which takes a quarter of the time. SQLAlchemy's events do not see it."""
    dialect = connection.dialect
    if dialect.name == "sqlite" or len(rows) < 2:
        insert_rows(connection, table, rows)
        return
    names, quote, base = list(rows[0]), dialect.identifier_preparer.quote, dialect.loaded_dbapi.Error
    statement = f"COPY {quote(table.name)} ({', '.join(map(quote, names))}) FROM STDIN"
    given = _stored(connection, table, names, _columns(rows))
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in given:
                copy.write_row(row)
    except base as error:
        raise DBAPIError.instance(statement, None, error, base, dialect=dialect) from error


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {name: list(map(itemgetter(name), rows)) for name in rows[0]}


def _stored(
    connection: Connection, table: Table, names: Sequence[str], columns: Mapping[str, Sequence[Any]]
) -> list[tuple[Any, ...]]:
    """Return rows as tuples of what the columns store."""
    dialect, values = connection.dialect, [columns[name] for name in names]
    for i, name in enumerate(names):
        kind = table.c[name].type
        if isinstance(kind, StoredText):
            check_storable(values[i])  # all at once; nothing else is done to a text
        elif stored := kind.dialect_impl(dialect).bind_processor(dialect):
            values[i] = list(map(stored, values[i]))
    return list(zip(*values, strict=True))
