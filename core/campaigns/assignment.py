"""Dynamic assignment: the next block of a participant, drawn from what has been assigned so far.

Everything follows from the state and the seed of the design. The same state gives the same draw, on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import fsum

import numpy as np

from core.campaigns.blocks import Stratum, strata_of
from core.campaigns.design import CampaignDesign
from core.campaigns.display_order import display_order
from core.campaigns.seeded import arrival_times, seeded
from core.data import SegmentKey
from core.ports.campaigns import CampaignUnit, DrawState, NewAssignment

_Open = dict[int, list[CampaignUnit]]  # units that a participant could get, by block


def draw_block(state: DrawState, participant_id: int, design: CampaignDesign) -> list[NewAssignment]:
    """Return the next block of item units for a participant; empty if nothing is left for this person.

    A block can be drawn if one of its units is not retired, was never given to this participant and has fewer than k slots taken.
    Among these blocks, in this order of priority:

    1. those whose segments this person has been given least often (with other systems);
    2. those of the system (pair, or set of systems) with the fewest slots taken, ties at random;
    3. one block at random ∝ the importance of its document.

    Step 3 takes the block with the earliest arrival time (`arrival_times`). All blocks of a chunk have the same random numbers, so the
    systems are rated on the same documents first. A block passed over by step 1 comes next for somebody else, and so does a block
    whose slot was reclaimed. `probability` is the importance of the block divided by that of all blocks of its system left by step 1:
    the probability of the draw, given what was assigned of this system. All units of the block that can be given are given, each
    with its lowest free slot.
    """
    taken = Counter([a.unit.id for a in state.assignments if a.slot is not None])
    mine = {a.unit.id: a.unit for a in state.assignments if a.participant_id == participant_id}
    items = [unit for unit in state.units if unit.kind == "item"]
    open_ = _open_blocks(items, taken, mine, design.overlap)
    if not open_:
        return []
    seen = Counter(unit.of for unit in mine.values() if unit.kind == "item")
    fresh = _least_seen(open_, seen)
    stratum = strata_of({unit.systems for unit in items}, design)
    here = _least_rated(fresh, items, taken, stratum, seeded(design.seed, "system", len(state.assignments)).random())
    number, probability = _earliest(here, items, taken, design)
    return _given(here[number], state, design, probability)


def _open_blocks(items: Sequence[CampaignUnit], taken: Mapping[int, int], mine: Collection[int], overlap: int) -> _Open:
    found: _Open = {}
    full = {unit_id for unit_id, n in taken.items() if n >= overlap}.union(mine)
    for unit in items:
        if unit.id not in full and not unit.retired:
            found.setdefault(unit.block, []).append(unit)
    return found


def _least_seen(open_: _Open, seen: Mapping[SegmentKey, int]) -> _Open:
    if not seen:
        return open_
    times = {number: max(seen.get(unit.of, 0) for unit in units) for number, units in open_.items()}
    least = min(times.values())
    return {number: units for number, units in open_.items() if times[number] == least}


def _least_rated(
    open_: _Open,
    items: Sequence[CampaignUnit],
    taken: Mapping[int, int],
    stratum: Mapping[tuple[str, ...], Stratum],
    uniform: float,
) -> _Open:
    """Return the blocks of the stratum with the fewest slots taken; `uniform` in [0, 1) breaks ties."""
    ratings: dict[Stratum, int] = {}
    for unit in items:
        if unit.id in taken:
            here = stratum[unit.systems]
            ratings[here] = ratings.get(here, 0) + taken[unit.id]
    of = {number: stratum[units[0].systems] for number, units in open_.items()}
    left = sorted(set(of.values()))
    least = min(ratings.get(s, 0) for s in left)
    tied = [s for s in left if ratings.get(s, 0) == least]
    chosen = tied[int(uniform * len(tied))]
    return {number: units for number, units in open_.items() if of[number] == chosen}


def _earliest(
    open_: _Open, items: Sequence[CampaignUnit], taken: Mapping[int, int], design: CampaignDesign
) -> tuple[int, float]:
    """Return the number of the block that arrives first, and its share of the importance."""
    first_block: dict[SegmentKey, int] = {}
    for unit in items:
        first_block.setdefault(unit.of, unit.block)
    weights = np.array([design.importance.get(units[0].of.doc_id, 1.0) for units in open_.values()])
    keys = np.array([min([first_block[unit.of] for unit in units]) for units in open_.values()], np.int64)
    counts = np.array([min([taken.get(unit.id, 0) for unit in units]) for units in open_.values()], np.int64)
    numbers = np.array(list(open_), np.int64)
    times = arrival_times(design.seed, keys, counts, weights)
    at = np.lexsort((numbers, times))[0]
    return int(numbers[at]), float(weights[at]) / fsum(weights.tolist())


def _given(
    units: Sequence[CampaignUnit], state: DrawState, design: CampaignDesign, probability: float
) -> list[NewAssignment]:
    """Return the assignments of these units: the lowest free slots, and balanced orders on the screen."""
    wanted = {unit.id for unit in units}
    used = {(a.unit.id, a.slot) for a in state.assignments if a.unit.id in wanted}
    shown = {unit.systems for unit in units if len(unit.systems) > 1}
    so_far = Counter(
        a.unit.systems for a in state.assignments if shown and a.unit.kind == "item" and a.unit.systems in shown
    )
    given = []
    for unit in sorted(units, key=lambda u: u.position):
        slot = next(n for n in range(1, design.overlap + 1) if (unit.id, n) not in used)
        order = display_order(unit.systems, so_far[unit.systems], design.seed)
        so_far[unit.systems] += 1
        given.append(NewAssignment(unit.id, slot, order, probability))
    return given
