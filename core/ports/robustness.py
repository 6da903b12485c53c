"""Saved cases that test a metric, and reports of stress tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from core.ports.rules import change_project, read_project

MISSES, BARELY, NOTICES = "misses the error", "barely notices", "notices"
"""Verdicts on the scores of a good and a changed text."""
ROUNDING = 1e-6
"""Relative differences up to this size are rounding errors: models compute with 32-bit numbers."""


class SavedScore(NamedTuple):
    """One metric's scores of the good and the changed text of a saved case; None with a `reason` if undefined."""

    metric: str
    signature: str
    higher_is_better: bool
    good: float | None
    changed: float | None
    reason: str = ""

    @property
    def change(self) -> float | None:
        """Return how much better the changed text scores, in the metric's unit; None if a score is missing, 0 for a rounding error."""
        if self.good is None or self.changed is None:
            return None
        change = 0.0 - (self.good - self.changed if self.higher_is_better else self.changed - self.good)  # no −0
        return 0.0 if abs(change) <= ROUNDING * max(1.0, abs(self.good), abs(self.changed)) else change

    @property
    def misses_error(self) -> bool | None:
        """Return whether the changed text scores at least as well; None if a score is missing."""
        return None if self.change is None else self.change >= 0


@dataclass(frozen=True, slots=True)
class KeptCase:
    """Two texts that test metrics, saved in a named collection of a project with their scores.

    `phenomenon` is the kind of error, `what` describes the change.
    """

    collection: str
    phenomenon: str
    source: str | None
    reference: str | None
    good: str
    changed: str
    what: str = ""
    scores: tuple[SavedScore, ...] = ()
    created: datetime | None = None
    id: int | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """Return the fields that identify the case, without scores."""
        return self.phenomenon, self.source, self.reference, self.good, self.changed


class KeptCases(Protocol):
    @change_project("case saved", "case")
    def keep(self, project_id: int, case: KeptCase) -> KeptCase:
        """Store a case. Raises `UserError` if the collection has no name, or already has these texts."""
        ...

    @read_project
    def list(self, project_id: int) -> list[KeptCase]: ...  # oldest first

    @change_project("case deleted", "case_id")
    def remove(self, project_id: int, case_id: int) -> None: ...  # UserError when there is none


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
