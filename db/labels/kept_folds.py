"""What functions make of the events of raters, kept in memory: after a save, the events of its segment are read again, and no others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple, TypeVar, cast

from sqlalchemy import Connection

from core.data import SegmentKey, grouped
from core.ports.labels import Event

T = TypeVar("T")
MOST_SEGMENTS = 100_000
"""Segments of all raters together whose results are kept, about 1 kB each."""
MOST_CHANGED = 100
"""If more segments have new events, all events of the rater are read: one query, not one per segment."""
EventsOf = Callable[[Connection, int, str | None, SegmentKey | None, int], list[Event]]
"""Returns the events of a project, rater and segment after a number."""


class _Kept(NamedTuple):
    """Results by segment, and the last event that they are made of."""

    by_segment: Mapping[SegmentKey, Any]
    number: int
    action_id: str


_Key = tuple[int, str, Callable[[Iterable[Event]], Any]]


class KeptFolds:
    """Results by project, rater and function. Threads may share an object."""

    def __init__(self, events: EventsOf) -> None:
        self._events = events
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._segments = 0
        self._lock = Lock()

    def read(
        self, connection: Connection, project_id: int, rater: str, fold: Callable[[Iterable[Event]], T]
    ) -> Mapping[SegmentKey, T]:
        """Return what `fold` makes of a rater's events of each segment."""
        key = (project_id, rater, fold)
        kept = self._found(key)
        new = self._events(connection, project_id, rater, None, kept.number - 1) if kept else []
        if kept and new and (new[0].number, new[0].action.id) == (kept.number, kept.action_id):
            places = dict.fromkeys(event.segment for event in new[1:])
            if not places:
                return cast(Mapping[SegmentKey, T], kept.by_segment)
            if len(places) <= MOST_CHANGED:
                changed = {place: fold(self._events(connection, project_id, rater, place, 0)) for place in places}
                return self._keep(key, {**kept.by_segment, **changed}, new)
        everything = self._events(connection, project_id, rater, None, 0)  # not kept, or a backup was restored
        by_segment = grouped((event.segment, event) for event in everything)
        return self._keep(key, {place: fold(events) for place, events in by_segment.items()}, everything)

    def _found(self, key: _Key) -> _Kept | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: _Key, by_segment: Mapping[SegmentKey, T], events: Sequence[Event]) -> Mapping[SegmentKey, T]:
        if events:
            with self._lock:
                before = self._kept.pop(key, None)
                self._kept[key] = _Kept(by_segment, events[-1].number, events[-1].action.id)
                self._segments += len(by_segment) - (len(before.by_segment) if before else 0)
                while self._segments > MOST_SEGMENTS and len(self._kept) > 1:
                    self._segments -= len(self._kept.popitem(last=False)[1].by_segment)
        return by_segment
