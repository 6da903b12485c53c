"""Fixed assignment: task lists for all planned people, drawn before the campaign starts, and who gets which list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.campaigns.assignment import Stratum, UnitBlock, chunk_numbers, item_blocks
from core.campaigns.design import CampaignDesign
from core.campaigns.seeded import arrival_times, display_order, seeded, shuffled
from core.data import grouped
from core.ports.campaigns import CampaignUnit, NewAssignment


class ListColoring:
    """An edge coloring of the bipartite graph of rows and blocks: the edges are places, the colors people.

    It exists whenever a row has at most `people` places and a block at most `people` copies (König 1916).
    """

    def __init__(self, people: int) -> None:
        self.people = people
        self.person: dict[int, int] = {}
        self._ends: dict[int, tuple[int, int]] = {}
        self._in_row: dict[tuple[int, int], int] = {}
        self._of_block: dict[tuple[int, int], int] = {}

    def has(self, block: int, person: int) -> bool:
        return (block, person) in self._of_block

    def put(self, place: int, row: int, block: int, person: int) -> None:
        """Give a place to a person who has neither another one of the row nor another copy of the block."""
        self._ends[place] = row, block
        self.person[place] = person
        self._in_row[row, person] = self._of_block[block, person] = place

    def force(self, place: int, row: int, block: int) -> None:
        """Give a place to somebody, and exchange two people along an alternating path if nobody can have it otherwise."""
        free_in_row = [p for p in range(self.people) if (row, p) not in self._in_row]
        free_for_block = [p for p in range(self.people) if not self.has(block, p)]
        both = sorted(set(free_in_row).intersection(free_for_block))
        if both:
            self.put(place, row, block, both[0])
            return
        a, b = free_in_row[0], free_for_block[0]
        path = self._path(block, a, b)
        for at in path:
            self._remove(at)
        for at, person in path.items():
            self.put(at, *self._ends[at], b if person == a else a)
        self.put(place, row, block, a)

    def _path(self, block: int, a: int, b: int) -> dict[int, int]:
        """Return the places of the path that leaves `block` by its copy of person `a`, with the person of each."""
        path: dict[int, int] = {}
        at = self._of_block.get((block, a))
        while at is not None:
            path[at] = a
            beside = self._in_row.get((self._ends[at][0], b))
            if beside is None:
                break
            path[beside] = b
            at = self._of_block.get((self._ends[beside][1], a))
        return path

    def _remove(self, place: int) -> None:
        row, block = self._ends[place]
        del self._in_row[row, self.person[place]], self._of_block[block, self.person[place]]


_BAND = 400  # people that are matched with blocks at a time
_FORBIDDEN, _SEEN, _LONGER, _BALANCE = 1e12, 1e7, 1e5, 1e2  # costs of a match, in the order of their importance
EXTENSION = "extension"
"""Detail of an item that was added later: the number of the extension, from 1."""


class ListPlace(NamedTuple):
    """One copy of a block, in place `row` (from 0) of somebody's list. `slot` is that of its units."""

    row: int
    block: int
    slot: int
    chunk: int
    stratum: Stratum


class GivenBlock(NamedTuple):
    """A copy of a block on somebody's list."""

    block: int
    person: int


def extension_of(unit: CampaignUnit) -> int:
    """Return the number of the extension that added an item; 0 for those of the start."""
    return int(unit.details.get(EXTENSION, 0))


