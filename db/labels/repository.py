"""The append-only log of annotators' actions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from sqlalchemy import ColumnElement, Connection, Engine, Select, exists, insert, or_, select

from core.data import Judgement, Segment, SegmentKey, storable
from core.errors import Unavailable, UserError
from core.mqm.log import SegmentFold, check, folded
from core.ports.labels import (
    EDITS,
    STEPS,
    Action,
    ActionOf,
    Event,
    FoldedSegment,
    LabelBatch,
    RecordedSegment,
    SavedActions,
    UnitTouch,
)
from core.progress import Progress, no_progress, report_parts
from db import tables
from db.campaigns import assigning
from db.campaigns.assigning import Touch
from db.columns import now
from db.engine import Repository, explained_for, reading, writing
from db.failures import Conflict
from db.imports.slices import OneTransaction, SlicedWriter
from db.labels import judgements
from db.labels.folds import KeptFolds, Place
from db.labels.group_commit import GroupCommit
from db.lookup import events, outputs, parts, rater_id, segment_ids, segments, take_turns_in_log
from db.tables import raters

LONGEST_LOG = 5000
"""Edits of one rater in one segment, each of which is read whenever the segment is shown. Twice as many other actions are accepted."""
PLANS = 3
"""Attempts to add actions to a log to which another server adds some at the same time, before it is kept from doing so."""
SEGMENTS_AT_ONCE = 100
"""A query reads the events of at most this many segments."""
SegmentTexts = tuple[Segment, Mapping[str, str]]
"""A segment, and the texts of its outputs by system."""


class SqlLabels(Repository):
    """`core.ports.labels.LabelLog` over a database.

    Actions are checked against the log before the transaction, so that no batch holds up other writers for long. Batches that several
    annotators send at the same time are committed together: while one transaction is written to disk, the next batches gather, and one
    of their threads writes them all.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._commits = GroupCommit(self._write, lambda planned: len(planned.new) + 1)
        self._places: WeakValueDictionary[Place, Lock] = WeakValueDictionary()
        self._folds = KeptFolds(_events)
        self._lock = Lock()

    def append(
        self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action],
        touch: UnitTouch | None = None,
    ) -> SavedActions:  # fmt: skip
        by_id = {action.id: action for action in reversed(actions)}
        names = list(dict.fromkeys(action.id for action in actions))

        def refuse(name: str, error: UserError) -> None:
            raise error

        return self.append_valid(project_id, rater, segment, names, lambda name, _: by_id[name], refuse, touch)

    def append_valid(
        self, project_id: int, rater: str, segment: SegmentKey, names: Sequence[str],
        action_of: ActionOf, refuse: Callable[[str, UserError], None], touch: UnitTouch | None = None,
    ) -> SavedActions:  # fmt: skip
        _check_rater(rater)
        place = (project_id, rater, segment)
        with self._place(place):
            for _ in range(PLANS):
                planned, fold, refusals = self._planned(place, names, action_of, refuse, touch)
                try:
                    self._commit(planned)
                    return self._saved(place, planned, fold)
                except Conflict:  # another server has recorded one of these rows, or actions of this rater here
                    if refusals:  # they were reported already
                        raise Unavailable(
                            "the labels were changed in another tab or window", hint="Try again"
                        ) from None
            with writing(self._engine) as connection:  # while nobody else can add to the log
                take_turns_in_log(connection, project_id)
                planned, fold, _ = self._planned(place, names, action_of, refuse, touch)
                error = _record(connection, planned, self._engine)
            if isinstance(error, Reclaimed):
                self._touch_reclaimed(error.touch)
            elif error is not None:
                raise error
            return self._saved(place, planned, fold)

    @contextmanager
    def _place(self, place: Place) -> Iterator[None]:
        """Let one thread at a time add to a rater's log of a segment. Others are not held up."""
        with self._lock:
            lock = self._places.setdefault(place, Lock())
        with lock:
            yield

    def _commit(self, planned: _Planned) -> None:
        if planned.new or planned.touch is not None:
            try:
                self._commits.add(planned)
            except Reclaimed as reclaimed:
                self._touch_reclaimed(reclaimed.touch)

    def _touch_reclaimed(self, touch: Touch) -> None:
        with writing(self._engine) as connection:
            assigning.touch_reclaimed(connection, touch)

    def _saved(self, place: Place, planned: _Planned, fold: SegmentFold) -> SavedActions:
        saved = SavedActions(planned.saved, fold.labels)
        self._folds.keep(place, fold)
        return saved

    def _planned(
        self, place: Place, names: Sequence[str], action_of: ActionOf, refuse: Callable[[str, UserError], None],
        touch: UnitTouch | None,
    ) -> tuple[_Planned, SegmentFold, bool]:  # fmt: skip
        """Return the events of new and valid actions, the fold after them, and whether something was refused. Other writers need not wait."""
        project_id, rater, segment = place
        with reading(self._engine) as connection:
            segment_id, texts = _texts(connection, project_id, segment)
            known = _known(connection, project_id, names)
            newest, last_id = _newest(connection, rater, segment_id)
            fold = self._folds.take(connection, place, last_id)
        saved, new, refused = list[str](), list[Event](), False
        for name in names:
            if name not in known:
                try:
                    action = action_of(name, fold.labels.ids)
                    _refuse_too_long(fold, action)
                    new.append(_next_event(fold, rater, segment, action, texts))
                except UserError as error:
                    refused = True
                    refuse(name, error)
                    continue
            saved.append(name)
        noted = None
        if touch is not None and (saved or not names):
            noted = Touch(project_id, rater, segment.doc_id, *touch, submitted=fold.labels.submitted)
        return _Planned(project_id, segment_id, rater, newest, new, saved, noted), fold, refused

    def _write(self, waiting: Sequence[_Planned]) -> list[Exception | None]:
        """Record planned events in one transaction; return the error of those that are outdated, which leave nothing behind."""
        with writing(self._engine) as connection:
            for project_id in sorted({planned.project_id for planned in waiting}):
                take_turns_in_log(connection, project_id)
            return [_record(connection, planned, self._engine) for planned in waiting]

    def events(
        self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None, after: int = 0
    ) -> list[Event]:
        with reading(self._engine) as connection:
            return _events(connection, project_id, rater, segment, after)

    def recorded(self, project_id: int, rater: str, segment: SegmentKey) -> RecordedSegment:
        with reading(self._engine) as connection:
            return self._folds.recorded(connection, (project_id, rater, segment))

    def of_rater(self, project_id: int, rater: str) -> Mapping[SegmentKey, FoldedSegment]:
        with reading(self._engine) as connection:
            return self._folds.of_rater(connection, project_id, rater)

    def folded(self, project_id: int, after: int = 0, progress: Progress = no_progress) -> Iterator[FoldedSegment]:
        of = events.c
        places: set[tuple[str, SegmentKey]] = set()
        with reading(self._engine) as connection:
            new = [of.project_id == project_id, *([_after(connection, project_id, after)] if after else [])]
            mine = select(segments.c.id).where(segments.c.id.in_(select(of.segment).where(*new)))
            ids = list(connection.execute(mine.order_by(segments.c.position)).scalars())
            if after:
                changed = _selected(raters.c.name, segments.c.doc_id, segments.c.segment_id).where(*new).distinct()
                places = {(name, SegmentKey(*key)) for name, *key in connection.execute(changed)}
        order = segments.c.position, of.segment, of.rater, of.number
        for part in report_parts(parts(ids, SEGMENTS_AT_ONCE), len, len(ids), progress):
            with reading(self._engine) as connection:
                recorded = _read(connection, _selected().where(of.segment.in_(part)).order_by(*order))
            for place, group in groupby(recorded, lambda event: (event.rater, event.segment)):
                if not after or place in places:
                    yield folded(list(group))

    def newest(self, project_id: int) -> int:
        latest = (
            select(events.c.number).where(events.c.project_id == project_id).order_by(events.c.number.desc()).limit(1)
        )
        return int(self._scalar(latest) or 0)

    def raters(self, project_id: int | None = None) -> list[str]:
        """Return the names of raters in the order of their first action: all, or those of a project who did more than open a segment."""
        query = select(raters.c.name).order_by(raters.c.id)
        if project_id is not None:
            theirs = events.c.rater == raters.c.id
            query = query.where(exists().where(theirs, events.c.project_id == project_id, events.c.kind != "open"))
        return [name for (name,) in self._rows(query)]

    def judgements(self, project_id: int) -> list[Judgement]:
        with reading(self._engine) as connection:
            return judgements.stored(connection, project_id)


