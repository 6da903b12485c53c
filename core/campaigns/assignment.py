"""Dynamic assignment: blocks of units, attention checks and repeats between them, and the draw of a participant's next block.

Everything follows from the state and the seed of the design. The same state gives the same draw, on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import fsum
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.campaigns.design import CampaignDesign
from core.campaigns.seeded import arrival_times, display_order, seeded, shuffled
from core.data import SegmentKey, grouped
from core.ports.campaigns import Assignment, CampaignUnit, DrawState, NewAssignment

Stratum = tuple[str, ...]


class UnitBlock(NamedTuple):
    """Item units that are assigned together, in the order of position."""

    number: int
    document: str
    stratum: Stratum
    units: tuple[CampaignUnit, ...]


def item_blocks(units: Iterable[CampaignUnit], design: CampaignDesign) -> list[UnitBlock]:
    """Return all blocks of item units by number, those of retired units too."""
    by_number: dict[int, list[CampaignUnit]] = {}
    for unit in units:
        if unit.kind == "item":
            by_number.setdefault(unit.block, []).append(unit)
    strata = strata_of({u.systems for members in by_number.values() for u in members}, design)
    blocks = []
    for number in sorted(by_number):
        members = tuple(sorted(by_number[number], key=lambda u: u.position))
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
    blocks = _least_rated(fresh, items, taken, stratum, seeded(design.seed, "system", len(state.assignments)).random())
    number, probability = _earliest(blocks, items, taken, design)
    return _given(blocks[number], state, design, probability)


def _open_blocks(items: Sequence[CampaignUnit], taken: Mapping[int, int], mine: Collection[int], overlap: int) -> _Open:
    open_blocks: _Open = {}
    full = {unit_id for unit_id, n in taken.items() if n >= overlap}.union(mine)
    for unit in items:
        if unit.id not in full and not unit.retired:
            open_blocks.setdefault(unit.block, []).append(unit)
    return open_blocks


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
            own_stratum = stratum[unit.systems]
            ratings[own_stratum] = ratings.get(own_stratum, 0) + taken[unit.id]
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
    unit_ids = {unit.id for unit in units}
    used = {(a.unit.id, a.slot) for a in state.assignments if a.unit.id in unit_ids}
    shown = {unit.systems for unit in units if len(unit.systems) > 1}
    so_far = Counter(
        a.unit.systems for a in state.assignments if shown and a.unit.kind == "item" and a.unit.systems in shown
    )
    assignments = []
    for unit in sorted(units, key=lambda u: u.position):
        slot = next(n for n in range(1, design.overlap + 1) if (unit.id, n) not in used)
        order = display_order(unit.systems, so_far[unit.systems], design.seed)
        so_far[unit.systems] += 1
        assignments.append(NewAssignment(unit.id, slot, order, probability))
    return assignments


def tutorial_first(state: DrawState, participant_id: int) -> list[NewAssignment]:
    """Return all tutorial units in their order for a participant who has had none; otherwise nothing."""
    if any(a.participant_id == participant_id and a.unit.kind == "tutorial" for a in state.assignments):
        return []
    tutorial = [unit for unit in state.units if unit.kind == "tutorial" and not unit.retired]
    return [NewAssignment(u.id, None, u.systems, 1.0) for u in sorted(tutorial, key=lambda u: u.position)]


def with_checks(
    drawn: Sequence[NewAssignment], state: DrawState, participant_id: int, design: CampaignDesign
) -> list[NewAssignment]:
    """Return a drawn block with attention checks and repeats between its units.

    Rates are per item unit: with `design.checks` = 0.1, a person gets one check per ten items. What did not fit into a block is made
    up for in the next one. Each addition follows an item directly, so none is the first unit of a person, and never two in a row.
    They have no slot and probability 1; several outputs on the screen are in random order.

    Checks are new to the participant, and of other segments than this block if there are any such. Repeats are new too, and repeat
    an item that the participant submitted before the latest block. If there are none, fewer are added.
    """
    mine = [a for a in state.assignments if a.participant_id == participant_id]
    rng = seeded(design.seed, "checks", participant_id, len(mine))
    offset = seeded(design.seed, "rate", participant_id)
    items = sum(a.unit.kind == "item" for a in mine) + len(drawn)
    added: list[CampaignUnit] = []
    for kind, rate in (("check", design.checks), ("repeat", design.repeats)):
        had = sum(a.unit.kind == kind for a in mine)
        due = max(0, int(rate * items + offset.random()) - had)
        pool = _new_checks(drawn, state, mine, rng) if kind == "check" else _new_repeats(state, mine, rng)
        added += pool[: min(due, len(drawn) - len(added))]
    after = dict(zip(sorted(shuffled(range(len(drawn)), rng)[: len(added)]), shuffled(added, rng), strict=True))
    assignments: list[NewAssignment] = []
    for i, item in enumerate(drawn):
        assignments.append(item)
        if i in after:
            assignments.append(NewAssignment(after[i].id, None, tuple(shuffled(after[i].systems, rng)), 1.0))
    return assignments


def _new_checks(
    drawn: Sequence[NewAssignment], state: DrawState, mine: Sequence[Assignment], rng: Random
) -> list[CampaignUnit]:
    """Return checks that are new to a participant in random order, of other segments than the block if there are any."""
    had, ids = {a.unit.id for a in mine}, {new.unit_id for new in drawn}
    segments = {unit.of for unit in state.units if unit.id in ids}
    pool = [u for u in state.units if u.kind == "check" and not u.retired and u.id not in had]
    of_other_segments = [unit for unit in pool if unit.of not in segments]
    return shuffled(of_other_segments or pool, rng)


def _new_repeats(state: DrawState, mine: Sequence[Assignment], rng: Random) -> list[CampaignUnit]:
    """Return the repeats that are new to a participant, of items submitted before the latest block, in random order."""
    had, items = {a.unit.id for a in mine}, [a for a in mine if a.unit.kind == "item"]
    if not items:
        return []
    latest = max(items, key=lambda a: a.position).unit.block
    ready = {a.unit.name for a in items if a.submitted is not None and a.unit.block != latest}
    repeats = [u for u in state.units if u.kind == "repeat" and not u.retired and u.id not in had]
    return shuffled([unit for unit in repeats if unit.details.get("unit") in ready], rng)


def inclusion_weights(
    units: Sequence[CampaignUnit], rated: Collection[int], design: CampaignDesign
) -> dict[int, float]:
    """Return the weight 1/π of each rated item unit, by unit id. `rated` are the ids of the units that have a rating.

    π is the probability that the block of the unit is among the n rated ones of the N blocks of its system: n/N if all documents are
    equally important, 1 if all blocks are rated, and otherwise 1 − exp(−τw) for importance w, with τ such that the N probabilities
    sum to n (Rosén 1997, for successive sampling). Use the weights for means: Σ weight × score / Σ weight.

    Blocks that are retired and not rated are left out of N, unless the whole system is retired.
    """
    rated_ids = set(rated)
    weights: dict[int, float] = {}
    blocks = item_blocks(units, design)
    for members in grouped((block.stratum, block) for block in blocks).values():
        hit = [any(unit.id in rated_ids for unit in block.units) for block in members]
        kept = [
            is_hit or not all(unit.retired for unit in block.units) for block, is_hit in zip(members, hit, strict=True)
        ]
        if all(unit.retired for block in members for unit in block.units):
            kept = [True] * len(members)
        importance = np.array([design.importance.get(b.document, 1.0) for b, k in zip(members, kept, strict=True) if k])
        probabilities = iter(inclusion_probabilities(importance, sum(hit)))
        for block, keep in zip(members, kept, strict=True):
            if keep:
                weight = 1.0 / max(float(next(probabilities)), np.finfo(float).tiny)
                weights |= {unit.id: weight for unit in block.units if unit.id in rated_ids}
    return weights


def inclusion_probabilities(weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the probability of each of N things to be among `n` that are drawn one by one ∝ weight, without replacement.

    1 − exp(−τ · weight), with τ such that the probabilities sum to n (Rosén 1997). The error of this approximation is of order 1/N.
    """
    if n >= len(weights):
        return np.ones(len(weights))
    if n <= 0 or weights.min() == weights.max():
        return np.full(len(weights), max(n, 0) / len(weights))
    scaled, tau = weights / weights.mean(), 0.0
    for _ in range(200):  # Newton's method from the left: the sum is concave in τ, so it never goes too far
        missed = np.exp(-tau * scaled)
        step = (n - len(weights) + float(missed.sum())) / float((scaled * missed).sum())
        tau += step
        if abs(step) <= 1e-13 * tau:
            break
    probabilities: NDArray[np.float64] = -np.expm1(-tau * scaled)
    return probabilities
