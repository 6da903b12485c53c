"""Values that belong to projects and are read whole: batches, calibrated λ, saved cases, stress test runs, public pages, settings."""

from __future__ import annotations

import builtins
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import ColumnElement, Connection, Delete, Table, Update, delete, insert, or_, select, update

from core.data import OutputKey
from core.errors import UserError
from core.ports.calibration import Chosen, SavedBatch, SavedLambda
from core.ports.people import SharedResult
from core.ports.robustness import KeptCase, SavedScore, StressTestRun, short_name
from db.columns import now
from db.engine import Repository, inserted, reading, writing
from db.failures import require_name, unique
from db.lookup import output_ids, require_project
from db.tables import batches, calibrations, campaigns, cases, project_settings, projects
from db.tables import shared_results as shared
from db.tables import stress_test_runs as runs

T = TypeVar("T")


class ProjectRows(Repository, Generic[T]):
    """Rows of `table` that belong to projects; columns in `unread` are not part of their values."""

    table: ClassVar[Table]
    value: ClassVar[Callable[..., Any]]
    unread: ClassVar[frozenset[str]] = frozenset({"project_id"})

    def _value(self, fields: dict[str, Any]) -> T:
        """Return the value of a row, given by column."""
        made: T = type(self).value(**fields)
        return made

    def list(self, project_id: int) -> builtins.list[T]:
        """Return the values of a project, oldest first."""
        with reading(self._engine) as connection:
            return self._values(connection, self.table.c.project_id == project_id)

    def _values(self, connection: Connection, *which: ColumnElement[bool]) -> builtins.list[T]:
        columns = [column for column in self.table.c if column.name not in self.unread]
        rows = connection.execute(select(*columns).where(*which).order_by(self.table.c.id))
        return [self._value(dict(row)) for row in rows.mappings()]

    def _insert(self, connection: Connection, project_id: int, fields: Mapping[str, Any]) -> T:
        """Insert a row, created now unless `fields` says when; return its value."""
        row = {**fields, "project_id": project_id, "created": fields["created"] or now()}
        made = inserted(connection, insert(self.table).values(row))
        return self._values(connection, self.table.c.id == made)[0]

    def _change(self, change: Delete | Update, project_id: int, which: ColumnElement[bool], missing: UserError) -> None:
        """Change or delete rows of a project. Raises `missing` if there are none."""
        with writing(self._engine) as connection:
            if not connection.execute(change.where(self.table.c.project_id == project_id, which)).rowcount:
                raise missing


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def _unpacked(packed: bytes) -> str:
    return zlib.decompress(packed).decode("utf-8", "surrogatepass")


def _fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without the id that its row is given."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__ if name != "id"}


class SqlBatches(ProjectRows[SavedBatch]):
    """`core.ports.calibration.Batches` over a database."""

    table = batches

    def save(self, project_id: int, batch: SavedBatch) -> SavedBatch:
        require_name("a batch", batch.name)
        if not batch.outputs:
            raise UserError("this batch has no outputs", hint="Choose at least one")
        if wrong := [c.probability for c in batch.outputs if not 0 < c.probability <= 1]:
            raise ValueError(f"a probability lies in (0, 1], got {wrong[0]}")
        outputs = [[*c.key, c.probability] for c in batch.outputs]
        row = _fields_of(batch) | {"outputs": outputs, "options": dict(batch.options)}
        with unique(f"batch “{batch.name}”"), writing(self._engine) as connection:
            require_project(connection, project_id)
            stored = output_ids(connection, project_id)
            if unknown := [c.key for c in batch.outputs if c.key not in stored]:
                raise UserError("there is no such output", got=" / ".join(unknown[0]), hint="Choose the batch again")
            return self._insert(connection, project_id, row)

    def archive(self, project_id: int, name: str) -> None:
        options = next((dict(b.options) for b in self.list(project_id) if b.name == name), {})
        change = update(batches).values(options=options | {"archived": True})
        self._change(change, project_id, batches.c.name == name, _no_batch(name))

    def delete(self, project_id: int, name: str) -> None:
        self._change(delete(batches), project_id, batches.c.name == name, _no_batch(name))

    def _value(self, fields: dict[str, Any]) -> SavedBatch:
        chosen = tuple(Chosen(OutputKey(*key), float(p)) for *key, p in fields["outputs"])
        return SavedBatch(**fields | {"outputs": chosen})


def _no_batch(name: str) -> UserError:
    return UserError(f"there is no batch “{name}”", hint="It may have been deleted already")