def planned(
    connection: Connection, project_id: int, batches: Sequence[LabelBatch], texts: Mapping[SegmentKey, SegmentTexts],
    progress: Progress,
) -> list[Event]:  # fmt: skip
    """Return the events that batches add to the log; their number is 0. `texts` are those of their segments. Raises as `SqlLabels.append` does."""
    for batch in batches:
        _check_rater(batch.rater)
        if batch.segment not in texts:
            raise _no_such_segment(batch.segment)
    folds = {(batch.rater, batch.segment): SegmentFold() for batch in batches}
    known = _known(connection, project_id, [action.id for batch in batches for action in batch.actions])
    ids = segment_ids(connection, project_id, (batch.segment for batch in batches))
    for part in parts([*ids.values()], SEGMENTS_AT_ONCE):
        for event in _read(connection, _selected().where(events.c.segment.in_(part)).order_by(events.c.number)):
            if (event.rater, event.segment) in folds:
                folds[event.rater, event.segment].add(event)
    new: list[Event] = []
    for batch in report_parts(batches, lambda batch: 1, len(batches), progress):
        fold = folds[batch.rater, batch.segment]
        for action in batch.actions:
            if action.id not in known:
                known.add(action.id)
                new.append(_next_event(fold, batch.rater, batch.segment, action, texts[batch.segment]))
    return new


