"""Fixed task lists: what is guaranteed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.campaigns.design import CampaignDesign
from core.campaigns.fixed_lists import EXTENSION, ListColoring, ListOwner, ListState, extension_of, fixed_lists
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.data import SegmentKey
from core.ports.campaigns import Assignment, CampaignUnit, DrawState, NewAssignment
from tests.core.campaigns.examples import NAMES, NOW, extra, outline, stored

TaskLists = list[list[NewAssignment]]


def blocks_of(lists: TaskLists, units: list[CampaignUnit]) -> list[list[int]]:
    """The blocks on each list, in order."""
    block = {unit.id: unit.block for unit in units}
    return [list(dict.fromkeys(block[new.unit_id] for new in listed)) for listed in lists]


def spread_by_place(lists: TaskLists, units: list[CampaignUnit]) -> int:
    """The largest difference between the counts of two systems in a place of the lists."""
    shown = {unit.block: unit.systems for unit in units}
    blocks = blocks_of(lists, units)
    spread = 0
    for place in range(max(map(len, blocks))):
        counts = Counter(shown[listed[place]] for listed in blocks if place < len(listed))
        every = [counts[systems] for systems in set(shown.values())]
        spread = max(spread, max(every) - min(every))
    return spread


def check_coverage(lists: TaskLists, units: list[CampaignUnit], design: CampaignDesign) -> None:
    assert len(lists) == design.people
    assert all(len({new.unit_id for new in listed}) == len(listed) for listed in lists)
    given_slots = Counter((new.unit_id, new.slot) for listed in lists for new in listed)
    assert given_slots == Counter((unit.id, slot) for unit in units for slot in range(1, design.overlap + 1))
    lengths = [len(listed) for listed in blocks_of(lists, units)]
    assert max(lengths) - min(lengths) <= 1
    counts = Counter(
        (new.order[place], place, tuple(sorted(new.order)))
        for listed in lists
        for new in listed
        for place in range(len(new.order))
    )
    for systems in {unit.systems for unit in units}:
        every = [counts[system, place, systems] for system in systems for place in range(len(systems))]
        assert max(every) - min(every) <= 1


@given(st.data())
def test_every_unit_is_on_k_lists_of_equal_length(data: st.DataObject) -> None:
    k, systems = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 5))
    protocol: ProtocolName = data.draw(st.sampled_from(["esa", "cesa", "pairwise"]))
    design = CampaignDesign(
        PROTOCOLS[protocol], overlap=k, people=data.draw(st.integers(k, 12)), block_size=data.draw(st.integers(1, 3)),
        seed=data.draw(st.integers(0, 1000)),
    )  # fmt: skip
    full = outline(data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4)), systems)
    gone = data.draw(st.sets(st.tuples(st.sampled_from(sorted(full)), st.sampled_from(NAMES[:systems])), max_size=6))
    outputs = {key: tuple(s for s in names if (key, s) not in gone) for key, names in full.items()}
    units = stored(outputs | {SegmentKey("last", "0"): tuple(NAMES[:systems])}, design)
    lists = fixed_lists(units, design)
    check_coverage(lists, units, design)
    assert lists == fixed_lists(units, design)
    if not gone:
        assert spread_by_place(lists, units) <= 1


@pytest.mark.parametrize(("people", "systems", "k"), [(4, 4, 1), (12, 4, 3), (8, 4, 2), (8, 4, 3), (6, 2, 3)])
def test_places_are_equal_where_the_numbers_divide(people: int, systems: int, k: int) -> None:
    design = CampaignDesign(overlap=k, people=people)
    units = stored(outline(people * 2, 3, systems), design)
    lists = fixed_lists(units, design)
    assert spread_by_place(lists, units) == 0
    assert len({len(listed) for listed in lists}) == 1


@pytest.mark.parametrize(("people", "systems", "k"), [(3, 3, 1), (5, 2, 2), (13, 4, 3), (30, 10, 3)])
def test_nobody_sees_a_chunk_twice_with_enough_people(people: int, systems: int, k: int) -> None:
    design = CampaignDesign(overlap=k, people=people, block_size=2)
    units = stored(outline(9, 5, systems), design)
    of = {unit.id: unit.of for unit in units}
    lists = fixed_lists(units, design)
    assert all(len({of[new.unit_id] for new in listed}) == len(listed) for listed in lists)


def test_each_person_gets_all_systems_about_equally_often() -> None:
    design = CampaignDesign(overlap=2, people=12)
    units = stored(outline(72, 1, 4), design)
    shown = {unit.id: unit.systems for unit in units}
    for listed in fixed_lists(units, design):
        counts = Counter(shown[new.unit_id] for new in listed)
        assert [counts[s,] for s in "ABCD"] == pytest.approx([12] * 4, abs=1)


def test_retiring_a_unit_changes_nothing_else() -> None:
    design = CampaignDesign(overlap=2, people=5, block_size=2)
    units = stored(outline(5, 4, 3), design)
    before = fixed_lists(units, design)
    units[7] = units[7]._replace(retired=True)
    after = fixed_lists(units, design)
    assert after == [[new for new in listed if new.unit_id != units[7].id] for listed in before]


def test_more_than_one_band_of_people_is_complete() -> None:
    design = CampaignDesign(overlap=3, people=450)
    units = stored(outline(310, 1, 2), design)
    lists = fixed_lists(units, design)
    check_coverage(lists, units, design)
    assert spread_by_place(lists, units) <= 1


@given(st.integers(1, 5), st.integers(1, 12), st.randoms(use_true_random=False))
def test_a_place_is_found_for_every_copy(people: int, blocks: int, rng: object) -> None:
    """Copies in any order: people have to be exchanged for many of them."""
    copies = [block for block in range(blocks) for _ in range(people)]
    rng.shuffle(copies)  # type: ignore[attr-defined]
    coloring = ListColoring(people)
    for place, block in enumerate(copies):
        coloring.force(place, place // people, block)
    assert len({(place // people, coloring.person[place]) for place in range(len(copies))}) == len(copies)
    assert len({(block, coloring.person[place]) for place, block in enumerate(copies)}) == len(copies)


THIRD = 3


class Lists:
    """A campaign with fixed lists in memory; participant ids are 10, 11, … in the order of joining."""

    def __init__(self, design: CampaignDesign, units: list[CampaignUnit], joined: int) -> None:
        self.design, self.units = design, units
        self.owners = {10 + place: ListOwner(10 + place, place) for place in range(joined)}
        self.given: dict[tuple[int, int], Assignment] = {}

    @property
    def state(self) -> ListState:
        assignments = sorted(self.given.values(), key=lambda a: (a.participant_id, a.position))
        return ListState(DrawState(self.units, assignments), self.design, list(self.owners.values()))

    def add(self, person: int, new: NewAssignment, state: str = "assigned") -> None:
        unit, old = next(u for u in self.units if u.id == new.unit_id), self.given.get((person, new.unit_id))
        assert old is None or old.state == "reclaimed", "twice the same person"
        assert new.slot is None or 1 <= new.slot <= self.design.overlap
        assert new.slot is None or new.slot not in self.slots(new.unit_id), "slot taken"
        self.given[person, unit.id] = Assignment(
            0,
            unit,
            person,
            new.slot,
            len(self.given),
            new.order,
            1.0,
            state,
            NOW,
            None,
            None,
            None,  # type: ignore[arg-type]
        )

    def slots(self, unit_id: int) -> list[int]:
        return [a.slot for a in self.given.values() if a.unit.id == unit_id and a.slot is not None]

    def draw(self, person: int) -> None:
        if self.owners[person].receives:
            for new in self.state.not_given(person):
                self.add(person, new)

    def submit(self, person: int, most: int = 1000) -> None:
        for key in [k for k, a in self.given.items() if k[0] == person and a.state == "assigned"][:most]:
            self.given[key] = self.given[key]._replace(state="submitted", opened=NOW, submitted=NOW)

    def leave(self, person: int) -> None:
        self.owners[person] = self.owners[person]._replace(receives=False)

    def exclude(self, person: int) -> None:
        self.owners[person] = self.owners[person]._replace(receives=False, counts=False)
        self.given = {k: a._replace(slot=None) if k[0] == person else a for k, a in self.given.items()}

    def extend(self, system: str) -> None:
        """Add another system's outputs for all segments, in a block each."""
        last, number = max(u.id for u in self.units), max(map(extension_of, self.units)) + 1
        keys = dict.fromkeys(u.of for u in self.units)
        self.units += [
            CampaignUnit(last + i, f"u{last + i}", last + i, last + i, "item", key, (system,), {EXTENSION: number})
            for i, key in enumerate(keys, 1)
        ]

    def hand_over(self, person: int, to: int | None = None) -> None:
        plan, done = self.state.plan(person, to), self.state.hand_over(person, to)
        moved = [new.unit_id for share in plan.shares.values() for new in share]
        assert sorted(moved + [new.unit_id for new in plan.staying]) == sorted(
            new.unit_id for new in self.state.rest(person).items
        )
        assert {new.unit_id for new in done.taken} >= set(moved)
        for new in done.taken:
            old = self.given.get((person, new.unit_id))
            if old is None:
                self.add(person, new, "reclaimed")
            else:
                state = "reclaimed" if old.state == "assigned" else old.state
                self.given[person, new.unit_id] = old._replace(slot=None, state=state)
        for receiver, share in done.shares.items():
            assert self.owners[receiver].receives
            assert receiver != person
            for new in share:
                self.add(receiver, new)

    def missing(self) -> set[int]:
        """Return the units that have fewer raters than they need."""
        return {u.id for u in self.units if u.kind == "item" and len(self.slots(u.id)) < self.design.overlap}


