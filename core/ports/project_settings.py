"""Settings of projects: plain JSON values by name."""

from __future__ import annotations

from typing import Any, Protocol

from core.ports.rules import change_project, read_project


class ProjectSettings(Protocol):
    @read_project.or_own_tasks
    def get(self, project_id: int, name: str) -> Any: ...  # None if it was never set

    @change_project("setting changed", "name")
    def put(self, project_id: int, name: str, value: Any) -> None: ...  # replaces what was set before
