"""Saved cases: pairs of texts that test a metric."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from core.ports.rules import change_project, read_project

MISSES, BARELY, NOTICES = "misses the error", "barely notices", "notices"
"""Verdicts on the scores of a good and a changed text."""
ROUNDING = 1e-6
"""Relative differences up to this size are rounding errors: models compute with 32-bit numbers."""


def change_of(good: float, changed: float, *, higher_is_better: bool) -> float:
    """Return how much better the changed text scores, in the metric's unit; 0 for a rounding error."""
    change = 0.0 - (good - changed if higher_is_better else changed - good)  # no −0
    return 0.0 if abs(change) <= ROUNDING * max(1.0, abs(good), abs(changed)) else change


class KeptScore(NamedTuple):
    """One metric's scores of the good and the changed text of a saved case; None with a `reason` if undefined."""

    metric: str
    signature: str
    higher_is_better: bool
    good: float | None
    changed: float | None
    reason: str = ""

    @property
    def fooled(self) -> bool | None:
        """Return whether the changed text scores at least as well; None if a score is missing."""
        if self.good is None or self.changed is None:
            return None
        return change_of(self.good, self.changed, higher_is_better=self.higher_is_better) >= 0


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
    scores: tuple[KeptScore, ...] = ()
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
