"""Who did what to projects, labels, people and exports: an append-only record."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.ports.rules import read_entries, record_own


class AuditEntry(NamedTuple):
    """One recorded act. `project_id` is None for acts on the server; `details` are plain JSON values without texts or secrets."""

    number: int
    time: datetime
    who: str
    act: str
    project_id: int | None
    details: Mapping[str, Any]


class Audit(Protocol):
    @record_own
    def record(self, who: str, act: str, project_id: int | None = None, **details: Any) -> None: ...

    @read_entries
    def entries(
        self, project_id: int | None = None, *, before: int | None = None, limit: int = 200
    ) -> list[AuditEntry]:
        """Return entries of one project or of all, the newest first; `before` continues a list at this number."""
        ...
