"""Runs of the stress tests, kept whole."""

from __future__ import annotations

import builtins
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from core.errors import UserError
from core.ports import StressRun
from core.services.lab.saved import short
from db.engine import inserted, reading, writing
from db.projects import no_such_project
from db.tables import now, projects, stress_runs

_LISTED = (stress_runs.c.name, stress_runs.c.settings, stress_runs.c.created, stress_runs.c.id)


class SqlStressRuns:
    """`core.ports.StressRuns` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save(
        self, project_id: int, name: str, report: str, settings: Mapping[str, Any], created: datetime | None = None
    ) -> StressRun:
        row = {
            "project_id": project_id, "name": _named(name), "settings": dict(settings), "created": created or now(),
            "report": zlib.compress(report.encode("utf-8", "surrogatepass")),
        }  # fmt: skip
        with writing(self._engine) as connection:
            if connection.execute(select(projects.c.id).where(projects.c.id == project_id)).first() is None:
                raise no_such_project(project_id)
            made = inserted(connection, insert(stress_runs).values(row))
            return _found(connection, stress_runs.c.id == made)[0]

    def list(self, project_id: int) -> builtins.list[StressRun]:
        with reading(self._engine) as connection:
            return _found(connection, stress_runs.c.project_id == project_id)

    def report(self, project_id: int, run_id: int) -> str:
        with reading(self._engine) as connection:
            packed = connection.execute(select(stress_runs.c.report).where(*_mine(project_id, run_id))).scalar()
        if packed is None:
            raise _none()
        return zlib.decompress(packed).decode("utf-8", "surrogatepass")

    def rename(self, project_id: int, run_id: int, name: str) -> None:
        with writing(self._engine) as connection:
            changed = update(stress_runs).where(*_mine(project_id, run_id)).values(name=_named(name))
            if not connection.execute(changed).rowcount:
                raise _none()

    def delete(self, project_id: int, run_id: int) -> None:
        with writing(self._engine) as connection:
            if not connection.execute(delete(stress_runs).where(*_mine(project_id, run_id))).rowcount:
                raise _none()


def _mine(project_id: int, run_id: int) -> tuple[Any, ...]:
    return stress_runs.c.project_id == project_id, stress_runs.c.id == run_id


def _named(name: str) -> str:
    if not name.strip():
        raise UserError("a run needs a name", hint="Type one")
    return short(name)


def _none() -> UserError:
    return UserError("there is no such run", hint="It may have been deleted already")


def _found(connection: Connection, which: Any) -> builtins.list[StressRun]:
    return [StressRun(*row) for row in connection.execute(select(*_LISTED).where(which).order_by(stress_runs.c.id))]
