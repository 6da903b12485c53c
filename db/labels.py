"""The append-only log of annotators' actions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Select, exists, insert, select

from core.data import Segment, SegmentKey, storable
from core.errors import UserError
from core.mqm.log import check, fold_segment
from core.ports.labels import Action, Event, LabelBatch
from core.progress import Progress, no_progress, report_parts
from db.columns import now
from db.engine import reading, take_turns, writing
from db.failures import Conflict
from db.group_commit import GroupCommit
from db.lookup import parts, rater_id
from db.slices import Hidden, OneTransaction
from db.tables import events, outputs, raters, segments

SEGMENTS_AT_ONCE = 100
"""A query reads the events of at most this many segments."""
SegmentTexts = tuple[Segment, Mapping[str, str]]
"""A segment, and the texts of its outputs by system."""


class SqlLabels:
    """`core.ports.labels.LabelLog` over a database.

    Batches that several annotators send at the same time are committed together: while one transaction is written to disk, the
    next batches gather, and one of their threads writes them all.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._commits = GroupCommit(self._write)

    def append(self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action]) -> list[str]:
        batch = LabelBatch(rater, segment, actions)
        _check_names(batch)
        if actions:
            self._append(project_id, batch)
        return list(dict.fromkeys(action.id for action in actions))

    def _append(self, project_id: int, batch: LabelBatch) -> None:
        """Record a batch, together with those that arrive at the same time."""
        try:
            self._commits.add(_Waiting(project_id, batch))
        except Conflict:  # another server inserted one of the rows at the same moment
            self._commits.add(_Waiting(project_id, batch))

    def _write(self, waiting: Sequence[_Waiting]) -> list[UserError | None]:
        """Record batches in one transaction; return the error of each one that is refused. It leaves nothing behind."""
        refused: list[UserError | None] = []
        with writing(self._engine) as connection:
            for project_id in sorted({of for of, _ in waiting}):
                _take_turns(connection, project_id)
            for project_id, batch in waiting:
                try:
                    with connection.begin_nested():
                        _record_batch(connection, project_id, batch)
                    refused.append(None)
                except UserError as error:
                    refused.append(error)
        return refused

    def events(
        self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None, after: int = 0
    ) -> list[Event]:
        with reading(self._engine) as connection:
            return _events(connection, project_id, rater, segment, after)

    def by_segment(self, project_id: int, progress: Progress = no_progress) -> Iterator[list[Event]]:
        labelled = select(events.c.segment).where(events.c.project_id == project_id).distinct()
        mine = select(segments.c.id).where(segments.c.id.in_(labelled)).order_by(segments.c.position)
        with reading(self._engine) as connection:
            ids = list(connection.execute(mine).scalars())
        order = segments.c.position, events.c.segment, events.c.rater, events.c.number
        for part in report_parts(parts(ids, SEGMENTS_AT_ONCE), len, len(ids), progress):
            with reading(self._engine) as connection:
                found = _read(connection, _selected().where(events.c.segment.in_(part)).order_by(*order))
            for _, of in groupby(found, lambda event: (event.rater, event.segment)):
                yield list(of)

    def newest(self, project_id: int) -> int:
        latest = (
            select(events.c.number).where(events.c.project_id == project_id).order_by(events.c.number.desc()).limit(1)
        )
        with reading(self._engine) as connection:
            return connection.execute(latest).scalar() or 0

    def raters(self, project_id: int | None = None) -> list[str]:
        """Return the names of raters in the order of their first action: all, or those of a project who did more than open a segment."""
        found = select(raters.c.name).order_by(raters.c.id)
        if project_id is not None:
            theirs = events.c.rater == raters.c.id
            found = found.where(exists().where(theirs, events.c.project_id == project_id, events.c.kind != "open"))
        with reading(self._engine) as connection:
            return list(connection.execute(found).scalars())


def stored(connection: Connection, project_id: int) -> list[Event]:
    """Return the events of a project in the order of recording."""
    return _events(connection, project_id, None, None)


def planned(
    batches: Sequence[LabelBatch], texts: Mapping[SegmentKey, SegmentTexts], before: Sequence[Event], progress: Progress
) -> list[Event]:
    """Return the events that batches add to those `before`; their number is 0. Raises as `SqlLabels.append` does."""
    for batch in batches:
        _check_names(batch)
    known = {event.action.id for event in before}
    logs: dict[tuple[str, SegmentKey], list[Event]] = defaultdict(list)
    for event in before:
        logs[event.rater, event.segment].append(event)
    new: list[Event] = []
    for done, batch in enumerate(batches):
        progress(done / len(batches))
        if batch.segment not in texts:
            raise _no_such_segment(batch.segment)
        new += _new(batch, texts[batch.segment], known, logs[batch.rater, batch.segment])
    return new


