"""Add an import of any size to a project, part by part: all or nothing, with bounded memory.

Into an empty project, the parts are written in slices while the project is hidden (`db.imports.slices`). Into any other, they are first compared
with what is stored and kept as rows in a temporary file; then, unless the project has changed, few rows are written in one transaction, and
many in slices while what they add is hidden.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain
from typing import IO, Any, NamedTuple

from sqlalchemy import Connection, Engine, func, select

from core.data import Dataset, HumanScore, Output, SegmentKey
from core.errors import Unavailable
from core.formats.problems import Collector
from core.ports.imports import ImportPart, ImportSource
from core.ports.projects import ImportReport
from core.progress import Progress, no_progress
from db.engine import reading, writing
from db.failures import retried
from db.imports.datasets import PLANS, SMALL, version_of
from db.imports.metric_merge import MetricMerge, merges_of
from db.imports.part_rows import PartRows
from db.imports.plan import ProjectTexts, TextPlan, stored_texts
from db.imports.slices import (
    EMPTY,
    REMOVE,
    Hidden,
    OneTransaction,
    Step,
    begin_addition,
    count_import,
    hide,
    remove_interrupted,
)
from db.lookup import require_project
from db.projects.summaries import keep_summary
from db.tables import outputs, projects, segments


class SqlImports:
    """`core.ports.imports.Imports` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @retried
    def add(
        self, project_id: int, source: ImportSource, progress: Progress = no_progress, *, replace: Collection[str] = (),
        new_project: bool = False,
    ) -> ImportReport:  # fmt: skip
        remove_interrupted(self._engine, projects.c.adds_to == project_id)
        report = _StagedAddition(self._engine, project_id, source, progress, replace, new_project).add()
        keep_summary(self._engine, project_id)
        return report

    def stored(self, project_id: int, keys: Collection[SegmentKey]) -> Dataset:
        with reading(self._engine) as connection:
            require_project(connection, project_id)
            texts = stored_texts(connection, project_id, keys)
        return Dataset(
            tuple(texts.segments.values()),
            tuple(Output(*key, text) for key, text in texts.outputs.items()),
            tuple(HumanScore(*key, name, value) for (key, name), value in texts.scores.items()),
        )


