"""Fixed assignment: task lists for all planned people, drawn before the campaign starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from core.campaigns.blocks import Stratum, UnitBlock, chunk_numbers, item_blocks
from core.campaigns.design import CampaignDesign
from core.campaigns.display_order import display_order
from core.campaigns.list_coloring import ListColoring
from core.campaigns.seeded import arrival_times, seeded, shuffled
from core.data import grouped
from core.ports.campaigns import CampaignUnit, NewAssignment

_BAND = 400  # people that are matched with blocks at a time
_FORBIDDEN, _SEEN, _BALANCE = 1e12, 1e7, 1e2  # costs of a match, in the order of their importance


class ListPlace(NamedTuple):
    """One copy of a block, in place `row` (from 0) of somebody's list. `slot` is that of its units."""

    row: int
    block: int
    slot: int
    chunk: int
    stratum: Stratum


def fixed_lists(units: Sequence[CampaignUnit], design: CampaignDesign) -> list[list[NewAssignment]]:
    """Return one list of assignments per planned person, in the order of work.

    Guaranteed:

    - Each unit is on exactly k different lists, once in each slot 1 … k.
    - The lengths of the lists differ by at most one block.
    - If every chunk has all systems: in each place of the lists (first block, second block …), the counts of the systems differ by
      at most 1. They are equal in each full place if the number of systems divides the number of people.
    - If k times the number of systems (or pairs) is at most the number of people, and that at most 400: nobody gets two blocks of a
      chunk.
    - Counts of system × position on the screen differ by at most 1.

    As far as these allow, each person gets all systems about equally often, and otherwise few blocks of the same chunk. Where outputs
    are missing, the systems of a place are as equal as taking the rarest first makes them.

    Chunks come in random order ∝ importance, the same on all lists, so that lists which are left early weigh like dynamic draws.
    Retired units are left out after everything is planned: retiring a unit does not change the rest.
    """
    blocks = item_blocks(units, design)
    places = _places(blocks, design)
    people = _people(places, design)
    lists: list[list[ListPlace]] = [[] for _ in range(design.people)]
    for place, person in zip(places, people, strict=True):
        lists[person].append(place)
    by_number = {block.number: block for block in blocks}
    shown: Counter[tuple[str, ...]] = Counter()
    found = []
    for listed in lists:
        tasks = []
        for place in listed:
            for unit in by_number[place.block].units:
                order = display_order(unit.systems, shown[unit.systems], design.seed)
                shown[unit.systems] += 1
                if not unit.retired:
                    tasks.append(NewAssignment(unit.id, place.slot, order, 1.0))
        found.append(tasks)
    return found


def _places(blocks: Sequence[UnitBlock], design: CampaignDesign) -> list[ListPlace]:
    """Return k copies of each block, chunk by chunk. Each `design.people` of them fill one row of the lists.

    A row takes the systems that are rarest in it first.
    """
    chunk = chunk_numbers(blocks)
    by_chunk = grouped((chunk[block.number], block) for block in blocks)
    keys = np.array(list(by_chunk), np.int64)
    weights = np.array([design.importance.get(members[0].document, 1.0) for members in by_chunk.values()])
    times = arrival_times(design.seed, keys, np.zeros(len(keys), np.int64), weights)
    strata = shuffled(sorted({block.stratum for block in blocks}), seeded(design.seed, "lists"))
    rank = {stratum: i for i, stratum in enumerate(strata)}
    places: list[ListPlace] = []
    in_row: Counter[Stratum] = Counter()
    for at in np.lexsort((keys, times)):
        for slot in range(1, design.overlap + 1):
            rest = list(by_chunk[int(keys[at])])
            while rest:
                row, column = divmod(len(places), design.people)
                if not column:
                    in_row.clear()
                block = min(rest, key=lambda b: (in_row[b.stratum], rank[b.stratum], b.number))
                rest.remove(block)
                in_row[block.stratum] += 1
                places.append(ListPlace(row, block.number, slot, int(keys[at]), block.stratum))
    return places


def _people(places: Sequence[ListPlace], design: CampaignDesign) -> list[int]:
    """Return the person of each place: another one for each place of a row, and for each copy of a block."""
    coloring, rng = ListColoring(design.people), seeded(design.seed, "people")
    strata = {stratum: i for i, stratum in enumerate(dict.fromkeys(place.stratum for place in places))}
    of_stratum = np.zeros((len(strata), design.people))
    had: dict[int, Counter[int]] = {}
    bands = -(-design.people // _BAND)
    for row in grouped((place.row, i) for i, place in enumerate(places)).values():
        order = shuffled(range(design.people), rng)
        left: list[int] = []
        for band in range(bands):
            people, here = np.array(order[band::bands]), row[band::bands]
            cost = np.array([[int(rng.random() * _BALANCE) for _ in people] for _ in here], float)
            for i, at in enumerate(here):
                seen = had.get(places[at].chunk, Counter())
                cost[i] += _BALANCE * of_stratum[strata[places[at].stratum], people]
                cost[i] += [_SEEN * seen[p] + _FORBIDDEN * coloring.has(places[at].block, p) for p in people.tolist()]
            left += _matched(cost, here, people, places, coloring) if here else []
        for at in left:
            coloring.force(at, places[at].row, places[at].block)
        for at in row:
            of_stratum[strata[places[at].stratum], coloring.person[at]] += 1
            had.setdefault(places[at].chunk, Counter())[coloring.person[at]] += 1
    return [coloring.person[i] for i in range(len(places))]


def _matched(
    cost: NDArray[np.float64],
    here: Sequence[int],
    people: NDArray[np.int64],
    places: Sequence[ListPlace],
    coloring: ListColoring,
) -> list[int]:
    """Give places to people at the least cost, and return the places for which only forbidden people are left."""
    left = []
    for i, j in np.transpose(linear_sum_assignment(cost)).tolist():
        at = here[i]
        if cost[i, j] >= _FORBIDDEN:
            left.append(at)
        else:
            coloring.put(at, places[at].row, places[at].block, int(people[j]))
    return left