def write(
    writer: OneTransaction | Hidden, project_id: int, new: Sequence[Event], segment_ids: Mapping[SegmentKey, int]
) -> None:
    """Write planned events."""
    if new:
        with writer.writing() as connection:
            _take_turns(connection, project_id)
        who = writer.raters(dict.fromkeys(event.rater for event in new))
        writer.insert(events, (_row(e, project_id, who[e.rater], segment_ids[e.segment]) for e in new))


def _take_turns(connection: Connection, project_id: int) -> None:
    """Let one transaction at a time record events of a project: their numbers become visible in order, so that `newest` misses none."""
    take_turns(connection, f"events {project_id}")


class _Waiting(NamedTuple):
    project_id: int
    batch: LabelBatch


def _record_batch(connection: Connection, project_id: int, batch: LabelBatch) -> None:
    segment_id, texts = _texts(connection, project_id, batch.segment)
    rater = rater_id(connection, batch.rater)
    known = _known(connection, project_id, [action.id for action in batch.actions])
    log = _events(connection, project_id, batch.rater, batch.segment)
    if new := _new(batch, texts, known, log):
        connection.execute(insert(events), [_row(event, project_id, rater, segment_id) for event in new])


def _check_names(batch: LabelBatch) -> None:
    if not batch.rater.strip():
        raise UserError("the annotator has no name", hint="Type your name first")
    if any(not action.id for action in batch.actions):
        raise UserError("an action has no id", hint="Reload the page; nothing was saved")


def _new(batch: LabelBatch, texts: SegmentTexts, known: set[str], log: list[Event]) -> list[Event]:
    """Return events for the new actions, each checked against the log before it; adds them to `known` and `log`."""
    new: list[Event] = []
    for action in batch.actions:
        if action.id in known:
            continue
        known.add(action.id)
        check(action, fold_segment(log), *texts)
        new.append(Event(0, now(), batch.rater, batch.segment, action))
        log.append(new[-1])
    return new


def _row(event: Event, project_id: int, rater: int, segment: int) -> dict[str, Any]:
    return {
        "project_id": project_id,
        "action_id": event.action.id,
        "time": event.time,
        "rater": rater,
        "segment": segment,
        "kind": event.action.kind,
        "system": event.action.system,
        "payload": dict(event.action.payload),
        "client_time": event.action.client_time,
    }


def _no_such_segment(key: SegmentKey) -> UserError:
    hint = "Reload the page; nothing was saved"
    return UserError("there is no such segment", got=f"{key.doc_id} / {key.segment_id}", hint=hint)


def _texts(connection: Connection, project_id: int, key: SegmentKey) -> tuple[int, SegmentTexts]:
    """Return the id and the texts of a segment. Raises `UserError` if it does not exist."""
    row = connection.execute(select(segments).where(*_named(project_id, key))).first()
    if row is None:
        raise _no_such_segment(key)
    written = select(outputs.c.system, outputs.c.text).where(outputs.c.segment == row.id).order_by(outputs.c.position)
    texts = {found.system: found.text for found in connection.execute(written)}
    return row.id, (Segment(row.doc_id, row.segment_id, row.source), texts)


def _named(project_id: int, key: SegmentKey) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the row of a segment, with every column of its unique key, so that databases use its index."""
    of = segments.c
    return of.project_id == project_id, of.doc_id == key.doc_id, of.segment_id == key.segment_id


def _known(connection: Connection, project_id: int, ids: Sequence[str]) -> set[str]:
    mine = select(events.c.action_id).where(events.c.project_id == project_id)
    return {
        known for part in parts(ids) for known in connection.execute(mine.where(events.c.action_id.in_(part))).scalars()
    }


def _events(
    connection: Connection, project_id: int, rater: str | None, segment: SegmentKey | None, after: int = 0
) -> list[Event]:
    found = _selected().order_by(events.c.number)
    if rater is not None:
        found = found.where(raters.c.name == rater)
    if after:
        found = found.where(events.c.number > after)
    # A segment is of one project. With a condition on the project of the events too, SQLite would read all of them.
    found = found.where(*([events.c.project_id == project_id] if segment is None else _named(project_id, segment)))
    return _read(connection, found)


def _selected() -> Select[Any]:
    return (
        select(events, raters.c.name, segments.c.doc_id, segments.c.segment_id)
        .join_from(events, raters)
        .join(segments, segments.c.id == events.c.segment)
    )


def _read(connection: Connection, wanted: Select[Any]) -> list[Event]:
    return [
        Event(
            row.number,
            row.time,
            row.name,
            SegmentKey(row.doc_id, row.segment_id),
            Action(row.action_id, row.kind, row.system, _mended(row.payload), row.client_time),
        )
        for row in connection.execute(wanted)
    ]


def _mended(payload: Any) -> Any:
    """A payload with U+FFFD in place of what no file can hold; earlier versions recorded such texts."""
    if not isinstance(payload, dict):
        return payload
    return {name: storable(value) if isinstance(value, str) else value for name, value in payload.items()}
