"""Reports of stress tests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.ports.rules import change_project, read_project

LONGEST_NAME = 190
"""Largest number of characters in the name of a stored run."""


def short_name(name: str) -> str:
    """Return the name as it is stored: without surrounding white space, cut to `LONGEST_NAME` characters with an ellipsis."""
    name = name.strip()
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1].rstrip() + "…"


class StressTestRun(NamedTuple):
    """A stored run of stress tests, without its report. `settings` are plain JSON values: options and counts of results."""

    name: str
    settings: Mapping[str, Any]
    created: datetime
    id: int


class StressTestRuns(Protocol):
    """Reports of stress tests, stored as text (`core.robustness.stress.report.as_json`)."""

    @change_project("stress test saved", "name")
    def save(
        self, project_id: int, name: str, report: str, settings: Mapping[str, Any], created: datetime | None = None
    ) -> StressTestRun:
        """Store a run. Names need not be unique. Raises `UserError` if the name is empty."""
        ...

    @read_project
    def list(self, project_id: int) -> list[StressTestRun]: ...  # oldest first

    @read_project
    def report(self, project_id: int, run_id: int) -> str: ...  # UserError when there is none

    @change_project("stress test renamed", "name")
    def rename(self, project_id: int, run_id: int, name: str) -> None: ...  # UserError: none there, or an empty name

    @change_project("stress test deleted", "run_id")
    def delete(self, project_id: int, run_id: int) -> None: ...  # UserError when there is none