def started(people: int = 3, overlap: int = 2, joined: int | None = None, **design: object) -> Lists:
    chosen_design = CampaignDesign(overlap=overlap, people=people, block_size=2, **design)  # type: ignore[arg-type]
    return Lists(chosen_design, stored(outline(2, 4, 2), chosen_design), people if joined is None else joined)


@given(st.data())
def test_raters_stay_distinct_and_no_unit_is_lost(data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 3))
    design = CampaignDesign(
        PROTOCOLS[data.draw(st.sampled_from(["esa", "cesa"]))], overlap=k, people=data.draw(st.integers(k, 4)),
        block_size=data.draw(st.integers(1, 2)), seed=data.draw(st.integers(0, 99)),
    )  # fmt: skip
    joined = data.draw(st.integers(1, design.people + 2))
    units = stored(outline(2, data.draw(st.integers(1, 3)), 2), design)
    lists = Lists(design, units, joined)
    person = st.sampled_from(sorted(lists.owners))
    extensions = iter(NAMES[5:])
    for event in data.draw(
        st.lists(st.sampled_from(["draw", "submit", "leave", "exclude", "back", "extend", "hand over"]), max_size=14)
    ):
        who = data.draw(person)
        begun = {key: a for key, a in lists.given.items() if a.slot is not None}
        if event == "draw":
            lists.draw(who)
        elif event == "submit":
            lists.submit(who, data.draw(st.integers(1, 5)))
        elif event == "leave":
            lists.leave(who)
        elif event == "exclude":
            lists.exclude(who)
        elif event == "back":
            lists.owners[who] = lists.owners[who]._replace(receives=lists.owners[who].counts)
        elif event == "extend" and design.protocol.on_screen == 1 and (system := next(extensions, "")):
            lists.extend(system)
        elif event == "hand over":
            lists.hand_over(who, data.draw(st.none() | person))
        if event in ("draw", "submit", "leave", "extend"):
            assert begun.keys() <= lists.given.keys()
            assert all(lists.given[key].slot == a.slot for key, a in begun.items())
    for who in lists.owners:
        lists.draw(who)
        if lists.owners[who].receives:
            lists.submit(who)
    left = {new.unit_id for who in lists.owners for new in lists.state.rest(who).items}
    of_nobody = {new.unit_id for listed in fixed_lists(lists.units, design)[joined:] for new in listed}
    assert lists.missing() <= left | of_nobody
    assert all(lists.owners[who].receives is False for who in lists.owners if lists.state.rest(who).items)


