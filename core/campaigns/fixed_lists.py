"""Fixed assignment: task lists for all planned people, drawn before the campaign starts, and their rest while it runs.

A unit belongs to as many people as it has raters: those who hold a slot of it, and those on whose lists it is and who have not been
given it yet. So moving a unit from a list to another one keeps its raters distinct, and nobody gets it twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.campaigns.assignment import Stratum, UnitBlock, chunk_numbers, item_blocks, with_checks
from core.campaigns.design import CampaignDesign
from core.campaigns.seeded import arrival_times, display_order, seeded, shuffled
from core.data import SegmentKey, grouped
from core.ports.campaigns import Assignment, CampaignUnit, DrawState, HandOver, NewAssignment


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


class ListOwner(NamedTuple):
    """A participant whose list is the one in `place` (from 0), the order of joining; people beyond the planned number have none.

    `receives`: gets units at present. `counts`: the labels count.
    """

    id: int
    place: int
    receives: bool = True
    counts: bool = True


class ListRest(NamedTuple):
    """What of somebody's list is to be rated still, in the order of work. `begun` of these units were opened."""

    items: tuple[NewAssignment, ...]
    begun: int


class HandOverPlan(NamedTuple):
    """Who gets what of a rest, by participant id in the order of joining; what is `staying` can be given to nobody else."""

    shares: Mapping[int, tuple[NewAssignment, ...]]
    staying: tuple[NewAssignment, ...]


class ListState:
    """The fixed lists of a campaign at one moment."""

    def __init__(self, state: DrawState, design: CampaignDesign, owners: Sequence[ListOwner]) -> None:
        self._state, self._design = state, design
        self._owners = {owner.id: owner for owner in owners}
        self._units = {unit.id: unit for unit in state.units if unit.kind == "item" and not unit.retired}
        self._lists = fixed_lists(state.units, design)
        self._given: dict[int, dict[int, Assignment]] = {owner.id: {} for owner in owners}
        self._taken: dict[int, set[int]] = {}
        for a in state.assignments:
            self._given.setdefault(a.participant_id, {})[a.unit.id] = a
            if a.slot is not None:
                self._taken.setdefault(a.unit.id, set()).add(a.slot)
        with_list = {owner.place: owner.id for owner in owners}
        self._expected: dict[int, set[int]] = {}  # unit: places of the lists from which it has not been given yet
        for place, listed in enumerate(self._lists):
            had = self._given.get(with_list.get(place, -1), {})
            for new in listed:
                if new.unit_id not in had:
                    self._expected.setdefault(new.unit_id, set()).add(place)

    def not_given(self, participant_id: int) -> list[NewAssignment]:
        """Return what is on somebody's list and was not given yet. Units that have all their raters are left out."""
        place = self._owners[participant_id].place
        listed = self._lists[place] if place < len(self._lists) else []
        mine = [new for new in listed if place in self._expected.get(new.unit_id, ())]
        return [new._replace(slot=slot) for new in mine if (slot := self._free_slot(new)) is not None]

    def _free_slot(self, new: NewAssignment) -> int | None:
        """Return the planned slot, or the lowest free one: somebody who came back may have taken it."""
        taken = self._taken.get(new.unit_id, set())
        if new.slot is not None and new.slot not in taken:
            return new.slot
        return min(set(range(1, self._design.overlap + 1)) - taken, default=None)

    def rest(self, participant_id: int) -> ListRest:
        """Return what of somebody's list is not submitted; of people who are excluded also what they submitted."""
        mine = sorted(self._given[participant_id].values(), key=lambda a: a.position)
        unfinished = [(a, slot) for a in mine if a.unit.id in self._units and (slot := self._open_slot(a)) is not None]
        held = [NewAssignment(a.unit.id, slot, a.order, 1.0) for a, slot in unfinished]
        return ListRest((*held, *self.not_given(participant_id)), sum(a.opened is not None for a, _ in unfinished))

    def _open_slot(self, a: Assignment) -> int | None:
        if self._owners[a.participant_id].counts:
            return None if a.state == "submitted" else a.slot
        return a.slot or self._unclaimed_slot(a.unit.id)

    def _unclaimed_slot(self, unit_id: int) -> int | None:
        """Return a free slot of a unit if it has more of them than there are lists that still have it."""
        free = set(range(1, self._design.overlap + 1)) - self._taken.get(unit_id, set())
        return min(free) if len(free) > len(self._expected.get(unit_id, ())) else None

    def recipients(self, participant_id: int) -> list[int]:
        """Return the other people who get units at present."""
        return [owner.id for owner in self._owners.values() if owner.receives and owner.id != participant_id]

    def plan(self, participant_id: int, to: int | None = None) -> HandOverPlan:
        """Return who gets the rest of a list: one person, or (None) all others who get units.

        The units of a block go to one person if that is possible: to whoever has been given its segments least often, and among
        these to the one with the fewest open units.
        """
        people = (
            self.recipients(participant_id) if to is None else [p for p in self.recipients(participant_id) if p == to]
        )
        load, seen = {p: self._open(p) for p in people}, {p: self._seen(p) for p in people}
        shares: dict[int, list[NewAssignment]] = {p: [] for p in people}
        staying: list[NewAssignment] = []
        for block in grouped((self._units[new.unit_id].block, new) for new in self.rest(participant_id).items).values():
            left = list(block)
            while left:
                can = {p: [new for new in left if self._may_have(p, new.unit_id)] for p in people}
                if not any(can.values()):
                    break
                to_whom = min(people, key=lambda p: (-len(can[p]), self._met(seen[p], left), load[p]))
                shares[to_whom] += can[to_whom]
                load[to_whom] += len(can[to_whom])
                seen[to_whom].update(self._units[new.unit_id].of for new in can[to_whom])
                left = [new for new in left if new not in can[to_whom]]
            staying += left
        return HandOverPlan({p: tuple(share) for p, share in shares.items() if share}, tuple(staying))

    def _open(self, participant_id: int) -> int:
        held = [a for a in self._given[participant_id].values() if a.state == "assigned" and a.unit.kind == "item"]
        return len(held) + len(self.not_given(participant_id))

    def _seen(self, participant_id: int) -> Counter[SegmentKey]:
        """Return how often somebody is given each segment, with what is on the list."""
        held = [a.unit.of for a in self._given[participant_id].values() if a.unit.kind == "item"]
        return Counter([*held, *(self._units[new.unit_id].of for new in self.not_given(participant_id))])

    def _met(self, seen: Counter[SegmentKey], block: Sequence[NewAssignment]) -> int:
        return max(seen[self._units[new.unit_id].of] for new in block)

    def _may_have(self, participant_id: int, unit_id: int) -> bool:
        had = self._given[participant_id].get(unit_id)
        if had is not None:
            return had.state == "reclaimed"  # never submitted, and given back
        return self._owners[participant_id].place not in self._expected.get(unit_id, ())

    def hand_over(self, participant_id: int, to: int | None = None) -> HandOver:
        """Return the changes of a plan, with attention checks and repeats for those who get units.

        If nothing stays, the checks and repeats that are open go too.
        """
        plan = self.plan(participant_id, to)
        taken = [new._replace(slot=None) for share in plan.shares.values() for new in share]
        if taken and not plan.staying:
            extra = [a for a in self._given[participant_id].values() if a.unit.kind in ("check", "repeat")]
            taken += [NewAssignment(a.unit.id, None, a.order, 1.0) for a in extra if a.state == "assigned"]
        shares = {p: with_checks(share, self._state, p, self._design) for p, share in plan.shares.items()}
        return HandOver(taken, shares)