def write(
    writer: OneTransaction | SlicedWriter, project_id: int, new: Sequence[Event], segment_ids: Mapping[SegmentKey, int],
    progress: Progress,
) -> None:  # fmt: skip
    """Write planned events."""
    if new:
        who = writer.raters(dict.fromkeys(event.rater for event in new))
        some = report_parts(parts(new), len, len(new), progress)
        rows = (_row(e, project_id, who[e.rater], segment_ids[e.segment]) for of in some for e in of)
        writer.insert(tables.events, (row | {"added_by": writer.added_by} for row in rows))


class _Planned(NamedTuple):
    """New events of a rater in a segment, made when `newest` was the number of the last one, the ids of actions that are then on disk, and what is noted of the unit."""

    project_id: int
    segment_id: int
    rater: str
    newest: int
    new: Sequence[Event]
    saved: list[str]
    touch: Touch | None


class Reclaimed(Exception):  # noqa: N818  (what the assignment is)
    """The events are written, but the assignment of their unit was reclaimed."""

    def __init__(self, touch: Touch) -> None:
        self.touch = touch


def _next_event(fold: SegmentFold, rater: str, segment: SegmentKey, action: Action, texts: SegmentTexts) -> Event:
    """Return the event of an action, and add it to the fold. Raises `UserError` if it cannot follow the events so far."""
    if not action.id:
        raise UserError("an action has no id", hint="Reload the page; nothing was saved")
    check(action, fold.labels, *texts)
    event = Event(0, now(), rater, segment, action)
    fold.add(event)
    return event


def _refuse_too_long(fold: SegmentFold, action: Action) -> None:
    """Raise `UserError` if a rater has recorded as many actions in a segment as are accepted."""
    if fold.length >= LONGEST_LOG * (1 if action.kind in EDITS | STEPS else 3):
        raise UserError(
            f"you have made {LONGEST_LOG:,} changes to this segment, and more are not saved",
            hint="Submit the segment, or ask the person who sent you here",
        )


