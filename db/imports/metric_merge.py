"""Merge the external scores of an import into those of a project, part by part as `core.formats.external.merge` does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, insert, literal, select, update

from core.data import OutputKey, Value
from core.errors import Problem
from core.formats.external import all_files, contradiction
from core.ports.files import StagedMetric
from core.ports.scores import ExternalMetric
from db.columns import insert_rows, now
from db.engine import inserted
from db.imports.plan import ProjectTexts
from db.imports.slices import Step
from db.lookup import parts
from db.scores.external import listed
from db.tables import external_metrics, external_scores


class MetricMerge:
    """The external scores of one metric of an import: how many are new, equal or other than those stored, and what is written."""

    def __init__(self, new: StagedMetric, old: ExternalMetric | None, old_id: int | None) -> None:
        self.name, self._new, self._old, self._id = new.name, new, old, old_id
        self._given = self._there = self._differ = self._fresh = 0
        self._first: tuple[OutputKey, float | None, float | None] | None = None
        self._first_without_output: OutputKey | None = None
        self._replaces = False

    @property
    def n_changed(self) -> int:
        return self._given if self._replaces else self._fresh

    @property
    def n_unchanged(self) -> int:
        return self._given - self.n_changed

    def take(
        self, connection: Connection | None, values: Mapping[OutputKey, Value], texts: ProjectTexts
    ) -> dict[OutputKey, tuple[Value, bool]]:
        """Compare some values with those stored; return each with whether it is new. `connection` is None if nothing is stored.

        Raises ValueError for a value that contradicts its status.
        """
        stored = self._stored(connection, texts) if connection is not None and self._id is not None else {}
        compared: dict[OutputKey, tuple[Value, bool]] = {}
        for key, value in values.items():
            if (value.value is not None) != (value.status == "ok") or not math.isfinite(value.value or 0.0):
                raise ValueError(f"a value of status {value.status!r} cannot be {value.value}")
            if key not in texts.outputs:
                self._first_without_output = self._first_without_output or key
                continue
            old = stored.get(key, _NOTHING)
            is_stored, was = old is not _NOTHING, old if isinstance(old, float) else None
            is_new = not is_stored or (was is None and value.value is not None)
            if was is not None and value.value is not None and was != value.value:
                self._differ += 1
                self._first = self._first or (key, value.value, was)
            self._given, self._there, self._fresh = self._given + 1, self._there + is_stored, self._fresh + is_new
            compared[key] = value, is_new
        return compared

    def contradiction(self, *, replace: bool) -> Problem | None:
        """Decide whether the stored values are replaced; return why the values cannot be merged, or None."""
        if self._first_without_output is not None:
            return self._no_output(self._first_without_output)
        if self._old is None:
            return None
        same = not self._differ and self._old.higher_is_better == self._new.higher_is_better
        self._replaces = replace and not (same and self._given == self._there == self._old.n)
        if same or self._replaces:
            return None
        return contradiction(self._old, self._new, self._differ, self._first)

    @property
    def n_removed(self) -> int:
        """How many stored values are deleted or written anew besides those that are given."""
        return self._old.n if self._old is not None and self.n_changed else 0

    def begin(self, connection: Connection, project_id: int) -> None:
        """Create or change the row of the metric, and delete the values that are replaced."""
        if self._old is None or self._id is None:
            self._create(connection, project_id)
            return
        if self.n_changed:
            connection.execute(update(external_metrics).where(external_metrics.c.id == self._id).values(self._facts()))
        if self._replaces:
            connection.execute(delete(external_scores).where(external_scores.c.metric == self._id))

    def begin_apart(self, connection: Connection, project_id: int) -> Sequence[Step]:
        """Return the steps that write the metric anew, with the values that stay, in a project that later gives it to the one that has it now."""
        create, of, old = Step(1, partial(self._create, project_id=project_id)), external_scores.c, self._id
        if old is None:
            return [create]
        if not self.n_changed:
            return []
        staying = select(of.output).where(of.metric == old)
        stay = [] if self._replaces else sorted(connection.execute(staying).scalars())
        return [create, *(Step(len(part), partial(self._copy, old=old, of=part)) for part in parts(stay))]

    def _copy(self, connection: Connection, old: int, of: Sequence[int]) -> None:
        columns = external_scores.c
        copied = [literal(self._id) if column is columns.metric else column for column in columns]
        chosen = select(*copied).where(columns.metric == old, columns.output.in_(of))
        connection.execute(insert(external_scores).from_select(columns.keys(), chosen))

    def _create(self, connection: Connection, project_id: int) -> None:
        row = insert(external_metrics).values(project_id=project_id, name=self.name, **self._facts())
        self._id = inserted(connection, row)

    def _facts(self) -> dict[str, Any]:
        files = self._new.files
        if self._old is not None and not self._replaces:
            files = all_files(self._old.files, files)
        return {
            "higher_is_better": self._new.higher_is_better,
            "files": [list(file) for file in files],
            "created": now(),
        }

    def write(self, connection: Connection, rows: Sequence[tuple[int, float | None, str, str, bool]]) -> None:
        """Write values, given with their output, status, reason, and whether they are new."""
        chosen = [row for row in rows if row[4] or self._replaces]
        if self._old is not None and not self._replaces:
            mine = external_scores.c.metric == self._id
            for part in parts([row[0] for row in chosen]):
                connection.execute(delete(external_scores).where(mine, external_scores.c.output.in_(part)))
        if chosen:
            values = [
                {"metric": self._id, "output": output, "value": value, "status": status, "reason": reason}
                for output, value, status, reason, _ in chosen
            ]
            insert_rows(connection, external_scores, values)

    def _stored(self, connection: Connection, texts: ProjectTexts) -> dict[OutputKey, float | None]:
        keys = {i: key for key, i in texts.output_ids.items()}
        stored: dict[OutputKey, float | None] = {}
        mine = select(external_scores.c.output, external_scores.c.value).where(external_scores.c.metric == self._id)
        for part in parts(list(keys)):
            for output, value in connection.execute(mine.where(external_scores.c.output.in_(part))):
                stored[keys[output]] = value
        return stored

    def _no_output(self, key: OutputKey) -> Problem:
        place, problem = f"metric “{self.name}”", f"a score of {' / '.join(key)}"
        return Problem(self._new.files[0].name, 0, place, problem, "an output it belongs to", "Add it first")


_NOTHING: Any = object()


def merges_of(
    connection: Connection | None, project_id: int, metrics: Sequence[StagedMetric]
) -> tuple[MetricMerge, ...]:
    """Return what merges each metric of an import into a project. `connection` is None if nothing is stored."""
    if not metrics or connection is None:
        return tuple(MetricMerge(metric, None, None) for metric in metrics)
    existing = {metric.name: metric for metric in listed(connection, project_id)}
    query = select(external_metrics.c.name, external_metrics.c.id).where(external_metrics.c.project_id == project_id)
    ids = {name: int(i) for name, i in connection.execute(query)}
    return tuple(MetricMerge(metric, existing.get(metric.name), ids.get(metric.name)) for metric in metrics)
