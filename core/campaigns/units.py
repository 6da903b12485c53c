"""Choose the segments of a campaign, and plan its units and the blocks in which they are assigned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations, islice
from random import Random
from typing import NamedTuple

from core.campaigns.design import CampaignDesign
from core.data import SegmentKey, grouped
from core.errors import UserError, unknown

Outline = Mapping[SegmentKey, tuple[str, ...]]
"""The systems that have an output, by segment, in document order."""


class PlannedUnit(NamedTuple):
    """An item unit before it is stored: `systems` of segment `of`. Units of a `block` are assigned together."""

    block: int
    of: SegmentKey
    systems: tuple[str, ...]


def planned_units(outline: Outline, design: CampaignDesign, first_block: int = 0) -> list[PlannedUnit]:
    """Return the item units in document order, block by block.

    Each document is cut into chunks of at most
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


def _chosen(outline: Outline, design: CampaignDesign) -> dict[SegmentKey, tuple[str, ...]]:
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
    systems_by_segment = _restricted(outline, design.systems, design.segments)
    return {key: tuple(sorted(systems, key=rank.__getitem__)) for key, systems in systems_by_segment.items()}


def _restricted(
    outline: Outline, systems: Collection[str], segments: Collection[SegmentKey]
) -> dict[SegmentKey, list[str]]:
    """Return these systems of these segments that have outputs; an empty collection means all."""
    only, chosen = set(segments), set(systems)
    systems_by_segment = {
        key: [name for name in of if not chosen or name in chosen]
        for key, of in outline.items()
        if not only or key in only
    }
    return {key: names for key, names in systems_by_segment.items() if names}


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


class DataCounts(NamedTuple):
    """Counts of what a campaign rates."""

    segments: int
    systems: int
    outputs: int
    documents: int


def sampled(keys: Iterable[SegmentKey], n: int, seed: int) -> tuple[SegmentKey, ...]:
    """Return `n` segments, or all if there are fewer, in their order: whole documents at random, so that annotators have context.

    The last document drawn is cut to consecutive segments from a random place. The same seed gives the same segments.
    """
    by_document = grouped((key.doc_id, key) for key in keys)
    rng, chosen = Random(seed), set[SegmentKey]()
    names = list(by_document)
    rng.shuffle(names)
    for name in names:
        mine, rest = by_document[name], n - len(chosen)
        if rest <= 0:
            break
        start = rng.randrange(len(mine) - rest + 1) if len(mine) > rest else 0
        chosen.update(mine[start : start + rest])
    return tuple(key for mine in by_document.values() for key in mine if key in chosen)


def of_documents(keys: Iterable[SegmentKey], documents: Collection[str]) -> tuple[SegmentKey, ...]:
    """Return the segments of these documents. Raises `UserError` if there are none."""
    segments = tuple(key for key in keys if key.doc_id in documents)
    if not segments:
        raise UserError("no document is chosen", hint="Choose documents, or choose all segments")
    return segments


def counts(outline: Outline, systems: Collection[str], segments: Collection[SegmentKey]) -> DataCounts:
    """Return the counts of the outputs of these systems and segments; an empty collection means all."""
    systems_by_segment = _restricted(outline, systems, segments)
    names = {name for of in systems_by_segment.values() for name in of}
    n_outputs = sum(map(len, systems_by_segment.values()))
    return DataCounts(len(systems_by_segment), len(names), n_outputs, len({key.doc_id for key in systems_by_segment}))