class _StagedAddition:
    """One import into one project."""

    def __init__(
        self, engine: Engine, project_id: int, source: ImportSource, progress: Progress, replace: Collection[str],
        new_project: bool,
    ) -> None:  # fmt: skip
        self._engine, self._project, self._source = engine, project_id, source
        self._progress, self._replace, self._new_project = progress, replace, new_project

    def add(self) -> ImportReport:
        for _ in range(PLANS):
            with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
                with reading(self._engine) as connection:
                    version = self._version(connection)
                    in_slices = self._source.n_rows > SMALL and _is_empty(connection, self._project)
                    plan = None if in_slices else self._planned(connection, file)
                with writing(self._engine) as connection:
                    if self._version(connection, lock=True) != version:
                        continue
                    if plan is not None and plan.rows <= SMALL:
                        return self._written_at_once(connection, file, plan)
                    if plan is not None:
                        hidden = begin_addition(connection, self._engine, self._project)
                    else:
                        hidden = hide(connection, self._engine, self._project, REMOVE if self._new_project else EMPTY)
                with hidden.shown_at_end():
                    return (
                        self._written_in_slices(hidden) if plan is None else self._added_in_slices(hidden, file, plan)
                    )
        raise Unavailable(
            "others have imported into this project each time before this import began to be written",
            hint="Nothing was imported. Try again",
        )

    def _version(self, connection: Connection, *, lock: bool = False) -> tuple[object, ...]:
        return version_of(connection, self._project, external=bool(self._source.metrics), lock=lock)

    def _planned(self, connection: Connection, file: IO[str]) -> _Plan:
        """Compare all parts with what is stored, and keep what is new as lines of the file. Raises `ImportProblems`."""
        merges = merges_of(connection, self._project, self._source.metrics)
        kinds = Collector(), Collector(), Collector()
        tally, next_places, n = _Tally(), _next_places(connection, self._project), 0
        for part in self._parts(lambda: SMALL, 0.0, 0.6):
            texts = stored_texts(connection, self._project, [s.key for s in part.texts.segments])
            texts.next_segment, texts.next_output = next_places
            plan = TextPlan(texts, part.texts)
            for kind, wrong in zip(kinds, plan.wrong, strict=True):
                kind.extend(wrong)
            changes = [m.take(connection, values, texts) for m, values in zip(merges, part.external, strict=True)]
            if any(kinds):
                continue
            rows = PartRows.of(plan, changes)
            file.write(rows.to_json() + "\n")
            n += rows.n
            tally.take(plan.report)
            next_places = texts.next_segment + len(plan.new_segments), texts.next_output + len(plan.new_outputs)
        problems = Collector()
        for kind in kinds:
            problems.extend(kind.closed())
        problems.check()
        problems.extend(problem for m in merges if (problem := m.contradiction(replace=m.name in self._replace)))
        problems.check()
        return _Plan(tally.report(merges), merges, n + sum(m.n_removed for m in merges))

    def _written_at_once(self, connection: Connection, file: IO[str], plan: _Plan) -> ImportReport:
        count_import(connection, self._project)
        for merge in plan.merges:
            merge.begin(connection, self._project)
        self._write_planned(OneTransaction(connection), file, plan)
        return plan.report

    def _added_in_slices(self, hidden: Hidden, file: IO[str], plan: _Plan) -> ImportReport:
        for merge in plan.merges:
            with hidden.reading() as connection:
                begin = merge.begin_apart(connection, hidden.id)
            hidden.run(begin)
        self._write_planned(hidden, file, plan)
        return plan.report

    def _write_planned(self, writer: OneTransaction | Hidden, file: IO[str], plan: _Plan) -> None:
        size = max(1, file.seek(0, 2))
        file.seek(0)
        while line := file.readline():
            writer.run(PartRows.from_json(line).steps(self._project, plan.merges, writer.added_by))
            self._progress(0.6 + 0.4 * file.tell() / size)

    def _written_in_slices(self, hidden: Hidden) -> ImportReport:
        with hidden.writing() as connection:
            count_import(connection, self._project)
            merges = merges_of(connection, self._project, self._source.metrics)
        tally, next_places, begun = _Tally(), (0, 0), False
        for part in self._parts(lambda: hidden.rows, 0.0, 1.0):
            texts = ProjectTexts(next_segment=next_places[0], next_output=next_places[1])
            plan = TextPlan(texts, part.texts)
            plan.check()
            changes = [m.take(None, values, texts) for m, values in zip(merges, part.external, strict=True)]
            for merge in merges:
                merge.refuse_strange()
            rows = PartRows.of(plan, changes)
            begin = [Step(1, partial(m.begin, project_id=self._project)) for m in merges if not begun]
            hidden.run(chain(begin, rows.steps(self._project, merges, None)))
            begun = True
            tally.take(plan.report)
            next_places = texts.next_segment + len(plan.new_segments), texts.next_output + len(plan.new_outputs)
        return tally.report(merges)

    def _parts(self, rows: Callable[[], int], start: float, end: float) -> Iterator[ImportPart]:
        """Yield the parts, and report the share of the outputs that they have had, between `start` and `end`."""
        done, total = 0, max(1, self._source.n_rows)
        self._progress(start)
        for part in self._source.parts(rows):
            yield part
            done += part.rows
            self._progress(start + (end - start) * min(1.0, done / total))


class _Plan(NamedTuple):
    """What an import will change, and how many rows it writes. The rows themselves are in a file."""

    report: ImportReport
    merges: tuple[MetricMerge, ...]
    rows: int


class _Tally:
    """The sum of the reports of the parts."""

    def __init__(self) -> None:
        self._sums = dict.fromkeys(ImportReport._fields, 0)

    def take(self, report: ImportReport) -> None:
        for name, n in report._asdict().items():
            self._sums[name] += n

    def report(self, merges: tuple[MetricMerge, ...]) -> ImportReport:
        report = ImportReport(**self._sums)
        return report._replace(
            metric_scores=sum(m.n_changed for m in merges),
            unchanged=report.unchanged + sum(m.n_unchanged for m in merges),
        )


def _is_empty(connection: Connection, project_id: int) -> bool:
    return connection.execute(select(segments.c.id).where(segments.c.project_id == project_id).limit(1)).first() is None


def _next_places(connection: Connection, project_id: int) -> tuple[int, int]:
    """Return the positions of the next new segment and output of a project."""

    def following(column: Any, joined: Any) -> int:
        last = select(func.max(column)).select_from(joined).where(segments.c.project_id == project_id)
        found = connection.execute(last).scalar()
        return 0 if found is None else int(found) + 1

    return following(segments.c.position, segments), following(outputs.c.position, outputs.join(segments))
