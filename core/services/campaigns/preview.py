"""Show one unit of a campaign that does not exist yet, as its annotators will see it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from core.campaigns.design import CampaignDesign
from core.campaigns.selection import Outline
from core.campaigns.units import planned_units
from core.data import Dataset, SegmentKey
from core.mqm.log import fold_segment
from core.ports.labels import Action, Event, RecordedSegment
from core.services.labels.exchange import editor_data

PREVIEWER = "preview"
MOST_UNITS = 20


class PreviewUnit(NamedTuple):
    """A unit to preview: its segment, and its systems in the order on the screen."""

    of: SegmentKey
    systems: tuple[str, ...]


def preview_units(outline: Outline, design: CampaignDesign) -> Sequence[PreviewUnit]:
    """Return some units, at random but always the same ones."""
    units = planned_units(dict(outline), design)
    rng = random.Random(design.seed)
    chosen = rng.sample(units, min(MOST_UNITS, len(units)))
    return [PreviewUnit(u.of, tuple(rng.sample(u.systems, len(u.systems)))) for u in chosen]


def preview_data(dataset: Dataset, project_id: int, design: CampaignDesign, unit: PreviewUnit) -> dict[str, Any]:
    """Return the data of the editor for a unit. Without `server`, the editor saves nothing."""
    ids = [f"preview-{n}" for n, _ in enumerate(unit.systems)]
    opened = Action("preview-open", "open", None, {"order": list(unit.systems), "ids": ids, "seed": 0})
    event = Event(0, datetime.now(UTC), PREVIEWER, unit.of, opened)
    return editor_data(
        dataset, project_id, PREVIEWER, unit.of, unit.systems, RecordedSegment([event], fold_segment([event])),
        more=True, protocol=design.protocol, declines=True,
    )  # fmt: skip
