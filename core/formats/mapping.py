"""The roles of a table's columns and of line-aligned text files, as values that a page can edit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple


class LineRoles(NamedTuple):
    """The role of each file by name; `systems` are pairs of file and system name, `unused` files are not read, and `document` names the
    document of each segment."""

    source: str | None = None
    references: tuple[str, ...] = ()
    systems: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    document: str | None = None


class MetricColumn(NamedTuple):
    """A column with external scores: the metric's name and direction."""

    column: str
    name: str
    higher_is_better: bool = True


class SystemScoreColumn(NamedTuple):
    """A column of a wide table with a score of one system: the column with the system's outputs, the name of the score, and the direction
    of an external score (None: a human score)."""

    column: str
    system: str
    name: str
    higher_is_better: bool | None = None


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Column names by role. Long layout: one row per output (`system`, `output`, `human_scores`, `metrics`). Wide layout: one row per
    segment and one column per system (`systems`), which is named after its column; `system_scores` are scores of these systems.

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
    system_scores: tuple[SystemScoreColumn, ...] = ()
    human_scores: tuple[str, ...] = ()
    metrics: tuple[MetricColumn, ...] = ()
    system_name: str = ""

    def with_(self, **changes: Any) -> ColumnMapping:
        return replace(self, **changes)

    def columns(self) -> tuple[str, ...]:
        """Return every column that is read, in the order of the roles; a column with two roles occurs twice."""
        single = [self.document, self.segment, self.source]
        rest: tuple[str | None, ...] = (*self.systems, *(s.column for s in self.system_scores))
        if self.layout == "long":
            rest = (self.system, self.output, *self.human_scores, *(m.column for m in self.metrics))
        return tuple(c for c in (*single, *self.references, *rest) if c is not None)

    @property
    def scores_only(self) -> bool:
        """Whether the mapping reads scores but no outputs."""
        return self.layout == "long" and self.output is None and bool(self.human_scores or self.metrics)

    @property
    def references_only(self) -> bool:
        """Whether the mapping reads references but neither outputs nor scores."""
        return self.layout == "wide" and bool(self.references) and not (self.systems or self.system_scores)

    def human(self) -> tuple[SystemScoreColumn, ...]:
        """Return the columns with human scores, in the long layout with the system ""."""
        if self.layout == "long":
            return tuple(SystemScoreColumn(column, "", column) for column in self.human_scores)
        return tuple(score for score in self.system_scores if score.higher_is_better is None)

    def external(self) -> tuple[MetricColumn, ...]:
        """Return each metric once: in the wide layout it has a column per system, whose names are joined."""
        if self.layout == "long":
            return self.metrics
        columns: dict[tuple[str, bool], list[str]] = {}
        for score in self.system_scores:
            if score.higher_is_better is not None:
                columns.setdefault((score.name, score.higher_is_better), []).append(score.column)
        return tuple(MetricColumn(", ".join(of), *metric) for metric, of in columns.items())

    def twice(self) -> tuple[str, ...]:
        return tuple(c for c, n in Counter(self.columns()).items() if n > 1)
