"""Fixed lists while a campaign runs: what of a list is not given yet, what is left of it, and who else can rate that.

A unit belongs to as many people as it has raters: those who hold a slot of it, and those on whose lists it is and who have not been
given it yet. So moving a unit keeps its raters distinct, and nobody gets it twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from core.campaigns.assignment import with_checks
from core.campaigns.design import CampaignDesign
from core.campaigns.fixed_lists import fixed_lists
from core.data import SegmentKey, grouped
from core.ports.campaigns import Assignment, DrawState, HandOver, NewAssignment


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
