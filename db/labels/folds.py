"""Labels of raters, kept in memory: a save or a page folds new events, and no others."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import NamedTuple

from sqlalchemy import Connection

from core.data import SegmentKey, grouped
from core.mqm.log import SegmentFold, folded
from core.ports.labels import Event, FoldedSegment, RecordedSegment, SegmentLabels

MOST_EVENTS = 20_000
"""Events of the kept folds of segments together, so that saving takes the same time however long the log is."""
MOST_SEGMENTS = 50_000
"""Segments of all raters together whose labels are kept, about 2 kB each."""
MOST_CHANGED = 100
"""If more segments have new events, all events of the rater are read: one query, not one per segment."""
Place = tuple[int, str, SegmentKey]
"""A project, a rater and a segment."""
EventsOf = Callable[[Connection, int, str | None, SegmentKey | None, int], list[Event]]
"""Returns the events of a project, rater and segment after a number."""


class _OfRater(NamedTuple):
    """A rater's labels by segment, and the last event that they are made of."""

    by_segment: Mapping[SegmentKey, FoldedSegment]
    number: int
    action_id: str


class KeptFolds:
    """Folds of one rater in one segment, and all labels of a rater. Threads may share an object."""

    def __init__(self, events: EventsOf) -> None:
        self._events = events
        self._folds: OrderedDict[Place, SegmentFold] = OrderedDict()
        self._length = 0  # events of these folds together
        self._raters: OrderedDict[tuple[int, str], _OfRater] = OrderedDict()
        self._segments = 0  # of these raters together
        self._lock = Lock()

    def take(self, connection: Connection, place: Place, last_id: str) -> SegmentFold:
        """Return the fold of a place up to the action `last_id`, its last one; it is the caller's own until `keep`."""
        with self._lock:
            fold = self._removed(place)
        return fold if fold is not None and fold.last_id == last_id else self._read(connection, place)

    def keep(self, place: Place, fold: SegmentFold) -> None:
        """Keep a fold, so that the next page or save there need not fold its events again."""
        with self._lock:
            self._removed(place)
            self._folds[place] = fold
            self._length += fold.length
            while self._length > MOST_EVENTS:
                self._length -= self._folds.popitem(last=False)[1].length

    def _removed(self, place: Place) -> SegmentFold | None:
        fold = self._folds.pop(place, None)
        self._length -= fold.length if fold else 0
        return fold

    def _read(self, connection: Connection, place: Place) -> SegmentFold:
        return SegmentFold(self._events(connection, *place, 0))

    def recorded(self, connection: Connection, place: Place) -> RecordedSegment:
        """Return the events of a place, and the labels after them."""
        events = self._events(connection, *place, 0)
        last_id = events[-1].action.id if events else ""
        return RecordedSegment(events, self._labels(place, last_id, lambda: SegmentFold(events))[0])

    def _labels(self, place: Place, last_id: str, fold: Callable[[], SegmentFold]) -> tuple[SegmentLabels, bool]:
        """Return the labels of a place after the action `last_id`, and whether some were made here. `fold` is called if they are not kept."""
        with self._lock:
            kept = self._folds.get(place)
            if kept is not None and kept.last_id == last_id:
                return kept.labels, kept.made_here
        made = fold()
        answer = made.labels, made.made_here
        self.keep(place, made)
        return answer

    def of_rater(self, connection: Connection, project_id: int, rater: str) -> Mapping[SegmentKey, FoldedSegment]:
        """Return a rater's labels of each segment, in the order of the first event."""
        key = (project_id, rater)
        with self._lock:
            kept = self._raters.get(key)
            if kept:
                self._raters.move_to_end(key)
        new = self._events(connection, project_id, rater, None, kept.number - 1) if kept else []
        if kept and new and (new[0].number, new[0].action.id) == (kept.number, kept.action_id):
            changed = grouped((event.segment, event) for event in new[1:])
            if not changed:
                return kept.by_segment
            if len(changed) <= MOST_CHANGED:
                by_segment = {
                    segment: self._followed(connection, project_id, kept.by_segment.get(segment), of)
                    for segment, of in changed.items()
                }
                return self._keep_rater(key, {**kept.by_segment, **by_segment}, new)
        everything = self._events(connection, project_id, rater, None, 0)  # not kept, or a backup was restored
        groups = grouped((event.segment, event) for event in everything)
        return self._keep_rater(key, {segment: folded(of) for segment, of in groups.items()}, everything)

    def _followed(
        self, connection: Connection, project_id: int, before: FoldedSegment | None, new: Sequence[Event]
    ) -> FoldedSegment:
        """Return the labels of a segment after new events of its rater."""
        first, last = new[0], new[-1]
        place = (project_id, last.rater, last.segment)
        labels, made_here = self._labels(place, last.action.id, lambda: self._read(connection, place))
        begin = before or FoldedSegment(first.rater, first.segment, labels, first.number, began=first.time)
        return begin._replace(labels=labels, made_here=made_here, last=last.number, ended=last.time)

    def _keep_rater(
        self, key: tuple[int, str], by_segment: Mapping[SegmentKey, FoldedSegment], events: Sequence[Event]
    ) -> Mapping[SegmentKey, FoldedSegment]:
        if events:
            with self._lock:
                before = self._raters.pop(key, None)
                self._raters[key] = _OfRater(by_segment, events[-1].number, events[-1].action.id)
                self._segments += len(by_segment) - (len(before.by_segment) if before else 0)
                while self._segments > MOST_SEGMENTS and len(self._raters) > 1:
                    self._segments -= len(self._raters.popitem(last=False)[1].by_segment)
        return by_segment
