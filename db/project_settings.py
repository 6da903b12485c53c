"""Settings of projects: plain JSON values by name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, delete, insert, select

from db.engine import reading, writing
from db.lookup import require_project
from db.tables import project_settings


class SqlProjectSettings:
    """`core.ports.project_settings.ProjectSettings` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, project_id: int, name: str) -> Any:
        of = project_settings.c
        with reading(self._engine) as connection:
            found = select(of.value).where(of.project_id == project_id, of.name == name)
            return connection.execute(found).scalar()

    def put(self, project_id: int, name: str, value: Any) -> None:
        of = project_settings.c
        with writing(self._engine) as connection:
            require_project(connection, project_id)
            connection.execute(delete(project_settings).where(of.project_id == project_id, of.name == name))
            connection.execute(insert(project_settings).values(project_id=project_id, name=name, value=value))
