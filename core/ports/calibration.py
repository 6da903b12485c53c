"""Calibration sets and calibrated values of λ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.data import OutputKey
from core.ports.rules import change_project, read_project


class Chosen(NamedTuple):
    """An output of a batch and its probability of being drawn, in (0, 1]."""

    key: OutputKey
    probability: float


@dataclass(frozen=True, slots=True)
class SavedBatch:
    """Outputs drawn for labelling, in the order of annotation.

    `signature` describes the draw, `options` are plain JSON values, `population` is the number of outputs drawn from.
    """

    name: str
    method: str
    seed: int
    signature: str
    outputs: tuple[Chosen, ...]
    population: int
    options: Mapping[str, Any] = field(default_factory=dict)
    created: datetime | None = None
    id: int | None = None

    @property
    def archived(self) -> bool:
        """Return whether the batch was deleted after it was labelled in part: its probabilities are kept."""
        return bool(self.options.get("archived"))


class Batches(Protocol):
    @change_project("calibration set saved", "batch")
    def save(self, project_id: int, batch: SavedBatch) -> SavedBatch:
        """Store a batch. Raises `UserError` if the name is empty or taken, without outputs, or if one is not in the project."""
        ...

    @read_project.or_own_tasks
    def list(self, project_id: int) -> list[SavedBatch]: ...  # oldest first

    @change_project("calibration set archived", "name")
    def archive(self, project_id: int, name: str) -> None: ...  # annotators no longer open it; all else stays

    @change_project("calibration set deleted", "name")
    def delete(self, project_id: int, name: str) -> None: ...  # labels stay


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
    def save(self, project_id: int, fitted: SavedLambda) -> SavedLambda: ...  # λ ≥ 0; UserError: name empty or taken

    @read_project.kept
    def list(self, project_id: int) -> list[SavedLambda]: ...

    @change_project("λ deleted", "name")
    def delete(self, project_id: int, name: str) -> None: ...
