"""Annotation: open a segment, save actions, find the next segment.

All functions read the labels of one rater only, to avoid bias.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from core.data import SegmentKey, grouped
from core.ports.calibration import SavedBatch
from core.ports.labels import Action, FoldedSegment, RecordedSegment, SegmentLabels, UnitTouch
from core.ports.store import Store

LabelsBySegment = Mapping[SegmentKey, FoldedSegment]
Outline = Mapping[SegmentKey, tuple[str, ...]]
"""The segments to label in their order, each with its systems."""


def outline_of(batch: SavedBatch) -> Outline:
    """Return the segments of a calibration set in its order, each with the systems whose outputs were drawn."""
    by_segment = grouped((chosen.key.segment, chosen.key.system) for chosen in batch.outputs)
    return {segment: tuple(systems) for segment, systems in by_segment.items()}


class SegmentProgress(NamedTuple):
    submitted: int
    total: int


def open_segment(
    store: Store,
    project_id: int,
    rater: str,
    segment: SegmentKey,
    systems: Collection[str],
    seed: int | None = None,
    order: Sequence[str] = (),
    touch: UnitTouch | None = None,
    opening: Callable[[], Mapping[str, Any]] = dict,
) -> RecordedSegment:
    """Return what the rater has recorded in a segment, with the order of the systems and their ids in the browser.

    Both are drawn at random when the segment is first opened, and recorded: nobody who knows the names of the systems can find
    out which output is whose. `seed` repeats the order, and `order` sets it. Systems added later come after the recorded ones.
    `touch` is that of `LabelLog.append`. The first opening also records what `opening` returns. Raises `UserError` if
    the segment does not exist.
    """
    recorded = store.labels.recorded(project_id, rater, segment)
    new = [system for system in systems if system not in recorded.labels.ids]
    if not new:
        if touch is not None:
            store.labels.append(project_id, rater, segment, [], touch)
        return recorded
    drawn = secrets.randbits(32) if seed is None else seed
    known = [s for s in recorded.labels.order if s in new]
    rest = [s for s in new if s not in known]
    opened = known + ([s for s in order if s in rest] or _shuffled(rest, drawn))
    ids = [f"o{secrets.token_hex(8)}" for _ in opened]
    payload = {"order": opened, "ids": ids, "seed": drawn} | ({} if recorded.labels.order else dict(opening()))
    action = Action(f"open-{secrets.token_hex(8)}", "open", None, payload)
    store.labels.append(project_id, rater, segment, [action], touch)
    return store.labels.recorded(project_id, rater, segment)  # of two tabs that open at once, the first decides


def _shuffled(systems: Iterable[str], seed: int) -> list[str]:
    """Return the systems in an order that depends on the seed only, on every machine."""
    return sorted(systems, key=lambda system: _digest(seed, system))


def shown_order(labels: SegmentLabels, systems: Collection[str]) -> tuple[str, ...]:
    """Return those of `systems` that the rater has opened, in the order in which the rater sees them."""
    return tuple(system for system in labels.order if system in systems)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "backslashreplace")).hexdigest()


def reveal(store: Store, project_id: int, rater: str, segment: SegmentKey, systems: Collection[str]) -> None:
    """Record that this rater has seen the names of `systems`; from then on the labels of their outputs are locked."""
    action = Action(
        f"reveal-{_digest(project_id, rater, segment, *sorted(systems))}", "reveal", None, {"systems": list(systems)}
    )
    store.labels.append(project_id, rater, segment, [action])


def finished(mine: FoldedSegment | None, systems: Collection[str]) -> bool:
    """Return whether a segment is submitted and no system was added since."""
    return mine is not None and mine.labels.submitted and all(mine.labels.answered(system) for system in systems)


def progress(asked: Outline, mine: LabelsBySegment) -> SegmentProgress:
    """Count the segments, and those the rater has submitted."""
    return SegmentProgress(sum(finished(mine.get(segment), systems) for segment, systems in asked.items()), len(asked))


def next_unlabelled(asked: Outline, mine: LabelsBySegment, after: SegmentKey | None = None) -> SegmentKey | None:
    """Return the first unsubmitted segment after `after`, wrapping around; None if all are done.

    `after` itself is returned only if no other segment is left.
    """
    order = list(asked)
    start = order.index(after) + 1 if after is not None and after in asked else 0
    rest = (key for key in order[start:] + order[:start] if not finished(mine.get(key), asked[key]))
    return next(rest, None)