def test_others_get_equal_shares() -> None:
    lists = Lists(CampaignDesign(overlap=1, people=5), stored(outline(40, 1, 1), CampaignDesign()), 5)
    for who in lists.owners:
        lists.draw(who)
    plan = lists.state.plan(12)
    assert {who: len(share) for who, share in plan.shares.items()} == {10: 2, 11: 2, 13: 2, 14: 2}
    assert not plan.staying


def test_the_units_of_a_block_stay_together() -> None:
    lists = Lists(CampaignDesign(overlap=1, people=4), stored(outline(8, 5, 1), CampaignDesign()), 4)
    block = {u.id: u.block for u in lists.units}
    shares = lists.state.plan(10).shares
    of = [{block[new.unit_id] for new in share} for share in shares.values()]
    assert sum(len(blocks) for blocks in of) == len(set().union(*of)) == 2


def test_people_without_a_list_can_take_one() -> None:
    lists = started(people=2, overlap=2, joined=3)
    assert lists.state.not_given(12) == []
    for who in (10, 11):
        lists.draw(who)
    lists.submit(10, THIRD)
    assert lists.state.plan(10, to=11).shares == {}
    assert len(lists.state.plan(10, to=11).staying) == len(lists.units) - THIRD
    lists.hand_over(10, to=12)
    assert len(lists.state.rest(12).items) == len(lists.units) - THIRD
    assert all(len(set(lists.slots(u.id))) == 2 for u in lists.units)


