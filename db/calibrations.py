"""Calibrated λ values: stored, signed results."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete

from core.errors import UserError
from core.ports.calibrations import SavedLambda
from db.engine import writing
from db.failures import require_name, unique
from db.lookup import require_project
from db.project_rows import ProjectRows, fields_of
from db.tables import calibrations


class SqlCalibrations(ProjectRows[SavedLambda]):
    """`core.ports.calibrations.Calibrations` over a database."""

    table = calibrations

    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda:
        """Store a λ in [0, ∞]. Raises `UserError` if the name is empty or taken."""
        require_name("a saved λ", fitted.name)
        if not fitted.value >= 0:
            raise ValueError(f"λ must be a number ≥ 0 or ∞, got {fitted.value}")
        row = fields_of(fitted) | {"value": repr(float(fitted.value)), "result": dict(fitted.result)}
        with unique(f"saved λ “{fitted.name}”"), writing(self._engine) as connection:
            require_project(connection, project_id)
            return self._insert(connection, project_id, row)

    def delete(self, project_id: int, name: str) -> None:
        missing = UserError(f"there is no saved λ “{name}”", hint="It may have been deleted already")
        self._change(delete(calibrations), project_id, calibrations.c.name == name, missing)

    def _value(self, fields: dict[str, Any]) -> SavedLambda:
        return SavedLambda(**fields | {"value": float(fields["value"])})