def fixed_lists(units: Sequence[CampaignUnit], design: CampaignDesign) -> list[list[NewAssignment]]:
    """Return one list of assignments per planned person, in the order of work.

    Guaranteed:

    - Each unit is on exactly k different lists, once in each slot 1 … k.
    - The lengths of the lists differ by at most one block. Units that are added later are drawn by themselves and come after the
      others, so that nothing leaves or changes a list; they come first to whoever has fewer blocks.
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
    by_number = {block.number: block for block in blocks}
    of_extension = grouped((extension_of(block.units[0]), block) for block in blocks)
    person_lists: list[list[NewAssignment]] = [[] for _ in range(design.people)]
    shown: Counter[tuple[str, ...]] = Counter()
    given_blocks: list[GivenBlock] = []
    all_blocks: list[UnitBlock] = []
    for extension in sorted(of_extension):
        all_blocks += of_extension[extension]
        seed = (extension,) if extension else ()
        chunk = chunk_numbers(all_blocks)
        places = _places(of_extension[extension], chunk, design, seed)
        people = _people(places, chunk, given_blocks, design, seed)
        given_blocks += [GivenBlock(place.block, person) for place, person in zip(places, people, strict=True)]
        lists = grouped(zip(people, places, strict=True))
        for person in range(design.people):
            for place in lists.get(person, ()):
                for unit in by_number[place.block].units:
                    order = display_order(unit.systems, shown[unit.systems], design.seed)
                    shown[unit.systems] += 1
                    if not unit.retired:
                        person_lists[person].append(NewAssignment(unit.id, place.slot, order, 1.0))
    return person_lists


def _places(
    blocks: Sequence[UnitBlock], chunk: Mapping[int, int], design: CampaignDesign, seed: tuple[int, ...]
) -> list[ListPlace]:
    """Return k copies of each block, chunk by chunk. Each `design.people` of them fill one row of the lists.

    A row takes the systems that are rarest in it first.
    """
    by_chunk = grouped((chunk[block.number], block) for block in blocks)
    keys = np.array(list(by_chunk), np.int64)
    weights = np.array([design.importance.get(members[0].document, 1.0) for members in by_chunk.values()])
    times = arrival_times(design.seed, keys, np.zeros(len(keys), np.int64), weights)
    strata = shuffled(sorted({block.stratum for block in blocks}), seeded(design.seed, "lists", *seed))
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


def _people(
    places: Sequence[ListPlace],
    chunk: Mapping[int, int],
    given_blocks: Sequence[GivenBlock],
    design: CampaignDesign,
    seed: tuple[int, ...],
) -> list[int]:
    """Return the person of each place: another one for each place of a row, and for each copy of a block.

    `given_blocks` are the blocks on the lists so far.
    """
    coloring, rng = ListColoring(design.people), seeded(design.seed, "people", *seed)
    strata = {stratum: i for i, stratum in enumerate(dict.fromkeys(place.stratum for place in places))}
    of_stratum = np.zeros((len(strata), design.people))
    had: dict[int, Counter[int]] = {}
    lengths = np.zeros(design.people)
    for block, person in given_blocks:
        had.setdefault(chunk[block], Counter())[person] += 1
        lengths[person] += 1
    bands = -(-design.people // _BAND)
    for row in grouped((place.row, i) for i, place in enumerate(places)).values():
        order = shuffled(range(design.people), rng)
        left: list[int] = []
        for band in range(bands):
            people, band_places = np.array(order[band::bands]), row[band::bands]
            cost = np.array([[int(rng.random() * _BALANCE) for _ in people] for _ in band_places], float)
            for i, at in enumerate(band_places):
                seen = had.get(places[at].chunk, Counter())
                cost[i] += _BALANCE * of_stratum[strata[places[at].stratum], people]
                cost[i] += _LONGER * (lengths[people] - lengths.min())
                cost[i] += [_SEEN * seen[p] + _FORBIDDEN * coloring.has(places[at].block, p) for p in people.tolist()]
            left += _matched(cost, band_places, people, places, coloring) if band_places else []
        for at in left:
            coloring.force(at, places[at].row, places[at].block)
        for at in row:
            of_stratum[strata[places[at].stratum], coloring.person[at]] += 1
            lengths[coloring.person[at]] += 1
            had.setdefault(places[at].chunk, Counter())[coloring.person[at]] += 1
    return [coloring.person[i] for i in range(len(places))]


def _matched(
    cost: NDArray[np.float64],
    band_places: Sequence[int],
    people: NDArray[np.int64],
    places: Sequence[ListPlace],
    coloring: ListColoring,
) -> list[int]:
    """Give places to people at the least cost, and return the places for which only forbidden people are left."""
    # This import takes 0.5 s, and most starts of servers and commands do not need it.
    from scipy.optimize import linear_sum_assignment

    left = []
    for i, j in np.transpose(linear_sum_assignment(cost)).tolist():
        at = band_places[i]
        if cost[i, j] >= _FORBIDDEN:
            left.append(at)
        else:
            coloring.put(at, places[at].row, places[at].block, int(people[j]))
    return left
