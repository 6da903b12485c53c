"""Saved cases in named collections."""

from __future__ import annotations

import builtins

from sqlalchemy import Connection, Engine, delete, insert, select

from core.errors import UserError
from core.ports.cases import KeptCase, KeptScore
from db.engine import inserted, reading, writing
from db.lookup import require_project
from db.tables import cases, now

FIELDS = ("collection", "phenomenon", "source", "reference", "good", "changed", "what", "created", "id")


class SqlCases:
    """`core.ports.cases.KeptCases` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def keep(self, project_id: int, case: KeptCase) -> KeptCase:
        """Store a case. Raises `UserError` if the collection has no name, or already has these texts."""
        if not case.collection.strip():
            raise UserError("a collection needs a name", hint="Type one")
        row = {
            "project_id": project_id,
            **{name: getattr(case, name) for name in FIELDS if name not in ("created", "id")},
            "scores": [builtins.list(score) for score in case.scores],
            "created": case.created or now(),
        }
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            mine = (cases.c.project_id == project_id, cases.c.collection == case.collection)
            if any(there.texts == case.texts for there in _found(connection, *mine)):
                raise UserError(f"this case is in “{case.collection}” already", hint="Choose another collection")
            made = inserted(connection, insert(cases).values(row))
            return _found(connection, cases.c.id == made)[0]

    def list(self, project_id: int) -> builtins.list[KeptCase]:
        """Return the cases of a project, oldest first."""
        with reading(self._engine) as connection:
            return _found(connection, cases.c.project_id == project_id)

    def remove(self, project_id: int, case_id: int) -> None:
        with writing(self._engine) as connection:
            mine = (cases.c.project_id == project_id, cases.c.id == case_id)
            if not connection.execute(delete(cases).where(*mine)).rowcount:
                raise UserError("there is no such case", hint="It may have been removed already")


def _found(connection: Connection, *which: object) -> builtins.list[KeptCase]:
    rows = connection.execute(select(cases).where(*which).order_by(cases.c.id))  # type: ignore[arg-type]
    return [
        KeptCase(**{name: getattr(row, name) for name in FIELDS}, scores=tuple(KeptScore(*s) for s in row.scores))
        for row in rows
    ]
