"""The append-only log of what annotators did."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import IntegrityError

from core.data import Segment, SegmentKey
from core.errors import UserError
from core.mqm.log import check, fold_segment
from core.ports import Action, Event
from db.engine import inserted, reading, writing
from db.tables import events, now, outputs, raters, segments

AT_ONCE = 500


class SqlLabels:
    """`core.ports.Labels` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def append(self, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action]) -> list[str]:
        """Record new actions in one transaction; the ids are returned after it is committed to disk."""
        if not rater.strip():
            raise UserError("the annotator has no name", hint="Type your name first")
        if any(not action.id for action in actions):
            raise UserError("an action has no id", hint="Reload the page; nothing was saved")
        if actions:
            try:
                self._append(project_id, rater, segment, actions)
            except IntegrityError:  # another process recorded the rater, or one of the actions, at the same moment
                self._append(project_id, rater, segment, actions)
        return list(dict.fromkeys(action.id for action in actions))

    def _append(self, project_id: int, rater: str, key: SegmentKey, actions: Sequence[Action]) -> None:
        with writing(self._engine) as connection:
            segment_id, segment, texts = _texts(connection, project_id, key)
            rater_id = _rater(connection, rater)
            known = _known(connection, project_id, [action.id for action in actions])
            log = _events(connection, project_id, rater, key)
            rows = []
            for action in actions:
                if action.id in known:
                    continue
                known.add(action.id)
                check(action, fold_segment(log), segment, texts)
                log.append(Event(0, now(), rater, key, action))
                rows.append(
                    {
                        "project_id": project_id,
                        "action_id": action.id,
                        "time": log[-1].time,
                        "rater": rater_id,
                        "segment": segment_id,
                        "kind": action.kind,
                        "system": action.system,
                        "payload": dict(action.payload),
                        "client_time": action.client_time,
                    }
                )
            if rows:
                connection.execute(insert(events), rows)

    def events(self, project_id: int, *, rater: str | None = None, segment: SegmentKey | None = None) -> list[Event]:
        """Events in the order of their recording, of one rater and one segment or of all."""
        with reading(self._engine) as connection:
            return _events(connection, project_id, rater, segment)

    def raters(self, project_id: int | None = None) -> list[str]:
        """Names of raters, in the order in which they first came: of a project those who left events there, else all."""
        found = select(raters.c.name).order_by(raters.c.id)
        if project_id is not None:
            found = found.where(raters.c.id.in_(select(events.c.rater).where(events.c.project_id == project_id)))
        with reading(self._engine) as connection:
            return list(connection.execute(found).scalars())


def _texts(connection: Connection, project_id: int, key: SegmentKey) -> tuple[int, Segment, dict[str, str]]:
    found = select(segments.c.id, segments.c.source).where(
        segments.c.project_id == project_id,
        segments.c.doc_id == key.doc_id,
        segments.c.segment_id == key.segment_id,
    )
    row = connection.execute(found).first()
    if row is None:
        raise UserError(
            "there is no such segment",
            got=f"{key.doc_id} / {key.segment_id}",
            hint="Reload the page; nothing was saved",
        )
    written = select(outputs.c.system, outputs.c.text).where(outputs.c.segment == row.id).order_by(outputs.c.position)
    texts = {output.system: output.text for output in connection.execute(written)}
    return row.id, Segment(key.doc_id, key.segment_id, row.source), texts


def _rater(connection: Connection, name: str) -> int:
    """The id of a rater, who is made on first use; the row is locked, so that one rater's batches come one by one."""
    found = connection.execute(select(raters.c.id).where(raters.c.name == name).with_for_update()).scalar()
    if found is None:
        return inserted(connection, insert(raters).values(name=name, created=now()))
    return int(found)


def _known(connection: Connection, project_id: int, ids: Sequence[str]) -> set[str]:
    return {
        known
        for start in range(0, len(ids), AT_ONCE)
        for known in connection.execute(
            select(events.c.action_id).where(
                events.c.project_id == project_id, events.c.action_id.in_(ids[start : start + AT_ONCE])
            )
        ).scalars()
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
            Action(row.action_id, row.kind, row.system, row.payload, row.client_time),
        )
        for row in connection.execute(found)
    ]
