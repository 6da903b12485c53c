"""Batches of outputs drawn for labelling, with their probabilities."""

from __future__ import annotations

import builtins

from sqlalchemy import Engine, Row, delete, insert, select

from core.data import OutputKey
from core.errors import UserError
from core.ports.batches import Chosen, SavedBatch
from db.engine import inserted, reading, writing
from db.failures import unique
from db.lookup import output_ids, require_project
from db.tables import batches, now


class SqlBatches:
    """`core.ports.batches.Batches` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save(self, project_id: int, batch: SavedBatch) -> SavedBatch:
        """Store a batch. Raises `UserError` for an empty or taken name, no outputs, or outputs not in the project."""
        if not batch.name.strip():
            raise UserError("a batch needs a name", hint="Type one")
        if not batch.outputs:
            raise UserError("this batch has no outputs", hint="Choose at least one")
        if wrong := [c.probability for c in batch.outputs if not 0 < c.probability <= 1]:
            raise ValueError(f"a probability lies in (0, 1], got {wrong[0]}")
        row = {
            "project_id": project_id,
            "name": batch.name,
            "method": batch.method,
            "seed": batch.seed,
            "signature": batch.signature,
            "population": batch.population,
            "outputs": [[*c.key, c.probability] for c in batch.outputs],
            "options": dict(batch.options),
            "created": batch.created or now(),
        }
        with unique(f"batch “{batch.name}”"), writing(self._engine) as connection:
            require_project(connection, project_id)
            stored = output_ids(connection, project_id)
            if strange := [c.key for c in batch.outputs if c.key not in stored]:
                raise UserError("there is no such output", got=" / ".join(strange[0]), hint="Choose the batch again")
            made = inserted(connection, insert(batches).values(row))
            return _saved(connection.execute(select(batches).where(batches.c.id == made)).one())

    def list(self, project_id: int) -> builtins.list[SavedBatch]:
        """Return the batches of a project, oldest first."""
        found = select(batches).where(batches.c.project_id == project_id).order_by(batches.c.id)
        with reading(self._engine) as connection:
            return [_saved(row) for row in connection.execute(found)]

    def delete(self, project_id: int, name: str) -> None:
        """Delete a batch; its labels stay."""
        with writing(self._engine) as connection:
            mine = (batches.c.project_id == project_id, batches.c.name == name)
            if not connection.execute(delete(batches).where(*mine)).rowcount:
                raise UserError(f"there is no batch “{name}”", hint="It may have been deleted already")


def _saved(row: Row[tuple[object, ...]]) -> SavedBatch:
    return SavedBatch(
        row.name,
        row.method,
        row.seed,
        row.signature,
        tuple(Chosen(OutputKey(system, doc, segment), float(p)) for system, doc, segment, p in row.outputs),
        row.population,
        row.options,
        row.created,
        row.id,
    )
