"""Stored reports of stress tests."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update

from core.errors import UserError
from core.ports.stress_test_runs import StressTestRun, short_name
from db.engine import reading, writing
from db.failures import require_name
from db.lookup import require_project
from db.project_rows import ProjectRows
from db.tables import stress_test_runs as runs


class SqlStressTestRuns(ProjectRows[StressTestRun]):
    """`core.ports.stress_test_runs.StressTestRuns` over a database."""

    table = runs
    unread = frozenset({"project_id", "report"})

    def save(
        self, project_id: int, name: str, report: str, settings: Mapping[str, Any], created: datetime | None = None
    ) -> StressTestRun:
        packed = zlib.compress(report.encode("utf-8", "surrogatepass"))
        row = {"name": _named(name), "settings": dict(settings), "report": packed, "created": created}
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            return self._insert(connection, project_id, row)

    def report(self, project_id: int, run_id: int) -> str:
        mine = select(runs.c.report).where(runs.c.project_id == project_id, runs.c.id == run_id)
        with reading(self._engine) as connection:
            packed = connection.execute(mine).scalar()
        if packed is None:
            raise _none()
        return zlib.decompress(packed).decode("utf-8", "surrogatepass")

    def rename(self, project_id: int, run_id: int, name: str) -> None:
        self._change(update(runs).values(name=_named(name)), project_id, runs.c.id == run_id, _none())

    def delete(self, project_id: int, run_id: int) -> None:
        self._change(delete(runs), project_id, runs.c.id == run_id, _none())

    def _value(self, fields: dict[str, Any]) -> StressTestRun:
        return StressTestRun(**fields)


def _named(name: str) -> str:
    require_name("a run", name)
    return short_name(name)


def _none() -> UserError:
    return UserError("there is no such run", hint="It may have been deleted already")
