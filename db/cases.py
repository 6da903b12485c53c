"""Saved cases in named collections."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete

from core.errors import UserError
from core.ports.cases import KeptCase, KeptScore
from db.engine import writing
from db.failures import require_name
from db.lookup import require_project
from db.project_rows import ProjectRows, fields_of
from db.tables import cases


class SqlCases(ProjectRows[KeptCase]):
    """`core.ports.cases.KeptCases` over a database."""

    table = cases

    def keep(self, project_id: int, case: KeptCase) -> KeptCase:
        """Store a case. Raises `UserError` if the collection has no name, or already has these texts."""
        require_name("a collection", case.collection)
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            there = self._found(connection, cases.c.project_id == project_id, cases.c.collection == case.collection)
            if any(kept.texts == case.texts for kept in there):
                raise UserError(f"this case is in “{case.collection}” already", hint="Choose another collection")
            return self._insert(connection, project_id, fields_of(case))

    def remove(self, project_id: int, case_id: int) -> None:
        missing = UserError("there is no such case", hint="It may have been removed already")
        self._change(delete(cases), project_id, cases.c.id == case_id, missing)

    def _value(self, fields: dict[str, Any]) -> KeptCase:
        return KeptCase(**fields | {"scores": tuple(KeptScore(*score) for score in fields["scores"])})
