"""Stored reports of stress tests."""

from __future__ import annotations

import builtins
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from core.errors import UserError
from core.ports.stress_test_runs import StressTestRun, short_name
from db.engine import inserted, reading, writing
from db.lookup import require_project
from db.tables import now, stress_test_runs

_LISTED = (stress_test_runs.c.name, stress_test_runs.c.settings, stress_test_runs.c.created, stress_test_runs.c.id)


class SqlStressTestRuns:
    """`core.ports.stress_test_runs.StressTestRuns` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def save(
        self, project_id: int, name: str, report: str, settings: Mapping[str, Any], created: datetime | None = None
    ) -> StressTestRun:
        row = {
            "project_id": project_id, "name": _named(name), "settings": dict(settings), "created": created or now(),
            "report": zlib.compress(report.encode("utf-8", "surrogatepass")),
        }  # fmt: skip
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            made = inserted(connection, insert(stress_test_runs).values(row))
            return _found(connection, stress_test_runs.c.id == made)[0]

    def list(self, project_id: int) -> builtins.list[StressTestRun]:
        with reading(self._engine) as connection:
            return _found(connection, stress_test_runs.c.project_id == project_id)

    def report(self, project_id: int, run_id: int) -> str:
        with reading(self._engine) as connection:
            packed = connection.execute(select(stress_test_runs.c.report).where(*_mine(project_id, run_id))).scalar()
        if packed is None:
            raise _none()
        return zlib.decompress(packed).decode("utf-8", "surrogatepass")

    def rename(self, project_id: int, run_id: int, name: str) -> None:
        with writing(self._engine) as connection:
            changed = update(stress_test_runs).where(*_mine(project_id, run_id)).values(name=_named(name))
            if not connection.execute(changed).rowcount:
                raise _none()

    def delete(self, project_id: int, run_id: int) -> None:
        with writing(self._engine) as connection:
            if not connection.execute(delete(stress_test_runs).where(*_mine(project_id, run_id))).rowcount:
                raise _none()


def _mine(project_id: int, run_id: int) -> tuple[Any, ...]:
    return stress_test_runs.c.project_id == project_id, stress_test_runs.c.id == run_id


def _named(name: str) -> str:
    if not name.strip():
        raise UserError("a run needs a name", hint="Type one")
    return short_name(name)


def _none() -> UserError:
    return UserError("there is no such run", hint="It may have been deleted already")


def _found(connection: Connection, which: Any) -> builtins.list[StressTestRun]:
    return [
        StressTestRun(*row) for row in connection.execute(select(*_LISTED).where(which).order_by(stress_test_runs.c.id))
    ]
