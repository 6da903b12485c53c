"""Annotation: open a segment, save actions, find the next segment.

All functions read the labels of one rater only, to avoid bias.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import SegmentKey
from core.mqm.log import SegmentLabels, SubmissionState, fold_segment, fold_state
from core.ports.labels import Action
from core.ports.store import Store

StateBySegment = Mapping[SegmentKey, SubmissionState]
Outline = Mapping[SegmentKey, tuple[str, ...]]
"""The segments to label in their order, each with its systems."""


class SegmentProgress(NamedTuple):
    submitted: int
    total: int


class Saved(NamedTuple):
    """The ids of the stored actions, and the rater's labels of the segment after them."""

    ids: list[str]
    labels: SegmentLabels


def open_segment(
    store: Store,
    project_id: int,
    rater: str,
    segment: SegmentKey,
    systems: Collection[str],
    seed: int | None = None,
    order: Sequence[str] = (),
) -> SegmentLabels:
    """Return the rater's labels of a segment, with the order of the systems and their ids in the browser.

    Both are drawn at random when the segment is first opened, and recorded: nobody who knows the names of the systems can find
    out which output is whose. `seed` repeats the order, and `order` sets it. Systems added later come after the recorded ones. Raises `UserError` if
    the segment does not exist.
    """
    labels = _labels(store, project_id, rater, segment)
    new = [system for system in systems if system not in labels.ids]
    if not new:
        return labels
    drawn = secrets.randbits(32) if seed is None else seed
    known = [s for s in labels.order if s in new]
    rest = [s for s in new if s not in known]
    opened = known + ([s for s in order if s in rest] or _shuffled(rest, drawn))
    ids = [f"o{secrets.token_hex(8)}" for _ in opened]
    action = Action(f"open-{secrets.token_hex(8)}", "open", None, {"order": opened, "ids": ids, "seed": drawn})
    return save(store, project_id, rater, segment, [action]).labels  # of two tabs that open at once, the first decides


def _shuffled(systems: Iterable[str], seed: int) -> list[str]:
    """Return the systems in an order that depends on the seed only, on every machine."""
    return sorted(systems, key=lambda system: _digest(seed, system))


def shown_order(labels: SegmentLabels, systems: Collection[str]) -> tuple[str, ...]:
    """Return those of `systems` that the rater has opened, in the order in which the rater sees them."""
    return tuple(system for system in labels.order if system in systems)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()


def save(store: Store, project_id: int, rater: str, segment: SegmentKey, actions: Sequence[Action]) -> Saved:
    """Record actions and return once they are on disk. Raises `UserError` and records nothing if one is not valid."""
    ids = store.labels.append(project_id, rater, segment, actions)
    return Saved(ids, _labels(store, project_id, rater, segment))


def reveal(store: Store, project_id: int, rater: str, segment: SegmentKey, systems: Collection[str]) -> None:
    """Record that this rater has seen the names of `systems`; from then on the labels of their outputs are locked."""
    action = Action(
        f"reveal-{_digest(project_id, rater, segment, *sorted(systems))}", "reveal", None, {"systems": list(systems)}
    )
    store.labels.append(project_id, rater, segment, [action])


def _labels(store: Store, project_id: int, rater: str, segment: SegmentKey) -> SegmentLabels:
    return fold_segment(store.labels.events(project_id, rater=rater, segment=segment))


def states(store: Store, project_id: int, rater: str) -> StateBySegment:
    """Return how far a rater is with every segment that the rater has opened. Events are read once, however often this is called."""
    return store.labels.folded(project_id, rater, fold_state)


def finished(state: SubmissionState | None, systems: Collection[str]) -> bool:
    """Return whether a segment is submitted and no system was added since."""
    return state is not None and state.submitted and all(state.answered(system) for system in systems)


def progress(asked: Outline, mine: StateBySegment) -> SegmentProgress:
    """Count the segments, and those the rater has submitted."""
    return SegmentProgress(sum(finished(mine.get(segment), systems) for segment, systems in asked.items()), len(asked))


def next_unlabelled(asked: Outline, mine: StateBySegment, after: SegmentKey | None = None) -> SegmentKey | None:
    """Return the first unsubmitted segment after `after`, wrapping around; None if all are done.

    `after` itself is returned only if no other segment is left.
    """
    order = list(asked)
    start = order.index(after) + 1 if after is not None and after in asked else 0
    rest = (key for key in order[start:] + order[:start] if not finished(mine.get(key), asked[key]))
    return next(rest, None)
