"""Calibrated values of λ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from core.ports.rules import change_project, read_project


@dataclass(frozen=True, slots=True)
class SavedLambda:
    """A calibrated λ with its signature. `result` is the calibration report as plain JSON values."""

    name: str
    value: float
    signature: str
    refinement: str  # signature of the refinement it was fitted on
    result: Mapping[str, Any] = field(default_factory=dict)
    created: datetime | None = None
    id: int | None = None


class Calibrations(Protocol):
    @change_project("λ saved", "fitted")
    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda: ...  # UserError when the name is taken

    @read_project.kept
    def list(self, project_id: int) -> list[SavedLambda]: ...

    @change_project("λ deleted", "name")
    def delete(self, project_id: int, name: str) -> None: ...
