"""Types of columns (texts, times and JSON), and the insertion of many rows without SQLAlchemy's work per row."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, DateTime, Dialect, Table, Text, TypeDecorator, insert
from sqlalchemy.exc import DBAPIError, DontWrapMixin

from core.data import is_storable
from core.errors import UserError


class NotStorable(UserError, DontWrapMixin):  # noqa: N818  (what the text is)
    """The error for a text with a NUL or an unpaired surrogate, which PostgreSQL cannot store."""

    def __init__(self, text: str) -> None:
        at = next(i for i, character in enumerate(text) if not is_storable(character))
        name = "a NUL character" if text[at] == "\0" else "half a character (an unpaired surrogate)"
        start = max(0, at - 30)
        super().__init__(
            "this text cannot be stored",
            got=f"{name} at position {at + 1}, in {ascii(text[start : at + 30])}",
            hint="Remove that character; nothing was saved",
        )


def check_storable(texts: Iterable[str | None]) -> None:
    """Raise `NotStorable` for the first text that `core.data.is_storable` refuses."""
    non_empty = [text for text in texts if text]
    if not is_storable("".join(non_empty)):
        raise NotStorable(next(text for text in non_empty if not is_storable(text)))


class StoredText(TypeDecorator[str]):
    """A text of any length. Raises `NotStorable` for a text that `core.data.is_storable` refuses, on both databases alike."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        check_storable((value,))
        return value


TEXT = StoredText()


class Utc(TypeDecorator[datetime]):
    """An aware datetime, stored as UTC without a zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Json(TypeDecorator[Any]):
    """Plain JSON values as text. ∞ and −∞ are kept; NaN is refused (a missing number is None with a reason)."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else to_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def to_json(value: Any) -> str:
    """Return `value` as ASCII JSON. Raises ValueError if it contains NaN."""
    if _holds_nan(value):
        raise ValueError("NaN is not stored; a missing number is None with a reason")
    return json.dumps(value, separators=(",", ":"))


def _holds_nan(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, dict):
        return any(_holds_nan(v) for v in value.values())
    return isinstance(value, list | tuple) and any(_holds_nan(v) for v in value)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def now() -> datetime:
    return datetime.now(UTC)


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
    tuples = _stored(connection, table, names, _columns(rows))
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in tuples:
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
