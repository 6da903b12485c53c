"""Insert many rows at once, without SQLAlchemy's work per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Table, insert


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that all have the same columns, in the caller's transaction."""
    if not rows:
        return
    dialect = connection.dialect
    statement = insert(table).compile(dialect=dialect, column_keys=list(rows[0]))
    if not statement.positional or len(rows[0]) < 2:
        connection.execute(insert(table), rows)
        return
    names = statement.positiontup or []
    columns = [list(column) for column in zip(*map(itemgetter(*names), rows), strict=True)]
    for i, name in enumerate(names):
        if stored := table.c[name].type.dialect_impl(dialect).bind_processor(dialect):
            columns[i] = list(map(stored, columns[i]))
    connection.exec_driver_sql(str(statement), list(zip(*columns, strict=True)))
