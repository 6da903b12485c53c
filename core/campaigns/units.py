"""The units of a campaign, and the blocks in which they are assigned."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, islice
from typing import NamedTuple

from core.campaigns.design import CampaignDesign
from core.data import SegmentKey, grouped
from core.errors import UserError, unknown


class PlannedUnit(NamedTuple):
    """An item unit before it is stored: `systems` of segment `of`. Units of a `block` are assigned together."""

    block: int
    of: SegmentKey
    systems: tuple[str, ...]


def planned_units(
    outline: Mapping[SegmentKey, tuple[str, ...]], design: CampaignDesign, first_block: int = 0
) -> list[PlannedUnit]:
    """Return the item units in document order, block by block.

    `outline` names the systems that have an output, by segment, in document order. Each document is cut into chunks of at most
    `design.block_size` consecutive segments. A block is a chunk × one system if the protocol shows one output, a chunk × one pair
    of systems if it shows two, and a chunk with all systems otherwise. A missing output leaves its unit out, and shortens the block.
    Blocks count from `first_block`: for units that are added later, this is one more than the largest block so far.

    Raises `UserError` for a system or segment that the project does not have, and if no unit is left.
    """
    chosen = _chosen(outline, design)
    units: list[PlannedUnit] = []
    block = first_block
    for segments in grouped((key.doc_id, key) for key in chosen).values():
        rest = iter(segments)
        while chunk := list(islice(rest, design.block_size)):
            for shown in _shown_together({key: chosen[key] for key in chunk}, design.protocol.on_screen):
                units += [PlannedUnit(block, key, systems) for key, systems in shown.items()]
                block += 1
    if not units:
        needed = design.protocol.on_screen or 1
        raise UserError(
            "the campaign has nothing to rate", expected=f"a segment with outputs of at least {needed} chosen systems",
            hint="Choose more systems or segments",
        )  # fmt: skip
    return units


def _chosen(outline: Mapping[SegmentKey, tuple[str, ...]], design: CampaignDesign) -> dict[SegmentKey, tuple[str, ...]]:
    """Return the chosen systems of each chosen segment that has any, in one order of systems."""
    rank = {name: i for i, name in enumerate(dict.fromkeys(s for systems in outline.values() for s in systems))}
    for name in design.systems:
        if name not in rank:
            raise unknown("system", name, rank, hint="Choose systems that have outputs")
    for key in design.segments:
        if key not in outline:
            raise UserError(
                "a chosen segment is not in the project", got=f"{key.doc_id} {key.segment_id}".strip(),
                hint="Choose the segments again",
            )  # fmt: skip
    wanted, only = set(design.systems or rank), set(design.segments)
    found = {
        key: tuple(sorted(wanted.intersection(systems), key=rank.__getitem__))
        for key, systems in outline.items()
        if not only or key in only
    }
    return {key: systems for key, systems in found.items() if systems}


def _shown_together(
    chunk: Mapping[SegmentKey, tuple[str, ...]], on_screen: int | None
) -> list[dict[SegmentKey, tuple[str, ...]]]:
    """Return the blocks of a chunk: by segment, the systems that are on the screen at the same time."""
    if on_screen is None:
        return [dict(chunk)]
    blocks = grouped((group, key) for key, systems in chunk.items() for group in combinations(systems, on_screen))
    order = list(dict.fromkeys(name for systems in chunk.values() for name in systems))
    ranked = sorted(blocks, key=lambda group: [order.index(name) for name in group])
    return [dict.fromkeys(blocks[group], group) for group in ranked]