def _record(connection: Connection, planned: _Planned, engine: Engine) -> Exception | None:
    """Write planned events; return an error, with nothing written, if the log has changed since they were planned. Returns `Reclaimed`, with the
    events written, if `assigning.touch_reclaimed` has to follow.

    Raises `Unavailable` if the connection is lost, and the transaction with it.
    """
    try:
        with explained_for(engine), connection.begin_nested():
            rater = rater_id(connection, planned.rater)
            if _newest(connection, planned.rater, planned.segment_id)[0] != planned.newest:
                raise Conflict("the labels were changed in another tab or window", hint="Try again")
            rows = [_row(event, planned.project_id, rater, planned.segment_id) for event in planned.new]
            if rows:
                connection.execute(insert(tables.events), rows)
            if planned.touch is not None and not assigning.touch(connection, planned.touch):
                return Reclaimed(planned.touch)
    except UserError as error:
        if connection.invalidated:
            raise
        return error
    return None


def _newest(connection: Connection, rater: str, segment_id: int) -> tuple[int, str]:
    """Return the number and the action's id of a rater's last event in a segment; (0, "") without any."""
    of = events.c
    mine = select(of.number, of.action_id).join_from(events, raters)
    mine = mine.where(of.segment == segment_id, raters.c.name == rater).order_by(of.number.desc()).limit(1)
    row = connection.execute(mine).first()
    return (0, "") if row is None else (row.number, row.action_id)


def _check_rater(rater: str) -> None:
    if not rater.strip():
        raise UserError("the annotator has no name", hint="Type your name first")


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
    texts = {version.system: version.text for version in connection.execute(written)}
    return row.id, (Segment(row.doc_id, row.segment_id, row.source), texts)


def _named(project_id: int, key: SegmentKey) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the row of a segment, with every column of its unique key, so that databases use its index."""
    of = segments.c
    return of.project_id == project_id, of.doc_id == key.doc_id, of.segment_id == key.segment_id


def _known(connection: Connection, project_id: int, ids: Sequence[str]) -> set[str]:
    """Return those of the ids of actions that are recorded, also by an import that is not complete."""
    of = tables.events.c
    mine = select(of.action_id).where(of.project_id == project_id)
    return {known for part in parts(ids) for known in connection.execute(mine.where(of.action_id.in_(part))).scalars()}


def _events(
    connection: Connection, project_id: int, rater: str | None, segment: SegmentKey | None, after: int = 0
) -> list[Event]:
    query = _selected().order_by(events.c.number)
    if rater is not None:
        query = query.where(raters.c.name == rater)
    if after:
        query = query.where(_after(connection, project_id, after))
    # A segment is of one project. With a condition on the project of the events too, SQLite would read all of them.
    query = query.where(*([events.c.project_id == project_id] if segment is None else _named(project_id, segment)))
    return _read(connection, query)


def _after(connection: Connection, project_id: int, number: int) -> ColumnElement[bool]:
    """Return the condition of events that became visible after the event of this number.

    An import in slices shows all of its events when it records the last one, among them some with numbers below those that others recorded
    meanwhile.
    """
    of = tables.events.c
    ended = select(of.added_by).where(of.project_id == project_id, of.number > number, of.added_by.is_not(None))
    imports = list(connection.execute(ended.distinct()).scalars())
    if not imports:
        return events.c.number > number
    return or_(events.c.number > number, events.c.number.in_(select(of.number).where(of.added_by.in_(imports))))


def _selected(*columns: Any) -> Select[Any]:
    """Select events with their rater and segment: `columns`, by default all that `_read` needs."""
    return (
        select(*columns or (events, raters.c.name, segments.c.doc_id, segments.c.segment_id))
        .join_from(events, raters)
        .join(segments, segments.c.id == events.c.segment)
    )


def _read(connection: Connection, query: Select[Any]) -> list[Event]:
    return [
        Event(
            row.number,
            row.time,
            row.name,
            SegmentKey(row.doc_id, row.segment_id),
            Action(row.action_id, row.kind, row.system, _mended(row.payload), row.client_time),
        )
        for row in connection.execute(query)
    ]


def _mended(payload: Any) -> Any:
    """A payload with U+FFFD in place of what no file can hold; earlier versions recorded such texts."""
    if not isinstance(payload, dict):
        return payload
    return {name: storable(value) if isinstance(value, str) else value for name, value in payload.items()}
