"""Calibrated λ values: stored, signed results."""

from __future__ import annotations

import builtins

from sqlalchemy import Engine, delete, insert, select

from core.errors import UserError
from core.ports.calibrations import SavedLambda
from db.engine import inserted, reading, writing
from db.failures import unique
from db.lookup import require_project
from db.tables import calibrations, now


class SqlCalibrations:
    """`core.ports.calibrations.Calibrations` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda:
        """Store a λ in [0, ∞]. Raises `UserError` if the name is empty or taken."""
        if not fitted.name.strip():
            raise UserError("a saved λ needs a name", hint="Type one")
        if not fitted.value >= 0:
            raise ValueError(f"λ must be a number ≥ 0 or ∞, got {fitted.value}")
        row = {
            "project_id": project_id,
            "name": fitted.name,
            "value": repr(float(fitted.value)),
            "signature": fitted.signature,
            "refinement": fitted.refinement,
            "result": dict(fitted.result),
            "created": fitted.created or now(),
        }
        with unique(f"saved λ “{fitted.name}”"), writing(self._engine) as connection:
            require_project(connection, project_id)
            made = inserted(connection, insert(calibrations).values(row))
            return _saved(connection.execute(select(calibrations).where(calibrations.c.id == made)).one())

    def delete(self, project_id: int, name: str) -> None:
        with writing(self._engine) as connection:
            mine = (calibrations.c.project_id == project_id, calibrations.c.name == name)
            if not connection.execute(delete(calibrations).where(*mine)).rowcount:
                raise UserError(f"there is no saved λ “{name}”", hint="It may have been deleted already")

    def list(self, project_id: int) -> builtins.list[SavedLambda]:
        """Return the saved λs of a project, oldest first."""
        found = select(calibrations).where(calibrations.c.project_id == project_id).order_by(calibrations.c.id)
        with reading(self._engine) as connection:
            return [_saved(row) for row in connection.execute(found)]


def _saved(row: object) -> SavedLambda:
    fields = {name: getattr(row, name) for name in ("name", "signature", "refinement", "result", "created", "id")}
    return SavedLambda(value=float(getattr(row, "value")), **fields)  # noqa: B009
