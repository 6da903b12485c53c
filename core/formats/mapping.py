"""The roles of a table's columns, as one value that a page can edit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple


class MetricColumn(NamedTuple):
    """A column with external scores: the metric's name and direction."""

    column: str
    name: str
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Column names by role. Long layout: one row per output (`system`, `output`, `human_scores`, `metrics`). Wide layout: one row per
    segment and one column per system (`systems`), which is named after its column.

    Without a document column the document is ""; without a segment column rows are numbered 1, 2, … within document (and system).
    Without a system column in the long layout all rows belong to `system_name`. An empty source or reference cell means that there is
    none; an empty output cell is an empty output.
    """

    layout: Literal["long", "wide"] = "long"
    document: str | None = None
    segment: str | None = None
    source: str | None = None
    references: tuple[str, ...] = ()
    system: str | None = None
    output: str | None = None
    systems: tuple[str, ...] = ()
    human_scores: tuple[str, ...] = ()
    metrics: tuple[MetricColumn, ...] = ()
    system_name: str = ""

    def with_(self, **changes: Any) -> ColumnMapping:
        return replace(self, **changes)

    def columns(self) -> tuple[str, ...]:
        """Return every column that is read, in the order of the roles; a column with two roles occurs twice."""
        single = [self.document, self.segment, self.source]
        metrics = (m.column for m in self.metrics)
        rest = (self.system, self.output, *self.human_scores, *metrics) if self.layout == "long" else self.systems
        return tuple(c for c in (*single, *self.references, *rest) if c is not None)

    @property
    def scores_only(self) -> bool:
        """Whether the mapping reads scores but no outputs."""
        return self.layout == "long" and self.output is None and bool(self.human_scores or self.metrics)

    def twice(self) -> tuple[str, ...]:
        return tuple(c for c, n in Counter(self.columns()).items() if n > 1)