@pytest.mark.parametrize("k", [1, 2])
def test_all_units_of_excluded_people_need_another_rater(k: int) -> None:
    lists = started(people=2, overlap=k, joined=3)
    lists.draw(10)
    lists.submit(10, THIRD)
    mine = {unit for _, unit in lists.given}
    lists.exclude(10)
    rest = lists.state.rest(10)
    assert {new.unit_id for new in rest.items} == mine
    assert rest.begun == THIRD
    lists.hand_over(10, to=12)
    assert {unit for who, unit in lists.given if who == 12} == mine
    assert lists.state.rest(10).items == ()


def test_somebody_who_came_back_may_have_taken_the_planned_slot() -> None:
    lists = started(people=2, overlap=2)
    other = lists.state.not_given(11)[0]
    lists.draw(10)
    mine = lists.given[10, other.unit_id]
    lists.given[10, other.unit_id] = mine._replace(slot=other.slot)
    assert next(n for n in lists.state.not_given(11) if n.unit_id == other.unit_id).slot == mine.slot


def test_checks_and_repeats_go_with_the_rest() -> None:
    lists = started(people=2, overlap=1, checks=0.5)
    lists.units += extra("check", 100, [lists.units[0].of] * 8)
    lists.draw(10)
    check = NewAssignment(100, None, ("A",), 1.0)
    lists.add(10, check)
    done = lists.state.hand_over(10, to=11)
    assert check in done.taken
    kinds = Counter(next(u.kind for u in lists.units if u.id == new.unit_id) for new in done.shares[11])
    assert kinds["item"] == len(lists.state.rest(10).items)
    assert kinds["check"] >= kinds["item"] // 2 - 1


@pytest.mark.parametrize("k", [1, 2])
def test_an_extension_changes_no_list_and_is_rated_k_times(k: int) -> None:
    lists = started(people=4, overlap=k)
    before = fixed_lists(lists.units, lists.design)
    lists.extend("E")
    lists.extend("F")
    after = fixed_lists(lists.units, lists.design)
    assert [new[: len(old)] for old, new in zip(before, after, strict=True)] == before
    added = Counter(new.unit_id for old, new in zip(before, after, strict=True) for new in new[len(old) :])
    assert added == {u.id: k for u in lists.units if extension_of(u)}
    assert all(len({new.unit_id for new in listed}) == len(listed) for listed in after)


def test_an_extension_comes_first_to_whoever_has_less() -> None:
    design = CampaignDesign(overlap=1, people=4, block_size=1)
    lists = Lists(design, stored(outline(1, 6, 1), design), 4)
    lists.extend("E")
    assert sorted(map(len, fixed_lists(lists.units, design))) == [3, 3, 3, 3]
