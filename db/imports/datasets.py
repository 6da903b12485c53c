"""Add a dataset to a project, with labels and scores: all or nothing.

What is new is planned outside of transactions. A large import into an empty project is then written in slices (`db.imports.slices`);
any other in one transaction, if nothing was stored since the plan was made.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Select, bindparam, func, select, update

from core.data import Dataset, ExternalScores, Judgement, OutputKey, SegmentKey
from core.formats.external import Merged
from core.ports.labels import Event, LabelBatch
from core.ports.projects import ImportReport
from core.progress import Progress, no_progress
from db import shown
from db.engine import reading, writing
from db.imports.plan import ProjectTexts, TextPlan, stored_texts
from db.imports.slices import EMPTY, REMOVE, Hidden, OneTransaction, count_import, hide, remove_interrupted
from db.labels import judgements as numbers
from db.labels import repository as log
from db.lookup import require_no_import, require_project, select_outputs
from db.scores import external as elsewhere
from db.tables import events, external_metrics, human_scores, outputs, projects, segment_references, segments

SMALL = 2000
"""Rows of an import that is written in one transaction, because nobody notices how long that takes."""
PLANS = 3
"""Plans that are made outside of transactions. If each is outdated, the next one is made while others wait."""


@dataclass(frozen=True)
class Given:
    """What is imported; the arguments of `core.ports.projects.Projects.add`. `also` writes more in the same transaction."""

    dataset: Dataset
    labels: Sequence[LabelBatch] = ()
    progress: Progress = no_progress
    judgements: Sequence[Judgement] = ()
    external: Sequence[ExternalScores] = ()
    replace: Collection[str] = ()
    corrected: Collection[str] = ()
    also: Callable[[Connection], None] | None = None
    new_project: bool = False


class _Stored(NamedTuple):
    """What an import is compared with. `version` changes when any of it changes."""

    version: tuple[object, ...]
    texts: ProjectTexts
    events: Sequence[Event]
    judgements: Sequence[Judgement]
    external: Mapping[str, ExternalScores]


class _Plan(NamedTuple):
    texts: TextPlan
    events: Sequence[Event]
    judgements: numbers.JudgementPlan
    external: Sequence[Merged]

    @property
    def report(self) -> ImportReport:
        report = self.texts.report
        return report._replace(
            labelled=len({(e.rater, e.segment, e.action.system) for e in self.events if e.action.system is not None}),
            judgements=len(self.judgements.new),
            metric_scores=sum(len(m.changed) for m in self.external),
            unchanged=report.unchanged + self.judgements.unchanged + sum(m.unchanged for m in self.external),
        )

    @property
    def rows(self) -> int:
        report = self.report
        texts = report.segments + report.references + report.outputs + report.human_scores
        return texts + len(self.events) + report.judgements + report.metric_scores


def add(engine: Engine, project_id: int, given: Given) -> ImportReport:
    """Add data to a project. Raises `UserError` (`ImportProblems`) and changes nothing if the project contradicts it."""
    remove_interrupted(engine, projects.c.adds_to == project_id)
    for _ in range(PLANS):
        with reading(engine) as connection:
            stored = _stored(connection, project_id, given)
        empty, plan = not stored.texts.segments, _planned(stored, given)
        in_slices = empty and plan.rows > SMALL and given.also is None
        if not in_slices:
            plan.texts.compute_content_keys()
        with writing(engine) as connection:
            if _version(connection, project_id, given, lock=True) != stored.version:
                continue
            if not in_slices:
                return _written_at_once(connection, project_id, plan, given)
            hidden = hide(connection, engine, project_id, REMOVE if given.new_project else EMPTY)
        return _written_in_slices(hidden, project_id, plan)
    with writing(engine) as connection:
        require_project(connection, project_id, lock=True)
        require_no_import(connection, project_id)
        plan = _planned(_stored(connection, project_id, given), given)
        return _written_at_once(connection, project_id, plan, given)


def fill(hidden: Hidden, project_id: int, dataset: Dataset) -> None:
    """Write the texts of a project that was just made and is hidden; the caller shows or removes it."""
    given = Given(dataset)
    _written(hidden, project_id, _planned(_Stored((), ProjectTexts(), (), (), {}), given))


def _written_at_once(connection: Connection, project_id: int, plan: _Plan, given: Given) -> ImportReport:
    report = _written(OneTransaction(connection), project_id, plan)
    if given.also is not None:
        given.also(connection)
    return report


def _written_in_slices(hidden: Hidden, project_id: int, plan: _Plan) -> ImportReport:
    with short_collections(), hidden.shown_at_end():
        return _written(hidden, project_id, plan)


def version_of(
    connection: Connection, project_id: int, *, labels: bool = False, external: bool = False, lock: bool = False
) -> tuple[object, ...]:
    """Return what changes with every import, and with the labels or the external scores of a project. Raises `UserError` if the project does not exist, or something is being added to it in slices."""
    require_project(connection, project_id, lock=lock)
    require_no_import(connection, project_id)
    version: list[object] = [connection.execute(select(projects.c.imports).where(projects.c.id == project_id)).scalar()]
    if labels:
        newest = select(func.max(events.c.number)).where(events.c.project_id == project_id)
        version.append(connection.execute(newest).scalar())
    if external:
        found = select(external_metrics.c.id, external_metrics.c.created)
        mine = found.where(external_metrics.c.project_id == project_id).order_by(external_metrics.c.id)
        version += map(tuple, connection.execute(mine))
    return tuple(version)


def _version(connection: Connection, project_id: int, given: Given, *, lock: bool = False) -> tuple[object, ...]:
    labels, external = bool(given.labels), bool(given.external)
    return version_of(connection, project_id, labels=labels, external=external, lock=lock)


def _stored(connection: Connection, project_id: int, given: Given) -> _Stored:
    names = {scores.name for scores in given.external}
    return _Stored(
        _version(connection, project_id, given),
        stored_texts(connection, project_id),
        log.stored(connection, project_id) if given.labels else (),
        numbers.stored(connection, project_id) if given.judgements else (),
        elsewhere.stored(connection, project_id, names) if names else {},
    )


def _planned(stored: _Stored, given: Given) -> _Plan:
    texts = TextPlan(stored.texts, given.dataset)
    texts.check()
    there = texts.texts.outputs
    return _Plan(
        texts,
        log.planned(given.labels, texts.texts.of_segments({b.segment for b in given.labels}), stored.events, given.progress),
        numbers.planned(given.judgements, given.corrected, there, stored.judgements),
        elsewhere.planned(given.external, given.replace, there, stored.external),
    )  # fmt: skip


def _written(writer: OneTransaction | Hidden, project_id: int, plan: _Plan) -> ImportReport:
    with writer.writing() as connection:
        count_import(connection, project_id)
    segment_ids = _write_segments(writer, project_id, plan.texts)
    scored = bool(plan.texts.new_scores or plan.judgements.changed or any(m.changed for m in plan.external))
    output_ids = _write_outputs(writer, project_id, plan.texts, segment_ids, scored)
    scores = plan.texts.texts.scores
    writer.insert(
        human_scores,
        ({"output": output_ids[key], "name": name, "value": scores[key, name]} for key, name in plan.texts.new_scores),
    )
    log.write(writer, project_id, plan.events, segment_ids)
    numbers.write(writer, plan.judgements, output_ids)
    elsewhere.write(writer, project_id, plan.external, output_ids)
    return plan.report


def _write_segments(writer: OneTransaction | Hidden, project_id: int, plan: TextPlan) -> Mapping[SegmentKey, int]:
    """Write new segments, sources and references; return the ids of all segments."""
    texts, ids = plan.texts, dict(plan.texts.segment_ids)
    new_sources = [{"b_id": ids[k], "b_source": texts.segments[k].source} for k in plan.new_sources if k in ids]
    writer.insert(
        segments,
        (
            {
                "project_id": project_id,
                "doc_id": key.doc_id,
                "segment_id": key.segment_id,
                "position": texts.next_segment + i,
                "source": texts.segments[key].source,
            }
            for i, key in enumerate(plan.new_segments)
        ),
    )
    if plan.new_segments:
        added = select(segments.c.doc_id, segments.c.segment_id, segments.c.id).where(
            segments.c.project_id == project_id, segments.c.position >= texts.next_segment
        )
        ids |= {SegmentKey(doc, segment): i for doc, segment, i in _rows(writer, added)}
    if new_sources:
        changed = update(segments).where(segments.c.id == bindparam("b_id")).values(source=bindparam("b_source"))
        with writer.writing() as connection:
            connection.execute(changed, new_sources)
    writer.insert(
        segment_references,
        (
            {"segment": ids[key], "position": len(texts.segments[key].references) - len(new) + i, "text": text}
            for key, new in plan.new_references.items()
            for i, text in enumerate(new)
        ),
    )
    return ids


def _write_outputs(
    writer: OneTransaction | Hidden,
    project_id: int,
    plan: TextPlan,
    segment_ids: Mapping[SegmentKey, int],
    with_ids: bool,
) -> Mapping[OutputKey, int]:
    """Write new outputs, and new content keys of stored ones; return the ids of all outputs, of new ones only `with_ids`."""
    texts = plan.texts
    if rekeyed := [{"b_id": texts.output_ids[key], "b_key": plan.content_key(key)} for key in plan.rekeyed]:
        changed = (
            update(outputs)
            .where(outputs.c.id == bindparam("b_id"))
            .values(content_key=bindparam("b_key"), next_key=None, next_key_by=None)
        )
        with writer.writing() as connection:
            connection.execute(changed, rekeyed)
    writer.insert(
        outputs,
        (
            {
                "segment": segment_ids[key.segment],
                "system": key.system,
                "position": texts.next_output + i,
                "text": texts.outputs[key],
                "content_key": plan.content_key(key),
            }
            for i, key in enumerate(plan.new_outputs)
        ),
    )
    added = select_outputs(project_id, shown.outputs.c.id).where(shown.outputs.c.position >= texts.next_output)
    new = _rows(writer, added) if with_ids and plan.new_outputs else ()
    return texts.output_ids | {OutputKey(system, doc, segment): i for system, doc, segment, i in new}


def _rows(writer: OneTransaction | Hidden, query: Select[Any]) -> Sequence[Any]:
    with writer.reading() as connection:
        return connection.execute(query).all()


@dataclass
class _State:
    """The blocks of `short_collections` that run now, and whether objects were frozen before the first of them."""

    running: int = 0
    were_frozen: bool = False


_LOCK, _STATE = Lock(), _State()


@contextmanager
def short_collections() -> Iterator[None]:
    """Keep the objects that exist now out of garbage collections during the block.

    A collection that looks at all texts of a large import stops every thread for 0.3 s. Several threads may use this at once: the
    objects stay out until the last block ends. If objects were frozen before, as a server freezes its modules, all are frozen again.
    """
    with _LOCK:
        if not _STATE.running:
            _STATE.were_frozen = gc.get_freeze_count() > 0
        _STATE.running += 1
        gc.freeze()
    try:
        yield
    finally:
        with _LOCK:
            _STATE.running -= 1
            if not _STATE.running:
                gc.unfreeze()
                if _STATE.were_frozen:
                    gc.collect()
                    gc.freeze()
