"""Fixed task lists: what is guaranteed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.campaigns.design import CampaignDesign
from core.campaigns.fixed_lists import ListColoring, fixed_lists
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.data import SegmentKey
from core.ports.campaigns import CampaignUnit, NewAssignment
from tests.core.campaigns.examples import NAMES, outline, stored

Lists = list[list[NewAssignment]]


def blocks_of(lists: Lists, units: list[CampaignUnit]) -> list[list[int]]:
    """The blocks on each list, in order."""
    block = {unit.id: unit.block for unit in units}
    return [list(dict.fromkeys(block[new.unit_id] for new in listed)) for listed in lists]


def spread_by_place(lists: Lists, units: list[CampaignUnit]) -> int:
    """The largest difference between the counts of two systems in a place of the lists."""
    shown = {unit.block: unit.systems for unit in units}
    blocks = blocks_of(lists, units)
    spread = 0
    for place in range(max(map(len, blocks))):
        counts = Counter(shown[listed[place]] for listed in blocks if place < len(listed))
        every = [counts[systems] for systems in set(shown.values())]
        spread = max(spread, max(every) - min(every))
    return spread


def check_coverage(lists: Lists, units: list[CampaignUnit], design: CampaignDesign) -> None:
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
