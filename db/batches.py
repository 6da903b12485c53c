"""Batches of outputs drawn for labelling, with their probabilities."""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, update

from core.data import OutputKey
from core.errors import UserError
from core.ports.batches import Chosen, SavedBatch
from db.engine import writing
from db.failures import require_name, unique
from db.lookup import output_ids, require_project
from db.project_rows import ProjectRows, fields_of
from db.tables import batches


class SqlBatches(ProjectRows[SavedBatch]):
    """`core.ports.batches.Batches` over a database."""

    table = batches

    def save(self, project_id: int, batch: SavedBatch) -> SavedBatch:
        """Store a batch. Raises `UserError` for an empty or taken name, no outputs, or outputs not in the project."""
        require_name("a batch", batch.name)
        if not batch.outputs:
            raise UserError("this batch has no outputs", hint="Choose at least one")
        if wrong := [c.probability for c in batch.outputs if not 0 < c.probability <= 1]:
            raise ValueError(f"a probability lies in (0, 1], got {wrong[0]}")
        outputs = [[*c.key, c.probability] for c in batch.outputs]
        row = fields_of(batch) | {"outputs": outputs, "options": dict(batch.options)}
        with unique(f"batch “{batch.name}”"), writing(self._engine) as connection:
            require_project(connection, project_id)
            stored = output_ids(connection, project_id)
            if strange := [c.key for c in batch.outputs if c.key not in stored]:
                raise UserError("there is no such output", got=" / ".join(strange[0]), hint="Choose the batch again")
            return self._insert(connection, project_id, row)

    def archive(self, project_id: int, name: str) -> None:
        """Mark a batch as archived; its outputs and probabilities stay."""
        options = next((dict(b.options) for b in self.list(project_id) if b.name == name), {})
        change = update(batches).values(options=options | {"archived": True})
        self._change(change, project_id, batches.c.name == name, _missing(name))

    def delete(self, project_id: int, name: str) -> None:
        """Delete a batch; its labels stay."""
        self._change(delete(batches), project_id, batches.c.name == name, _missing(name))

    def _value(self, fields: dict[str, Any]) -> SavedBatch:
        chosen = tuple(Chosen(OutputKey(*key), float(p)) for *key, p in fields["outputs"])
        return SavedBatch(**fields | {"outputs": chosen})


def _missing(name: str) -> UserError:
    return UserError(f"there is no batch “{name}”", hint="It may have been deleted already")
