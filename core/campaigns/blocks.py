"""Blocks of units: which systems they belong to, and which blocks show the same segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from core.campaigns.design import CampaignDesign
from core.data import SegmentKey
from core.ports.campaigns import CampaignUnit

Stratum = tuple[str, ...]


class UnitBlock(NamedTuple):
    """Item units that are assigned together, in the order of position."""

    number: int
    document: str
    stratum: Stratum
    units: tuple[CampaignUnit, ...]


def item_blocks(units: Iterable[CampaignUnit], design: CampaignDesign) -> list[UnitBlock]:
    """Return all blocks of item units by number, those of retired units too."""
    found: dict[int, list[CampaignUnit]] = {}
    for unit in units:
        if unit.kind == "item":
            found.setdefault(unit.block, []).append(unit)
    strata = strata_of({u.systems for members in found.values() for u in members}, design)
    blocks = []
    for number in sorted(found):
        members = tuple(sorted(found[number], key=lambda u: u.position))
        blocks.append(UnitBlock(number, members[0].of.doc_id, strata[members[0].systems], members))
    return blocks


def strata_of(shown: Iterable[tuple[str, ...]], design: CampaignDesign) -> Mapping[tuple[str, ...], Stratum]:
    """Return the stratum of each combination of systems: what is balanced against what when blocks are drawn.

    With one or two outputs on the screen, each system or pair is a stratum. With all systems on the screen, combinations that share
    a system are one stratum, so that missing outputs do not make a stratum each.
    """
    combinations = sorted(set(shown))
    if design.protocol.on_screen is not None:
        return {systems: systems for systems in combinations}
    merged: list[set[str]] = []
    for systems in combinations:
        touching = [group for group in merged if not group.isdisjoint(systems)]
        merged = [group for group in merged if group.isdisjoint(systems)] + [set(systems).union(*touching)]
    return {s: tuple(sorted(group)) for s in combinations for group in merged if not group.isdisjoint(s)}


def chunk_numbers(blocks: Sequence[UnitBlock]) -> dict[int, int]:
    """Return the chunk of each block, by block number: blocks with a segment in common are of one chunk.

    A chunk has the number of its first block.
    """
    parent: dict[int, int] = {}

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = number = parent[parent[number]]
        return number

    first: dict[SegmentKey, int] = {}
    for block in blocks:
        parent[block.number] = block.number
        for unit in block.units:
            a, b = sorted((root(first.setdefault(unit.of, block.number)), root(block.number)))
            parent[b] = a
    return {block.number: root(block.number) for block in blocks}
