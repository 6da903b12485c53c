"""The append-only log of annotators' actions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, insert, select

from core.data import Segment, SegmentKey, storable
from core.errors import UserError
from core.mqm.log import check, fold_segment
from core.ports.labels import Action, Event, LabelBatch
from core.progress import Progress
from db.engine import inserted, reading, writing
from db.failures import retried
from db.lookup import parts
from db.tables import events, now, outputs, raters, segments


class SqlLabels:
    """`core.ports.labels.LabelLog` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def append(self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action]) -> list[str]:
        batch = LabelBatch(rater, segment, actions)
        _check_names(batch)
        if actions:
            self._append(project_id, batch)
        return list(dict.fromkeys(action.id for action in actions))

    @retried
    def _append(self, project_id: int, batch: LabelBatch) -> None:
        with writing(self._engine) as connection:
            texts = _of_segment(_texts(connection, project_id, batch.segment), batch.segment)
            rater = rater_id(connection, batch.rater)
            known = _known(connection, project_id, [action.id for action in batch.actions])
            log = _events(connection, project_id, batch.rater, batch.segment)
            if rows := _new(batch, project_id, rater, texts, known, log):
                connection.execute(insert(events), rows)

    def events(self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None) -> list[Event]:
        """Return the events in the order of recording, of one rater or segment or of all."""
        with reading(self._engine) as connection:
            return _events(connection, project_id, rater, segment)

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
            active = select(events.c.rater).where(events.c.project_id == project_id, events.c.kind != "open")
            found = found.where(raters.c.id.in_(active))
        with reading(self._engine) as connection:
            return list(connection.execute(found).scalars())


def record(connection: Connection, project_id: int, batches: Sequence[LabelBatch], progress: Progress) -> int:
    """Record batches within the caller's transaction; return the number of outputs with new labels, counted per rater.

    Raises as `SqlLabels.append` does. The project is read only once.
    """
    for batch in batches:
        _check_names(batch)
    texts = _texts(connection, project_id)
    rater_ids = {name: rater_id(connection, name) for name in dict.fromkeys(batch.rater for batch in batches)}
    known: set[str] = set()
    logs: dict[tuple[str, SegmentKey], list[Event]] = defaultdict(list)
    for event in _events(connection, project_id, None, None):
        known.add(event.action.id)
        logs[event.rater, event.segment].append(event)
    rows: list[dict[str, Any]] = []
    for done, batch in enumerate(batches):
        progress(done / len(batches))
        segment = _of_segment(texts, batch.segment)
        log = logs[batch.rater, batch.segment]
        rows += _new(batch, project_id, rater_ids[batch.rater], segment, known, log)
    if rows:
        connection.execute(insert(events), rows)
    return len({(row["rater"], row["segment"], row["system"]) for row in rows if row["system"] is not None})


class _Texts(NamedTuple):
    id: int
    segment: Segment
    outputs: dict[str, str]  # by system


def _check_names(batch: LabelBatch) -> None:
    if not batch.rater.strip():
        raise UserError("the annotator has no name", hint="Type your name first")
    if any(not action.id for action in batch.actions):
        raise UserError("an action has no id", hint="Reload the page; nothing was saved")


def _new(
    batch: LabelBatch, project_id: int, rater: int, texts: _Texts, known: set[str], log: list[Event]
) -> list[dict[str, Any]]:
    """Return rows for the new actions, each checked against the log before it; adds them to `known` and `log`."""
    rows: list[dict[str, Any]] = []
    for action in batch.actions:
        if action.id in known:
            continue
        known.add(action.id)
        check(action, fold_segment(log), texts.segment, texts.outputs)
        log.append(Event(0, now(), batch.rater, batch.segment, action))
        rows.append(
            {
                "project_id": project_id,
                "action_id": action.id,
                "time": log[-1].time,
                "rater": rater,
                "segment": texts.id,
                "kind": action.kind,
                "system": action.system,
                "payload": dict(action.payload),
                "client_time": action.client_time,
            }
        )
    return rows


def _of_segment(texts: Mapping[SegmentKey, _Texts], key: SegmentKey) -> _Texts:
    if key not in texts:
        hint = "Reload the page; nothing was saved"
        raise UserError("there is no such segment", got=f"{key.doc_id} / {key.segment_id}", hint=hint)
    return texts[key]


def _texts(connection: Connection, project_id: int, key: SegmentKey | None = None) -> dict[SegmentKey, _Texts]:
    """Return the texts of one segment if it exists, or of all."""
    wanted = [segments.c.project_id == project_id]
    if key is not None:
        wanted += [segments.c.doc_id == key.doc_id, segments.c.segment_id == key.segment_id]
    by_id: dict[int, _Texts] = {}
    for row in connection.execute(select(segments).where(*wanted)):
        by_id[row.id] = _Texts(row.id, Segment(row.doc_id, row.segment_id, row.source), {})
    written = select(outputs.c.segment, outputs.c.system, outputs.c.text).join_from(outputs, segments)
    for row in connection.execute(written.where(*wanted).order_by(outputs.c.position)):
        by_id[row.segment].outputs[row.system] = row.text
    return {texts.segment.key: texts for texts in by_id.values()}


def rater_id(connection: Connection, name: str) -> int:
    """The id of a rater, who is made on first use; the row is locked, so that one rater's batches come one by one."""
    found = connection.execute(select(raters.c.id).where(raters.c.name == name).with_for_update()).scalar()
    if found is None:
        return inserted(connection, insert(raters).values(name=name, created=now()))
    return int(found)


def _known(connection: Connection, project_id: int, ids: Sequence[str]) -> set[str]:
    mine = select(events.c.action_id).where(events.c.project_id == project_id)
    return {
        known for part in parts(ids) for known in connection.execute(mine.where(events.c.action_id.in_(part))).scalars()
    }


def _events(connection: Connection, project_id: int, rater: str | None, segment: SegmentKey | None) -> list[Event]:
    found = (
        select(events, raters.c.name, segments.c.doc_id, segments.c.segment_id)
        .join_from(events, raters)
        .join(segments, segments.c.id == events.c.segment)
        .where(events.c.project_id == project_id)
        .order_by(events.c.number)
    )
    if rater is not None:
        found = found.where(raters.c.name == rater)
    if segment is not None:
        found = found.where(segments.c.doc_id == segment.doc_id, segments.c.segment_id == segment.segment_id)
    return [
        Event(
            row.number,
            row.time,
            row.name,
            SegmentKey(row.doc_id, row.segment_id),
            Action(row.action_id, row.kind, row.system, _mended(row.payload), row.client_time),
        )
        for row in connection.execute(found)
    ]


def _mended(payload: Any) -> Any:
    """A payload with U+FFFD in place of what no file can hold; earlier versions recorded such texts."""
    if not isinstance(payload, dict):
        return payload
    return {name: storable(value) if isinstance(value, str) else value for name, value in payload.items()}
