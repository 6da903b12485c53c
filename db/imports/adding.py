"""Add an import of any size to a project, part by part: all or nothing, with bounded memory.

Texts and scores for an empty project are written in slices while the project is hidden (`db.imports.slices`). Anything else is first compared
with what is stored, outside of transactions, and kept as rows in a temporary file; then, unless the project has changed, few rows are written in
one transaction, and many in slices while the project, or what they add to it, is hidden.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, NamedTuple
from uuid import uuid4

from sqlalchemy import Connection, Engine, func, select

from core.data import Dataset, Judgement, OutputKey, SegmentKey
from core.errors import ImportProblems, Problem, Unavailable
from core.formats.problems import Collector
from core.memory import short_collections
from core.ports.files import DatasetImport, ImportComparison, ImportReport, ImportSource
from core.ports.labels import Event, LabelBatch
from core.progress import Progress, no_progress
from db.engine import reading, writing
from db.imports.part_rows import Change, MetricMerge, PartRows, merges_of, output_ids
from db.imports.plan import ProjectTexts, TextPlan, stored_texts
from db.imports.slices import (
    EMPTY,
    REMOVE,
    OneTransaction,
    SlicedWriter,
    Step,
    begin,
    count_import,
    hide,
    remove_interrupted,
)
from db.labels import judgements as numbers
from db.labels import repository as log
from db.lookup import require_no_import, require_project, segment_ids, take_turns_in_log
from db.tables import events, external_metrics, outputs, projects, segments

SMALL = 2000
"""Rows of an import that is written in one transaction, because nobody notices how long that takes."""
PLANS = 3
"""Plans that are made outside of transactions. If each is outdated, the next one is made while others wait, or the import fails."""


def compare(
    connection: Connection, project_id: int, source: ImportSource, replace: Collection[str]
) -> ImportComparison:
    """See `core.ports.projects.Projects.compare`."""
    planner = _Planner(connection, project_id, Addition(source, replace=replace))
    for _ in planner.parts(lambda: SMALL):
        pass
    clashes = planner.clashes()
    return ImportComparison(planner.report(), (*planner.problems(), *clashes.values()), tuple(clashes))


def continues(connection: Connection, project_id: int, source: ImportSource) -> bool:
    """See `core.ports.projects.Projects.continues`."""
    has_common = False
    for part in source.parts(lambda: SMALL):
        stored = stored_texts(connection, project_id, part.keys)
        if not stored.agree_with(part.texts):
            return False
        has_common = has_common or bool(stored.segments)
    return has_common


@dataclass(frozen=True)
class Addition:
    """What is added; the arguments of `core.ports.projects.Projects.add`. `also` writes more in the same transaction."""

    source: ImportSource
    progress: Progress = no_progress
    replace: Collection[str] = ()
    labels: Sequence[LabelBatch] = ()
    judgements: Sequence[Judgement] = ()
    corrected: Collection[str] = ()
    also: Callable[[Connection], None] | None = None
    new_project: bool = False

    @property
    def n_rows(self) -> int:
        return self.source.n_rows + len(self.judgements) + sum(len(batch.actions) for batch in self.labels)

    def between(self, start: float, end: float) -> Progress:
        """Return what reports the progress of a step that begins and ends at these shares of the import."""
        return lambda share: self.progress(start + (end - start) * min(1.0, share))


class _Plan(NamedTuple):
    """What an import will change, and how many rows it writes. The rows of texts and scores are in a file."""

    report: ImportReport
    merges: tuple[MetricMerge, ...]
    events: Sequence[Event]
    judgements: numbers.JudgementPlan
    rows: int


def add(engine: Engine, project_id: int, new: Addition) -> ImportReport:
    """Add data to a project. Raises `UserError` (`ImportProblems`) and changes nothing if the project contradicts it."""
    remove_interrupted(engine, projects.c.adds_to == project_id)
    for attempt in range(1, PLANS + 1):
        with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
            with reading(engine) as connection:
                version = _version(connection, project_id, new)
                empty = _is_empty(connection, project_id)
                as_read = empty and new.n_rows > SMALL and not (new.labels or new.judgements or new.also)
                plan = None if as_read else _planned(connection, project_id, new, file)
            never_in_slices = new.also is not None or (plan is not None and bool(plan.judgements.stale))
            in_one = never_in_slices or (plan is not None and plan.rows <= SMALL)
            with writing(engine) as connection:
                if in_one and new.labels:
                    take_turns_in_log(connection, project_id)
                current = _version(connection, project_id, new, lock=True)
                if current.newest != version.newest and attempt == PLANS and new.n_rows > SMALL:
                    in_one = never_in_slices  # an import in slices need not be compared with the labels of others again
                if current.data != version.data or (in_one and current != version):
                    continue
                if plan is not None and in_one:
                    return _written_in_one(connection, project_id, new, file, plan)
                if empty:
                    hidden = hide(connection, engine, project_id, REMOVE if new.new_project else EMPTY)
                else:
                    hidden = begin(connection, engine, f"import {uuid4().hex}", adds_to=project_id)
                    hidden.labels_after = version.newest
            with short_collections(), hidden.shown_at_end():
                if plan is None:
                    return _written_as_read(hidden, project_id, new)
                report = _written(hidden, project_id, new, file, plan)
            return report._replace(labelled=report.labelled - hidden.n_left_out)
    if new.n_rows > SMALL and new.also is None:
        raise Unavailable(
            "others have imported into this project each time before this import began to be written",
            hint="Nothing was imported. Try again",
        )
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file, writing(engine) as connection:
        if new.labels:
            take_turns_in_log(connection, project_id)
        _version(connection, project_id, new, lock=True)
        return _written_in_one(connection, project_id, new, file, _planned(connection, project_id, new, file))


def fill(hidden: SlicedWriter, dataset: Dataset) -> None:
    """Write the texts of a project that was just made and is hidden; the caller shows or removes it."""
    _written_as_read(hidden, hidden.id, Addition(DatasetImport(dataset)))


class _Version(NamedTuple):
    """What changes with every import, and with the external scores of a project if such are added; and the newest event if labels are."""

    data: tuple[object, ...]
    newest: int | None


def _version(connection: Connection, project_id: int, new: Addition, *, lock: bool = False) -> _Version:
    """Return the version of what an addition is compared with.

    Raises `UserError` if the project does not exist, or something is being added to it in slices.
    """
    require_project(connection, project_id, lock=lock)
    require_no_import(connection, project_id)
    data: list[object] = [connection.execute(select(projects.c.imports).where(projects.c.id == project_id)).scalar()]
    if new.source.metrics:
        of_project = external_metrics.c.project_id == project_id
        metrics = select(external_metrics.c.id, external_metrics.c.created).where(of_project)
        data += map(tuple, connection.execute(metrics.order_by(external_metrics.c.id)))
    newest = None
    if new.labels:
        last = select(func.max(events.c.number)).where(events.c.project_id == project_id)
        newest = connection.execute(last).scalar() or 0
    return _Version(tuple(data), newest)


class _Planner:
    """Compares an import with a project part by part, and sums up the changes. Without a connection, the project is empty."""

    def __init__(self, connection: Connection | None, project_id: int, new: Addition) -> None:
        self._connection, self._project, self._new = connection, project_id, new
        self.merges = merges_of(connection, project_id, new.source.metrics)
        self._next_places = _next_places(connection, project_id) if connection is not None else (0, 0)
        self._wrong = Collector(), Collector(), Collector()
        self._sums = dict.fromkeys(ImportReport._fields, 0)
        self._named = {b.segment for b in new.labels} | {j.key.segment for j in new.judgements}
        self._labelled: dict[SegmentKey, log.SegmentTexts] = {}

    def parts(
        self, rows: Callable[[], int], progress: Progress = no_progress
    ) -> Iterator[tuple[TextPlan, Sequence[Mapping[OutputKey, Change]]]]:
        """Yield what is new in each part: texts, and the scores of each metric."""
        done, total = 0, max(1, self._new.source.n_rows)
        progress(0.0)
        for part in self._new.source.parts(rows):
            texts = ProjectTexts()
            if self._connection is not None:
                texts = stored_texts(self._connection, self._project, part.keys)
            texts.next_segment, texts.next_output = self._next_places
            plan = TextPlan(texts, part.texts)
            for kind, wrong in zip(self._wrong, plan.wrong, strict=True):
                kind.extend(wrong)
            changes = [m.take(self._connection, of, texts) for m, of in zip(self.merges, part.external, strict=True)]
            if self._named:
                self._labelled |= texts.of_segments(self._named.intersection(part.keys))
            for name, n in plan.report._asdict().items():
                self._sums[name] += n
            self._next_places = texts.next_segment + len(plan.new_segments), texts.next_output + len(plan.new_outputs)
            yield plan, changes
            done += part.rows
            progress(done / total)

    def problems(self) -> tuple[Problem, ...]:
        """Return everything in the texts and human scores that contradicts what is stored."""
        problems = Collector()
        for kind in self._wrong:
            problems.extend(kind.closed())
        return problems.closed()

    def clashes(self) -> dict[str, Problem]:
        """Return why the scores of metrics cannot be merged, by metric; call it once all parts are compared."""
        problems = {m.name: m.contradiction(replace=m.name in self._new.replace) for m in self.merges}
        return {name: problem for name, problem in problems.items() if problem is not None}

    def check(self) -> None:
        """Raise `ImportProblems` if anything contradicts what is stored."""
        if problems := self.problems() or tuple(self.clashes().values()):
            raise ImportProblems(problems)

    def report(self) -> ImportReport:
        report = ImportReport(**self._sums)
        return report._replace(
            metric_scores=sum(m.n_changed for m in self.merges),
            unchanged=report.unchanged + sum(m.n_unchanged for m in self.merges),
        )

    def labelled(self) -> Mapping[SegmentKey, log.SegmentTexts]:
        """Return the segments that the labels and judgements name, as they will be, with the texts of their outputs; call it after `parts`."""
        others = list(self._named - self._labelled.keys())
        if others and self._connection is not None:
            self._labelled |= stored_texts(self._connection, self._project, others).of_segments(others)
        return self._labelled


def _planned(connection: Connection, project_id: int, new: Addition, file: IO[str]) -> _Plan:
    """Compare all parts with what is stored, and keep what is new as lines of the file. Raises `ImportProblems`."""
    planner, n = _Planner(connection, project_id, new), 0
    compared = 0.6 * new.source.n_rows / max(1, new.n_rows)
    for texts, changes in planner.parts(lambda: SMALL, new.between(0.0, compared)):
        if not planner.problems():
            rows = PartRows.of(texts, changes)
            file.write(rows.to_json() + "\n")
            n += rows.n
    planner.check()
    labelled = planner.labelled()
    made = log.planned(connection, project_id, new.labels, labelled, new.between(compared, 0.6))
    before = numbers.stored(connection, project_id) if new.judgements else ()
    present = {OutputKey(system, *key) for key, (_, written) in labelled.items() for system in written}
    judged = numbers.planned(new.judgements, new.corrected, present, before)
    report = planner.report()
    report = report._replace(
        labelled=len({(e.rater, e.segment, e.action.system) for e in made if e.action.system is not None}),
        judgements=len(judged.new),
        unchanged=report.unchanged + judged.unchanged,
    )
    n += len(made) + len(judged.new) + sum(m.n_removed for m in planner.merges)
    return _Plan(report, planner.merges, made, judged, n)


def _written_in_one(connection: Connection, project_id: int, new: Addition, file: IO[str], plan: _Plan) -> ImportReport:
    report = _written(OneTransaction(connection), project_id, new, file, plan)
    if new.also is not None:
        new.also(connection)
    return report


def _written(
    writer: OneTransaction | SlicedWriter, project_id: int, new: Addition, file: IO[str], plan: _Plan
) -> ImportReport:
    """Write what is planned. The file has the texts and scores."""
    if writer.added_by is None:
        _begin(writer, project_id, plan.merges)
    else:
        for merge in plan.merges:
            with writer.reading() as connection:
                steps = merge.begin_apart(connection, writer.added_by)
            writer.run(steps)
    texts = 1.0 - 0.4 * len(plan.events) / max(1, plan.rows)
    progress, size = new.between(0.6, texts), max(1, file.seek(0, 2))
    file.seek(0)
    while line := file.readline():
        writer.run(PartRows.from_json(line).steps(project_id, plan.merges, writer.added_by))
        progress(file.tell() / size)
    with writer.reading() as connection:
        of_segments = segment_ids(connection, project_id, {event.segment for event in plan.events}, segments)
        of_outputs = output_ids(
            connection, project_id, {key for key, *_ in (*plan.judgements.new, *plan.judgements.stale)}
        )
    log.write(writer, project_id, plan.events, of_segments, new.between(texts, 1.0))
    numbers.write(writer, plan.judgements, of_outputs)
    return plan.report


def _written_as_read(hidden: SlicedWriter, project_id: int, new: Addition) -> ImportReport:
    """Write the texts and scores of an import into an empty project, part by part."""
    planner = _Planner(None, project_id, new)
    _begin(hidden, project_id, planner.merges)
    for texts, changes in planner.parts(lambda: hidden.rows, new.progress):
        planner.check()
        hidden.run(PartRows.of(texts, changes).steps(project_id, planner.merges, None))
    return planner.report()


def _begin(writer: OneTransaction | SlicedWriter, project_id: int, merges: Sequence[MetricMerge]) -> None:
    """Count the import, and write its metrics without their values."""
    writer.run(Step(1, partial(begins, project_id=project_id)) for begins in (count_import, *(m.begin for m in merges)))


def _is_empty(connection: Connection, project_id: int) -> bool:
    return connection.execute(select(segments.c.id).where(segments.c.project_id == project_id).limit(1)).first() is None


def _next_places(connection: Connection, project_id: int) -> tuple[int, int]:
    """Return the positions of the next new segment and output of a project."""

    def following(column: Any, joined: Any) -> int:
        last = select(func.max(column)).select_from(joined).where(segments.c.project_id == project_id)
        last_place = connection.execute(last).scalar()
        return 0 if last_place is None else int(last_place) + 1

    return following(segments.c.position, segments), following(outputs.c.position, outputs.join(segments))
