"""What one annotator labels: the segments of a project or of a calibration set, and the data of the editor for one of them."""

from __future__ import annotations

from typing import Any, Literal

from core.data import SegmentKey, grouped
from core.errors import UserError
from core.ports.store import Store
from core.services.labels.exchange import editor_data, nearby
from core.services.labels.labels import LabelsBySegment, Outline, finished, next_unlabelled, open_segment
from core.services.labels.protocols import is_stored, of_project

Step = Literal["here", "next", "previous", "unlabelled"]


def outline(store: Store, project_id: int, batch: str | None = None, *, archived: bool = False) -> Outline:
    """Return the segments to label in their order, each with its systems: all of a project, or those of a calibration set.

    Raises `UserError` if the set does not exist, or was deleted after some of it was labelled (unless `archived`).
    """
    if batch is None:
        return store.projects.index(project_id).outline
    found = next((b for b in store.batches.list(project_id) if b.name == batch and (archived or not b.archived)), None)
    if found is None:
        raise UserError("the calibration set of this link no longer exists", hint="Ask for a new link")
    by_segment = grouped((chosen.key.segment, chosen.key.system) for chosen in found.outputs)
    return {segment: tuple(systems) for segment, systems in by_segment.items()}


def choose_segment(asked: Outline, mine: LabelsBySegment, here: SegmentKey | None, step: Step) -> SegmentKey:
    """Return the segment to show: `here` or a step from it; without `here`, the first one that is not submitted.

    Raises `UserError` if there is no segment.
    """
    keys = list(asked)
    if not keys:
        raise UserError("there is nothing to label", hint="Ask the person who sent you here")
    at = None if here is None or here not in asked else keys.index(here)
    if at is not None and step == "here":
        return keys[at]
    if at is not None and step in ("next", "previous"):
        return keys[max(0, min(at + (1 if step == "next" else -1), len(keys) - 1))]
    return next_unlabelled(asked, mine, here) or keys[at or 0]


def unit(
    store: Store, project_id: int, rater: str, asked: Outline, here: SegmentKey | None = None, step: Step = "here"
) -> dict[str, Any]:
    """Return the data of the editor for one segment (`exchange.editor_data`), with `done` and `total` segments."""
    mine = store.labels.of_rater(project_id, rater)
    segment = choose_segment(asked, mine, here, step)
    systems = asked[segment]
    recorded = open_segment(store, project_id, rater, segment, systems)
    submitted = {key for key, of in asked.items() if finished(mine.get(key), of)}
    data = editor_data(
        nearby(store, project_id, segment), project_id, rater, segment, systems, recorded,
        more=any(key != segment and key not in submitted for key in asked), protocol=of_project(store, project_id),
        declines=is_stored(store, project_id),
    )  # fmt: skip
    return data | {"done": len(submitted), "total": len(asked), "at": list(asked).index(segment) + 1}