class SqlCalibrations(ProjectRows[SavedLambda]):
    """`core.ports.calibration.Calibrations` over a database."""

    table = calibrations

    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda:
        require_name("a saved λ", fitted.name)
        if not fitted.value >= 0:
            raise ValueError(f"λ must be a number ≥ 0 or ∞, got {fitted.value}")
        row = _fields_of(fitted) | {"value": repr(float(fitted.value)), "result": dict(fitted.result)}
        with unique(f"saved λ “{fitted.name}”"), writing(self._engine) as connection:
            require_project(connection, project_id)
            return self._insert(connection, project_id, row)

    def delete(self, project_id: int, name: str) -> None:
        missing = UserError(f"there is no saved λ “{name}”", hint="It may have been deleted already")
        self._change(delete(calibrations), project_id, calibrations.c.name == name, missing)

    def _value(self, fields: dict[str, Any]) -> SavedLambda:
        return SavedLambda(**fields | {"value": float(fields["value"])})


class SqlCases(ProjectRows[KeptCase]):
    """`core.ports.robustness.KeptCases` over a database."""

    table = cases

    def keep(self, project_id: int, case: KeptCase) -> KeptCase:
        require_name("a collection", case.collection)
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            stored = self._values(connection, cases.c.project_id == project_id, cases.c.collection == case.collection)
            if any(kept.texts == case.texts for kept in stored):
                raise UserError(f"this case is in “{case.collection}” already", hint="Choose another collection")
            return self._insert(connection, project_id, _fields_of(case))

    def remove(self, project_id: int, case_id: int) -> None:
        missing = UserError("there is no such case", hint="It may have been removed already")
        self._change(delete(cases), project_id, cases.c.id == case_id, missing)

    def _value(self, fields: dict[str, Any]) -> KeptCase:
        return KeptCase(**fields | {"scores": tuple(SavedScore(*score) for score in fields["scores"])})


class SqlStressTestRuns(ProjectRows[StressTestRun]):
    """`core.ports.robustness.StressTestRuns` over a database."""

    table, value = runs, StressTestRun
    unread = frozenset({"project_id", "report"})

    def save(
        self, project_id: int, name: str, report: str, settings: Mapping[str, Any], created: datetime | None = None
    ) -> StressTestRun:
        packed = _packed(report)
        row = {"name": _run_name(name), "settings": dict(settings), "report": packed, "created": created}
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            return self._insert(connection, project_id, row)

    def report(self, project_id: int, run_id: int) -> str:
        mine = select(runs.c.report).where(runs.c.project_id == project_id, runs.c.id == run_id)
        packed = self._scalar(mine)
        if packed is None:
            raise _no_run()
        return _unpacked(packed)

    def rename(self, project_id: int, run_id: int, name: str) -> None:
        self._change(update(runs).values(name=_run_name(name)), project_id, runs.c.id == run_id, _no_run())

    def delete(self, project_id: int, run_id: int) -> None:
        self._change(delete(runs), project_id, runs.c.id == run_id, _no_run())


def _run_name(name: str) -> str:
    require_name("a run", name)
    return short_name(name)


def _no_run() -> UserError:
    return UserError("there is no such run", hint="It may have been deleted already")


class SqlSharedResults(ProjectRows[SharedResult]):
    """`core.ports.people.SharedResults` over a database."""

    table, value = shared, SharedResult
    unread = frozenset({"project_id", "page", "token_hash"})

    def add(
        self,
        project_id: int,
        campaign_id: int | None,
        title: str,
        blind: bool,
        page: str,
        token_hash: str,
        created_by: str,
    ) -> SharedResult:
        require_name("a public page", title)
        row = {
            "campaign": campaign_id, "title": title, "blind": blind, "page": _packed(page),
            "token_hash": token_hash, "created": None, "created_by": created_by,
        }  # fmt: skip
        mine = select(campaigns.c.id).where(campaigns.c.id == campaign_id, campaigns.c.project_id == project_id)
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            if campaign_id is not None and connection.execute(mine).first() is None:
                raise UserError("the project has no such campaign", got=str(campaign_id), hint="Reload the page")
            return self._insert(connection, project_id, row)

    def page(self, token_hash: str) -> str | None:
        stays = or_(projects.c.importing.is_(None), projects.c.cleanup.is_not(None))  # is not being deleted
        query = select(shared.c.page).join_from(shared, projects).where(shared.c.token_hash == token_hash, stays)
        packed = self._scalar(query)
        return None if packed is None else _unpacked(packed)

    def revoke(self, project_id: int, shared_id: int) -> None:
        missing = UserError("there is no such public page, or it was revoked already", hint="Reload the page")
        ended = update(shared).where(shared.c.revoked.is_(None)).values(page=None, revoked=now())
        self._change(ended, project_id, shared.c.id == shared_id, missing)


class SqlProjectSettings(Repository):
    """`core.ports.projects.ProjectSettings` over a database."""

    def get(self, project_id: int, name: str) -> Any:
        of = project_settings.c
        return self._scalar(select(of.value).where(of.project_id == project_id, of.name == name))

    def put(self, project_id: int, name: str, value: Any) -> None:
        of = project_settings.c
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            connection.execute(delete(project_settings).where(of.project_id == project_id, of.name == name))
            connection.execute(insert(project_settings).values(project_id=project_id, name=name, value=value))
