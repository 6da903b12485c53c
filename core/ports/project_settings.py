"""Settings of projects: plain JSON values by name."""

from __future__ import annotations

from typing import Any, Protocol


class ProjectSettings(Protocol):
    def get(self, project_id: int, name: str) -> Any: ...  # None if it was never set
    def put(self, project_id: int, name: str, value: Any) -> None: ...  # replaces what was set before
