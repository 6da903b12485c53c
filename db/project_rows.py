"""The base of repositories whose rows belong to projects and are read whole."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Delete, Engine, Table, Update, insert, select

from core.errors import UserError
from db.columns import now
from db.engine import inserted, reading, writing

T = TypeVar("T")


class ProjectRows(ABC, Generic[T]):
    """Rows of `table` that belong to projects; columns in `unread` are not part of their values."""

    table: ClassVar[Table]
    unread: ClassVar[frozenset[str]] = frozenset({"project_id"})

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @abstractmethod
    def _value(self, fields: dict[str, Any]) -> T:
        """Return the value of a row, given by column."""

    def list(self, project_id: int) -> builtins.list[T]:
        """Return the values of a project, oldest first."""
        with reading(self._engine) as connection:
            return self._found(connection, self.table.c.project_id == project_id)

    def _found(self, connection: Connection, *which: ColumnElement[bool]) -> builtins.list[T]:
        columns = [column for column in self.table.c if column.name not in self.unread]
        rows = connection.execute(select(*columns).where(*which).order_by(self.table.c.id))
        return [self._value(dict(row)) for row in rows.mappings()]

    def _insert(self, connection: Connection, project_id: int, fields: Mapping[str, Any]) -> T:
        """Insert a row, created now unless `fields` says when; return its value."""
        row = {**fields, "project_id": project_id, "created": fields["created"] or now()}
        made = inserted(connection, insert(self.table).values(row))
        return self._found(connection, self.table.c.id == made)[0]

    def _change(self, change: Delete | Update, project_id: int, which: ColumnElement[bool], missing: UserError) -> None:
        """Change or delete rows of a project. Raises `missing` if there are none."""
        with writing(self._engine) as connection:
            if not connection.execute(change.where(self.table.c.project_id == project_id, which)).rowcount:
                raise missing


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without the id that its row is given."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__ if name != "id"}
