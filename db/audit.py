"""The audit record. Triggers of the database refuse to change or delete its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, insert, select

from core.ports.audit import AuditEntry
from db.columns import now
from db.engine import reading, writing
from db.group_commit import GroupCommit
from db.tables import audit


class SqlAudit:
    """`core.ports.audit.Audit` over a database.

    Entries that arrive at the same time are committed together, as labels are: many refused requests at once hold up nobody.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._commits = GroupCommit(self._write)

    def record(self, who: str, act: str, project_id: int | None = None, **details: Any) -> None:
        row = {"time": now(), "who": who, "act": act, "project_id": project_id, "details": details}
        self._commits.add(row)

    def _write(self, rows: Sequence[dict[str, Any]]) -> list[None]:
        with writing(self._engine) as connection:
            connection.execute(insert(audit), list(rows))
        return [None] * len(rows)

    def entries(
        self, project_id: int | None = None, *, before: int | None = None, limit: int = 200
    ) -> list[AuditEntry]:
        found = select(audit).order_by(audit.c.number.desc()).limit(limit)
        if project_id is not None:
            found = found.where(audit.c.project_id == project_id)
        if before is not None:
            found = found.where(audit.c.number < before)
        with reading(self._engine) as connection:
            return [AuditEntry._make(row) for row in connection.execute(found)]
