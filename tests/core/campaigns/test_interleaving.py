"""Attention checks, repeats and the tutorial."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from core.campaigns.assignment import draw_block, tutorial_first, with_checks
from core.campaigns.design import CampaignDesign
from core.data import SegmentKey
from tests.core.campaigns.examples import Simulation, extra, outline, stored


def campaign_with(design: CampaignDesign, checks: int = 200) -> Simulation:
    items = stored(outline(40, 5, 2), design)
    repeats = [extra("repeat", 5000 + i, [item.of], unit=item.name)[0] for i, item in enumerate(items)]
    tutorial = extra("tutorial", 9000, [SegmentKey("t", str(i)) for i in range(3)])
    return Simulation([*items, *extra("check", 3000, [item.of for item in items[:checks]]), *repeats, *tutorial])


def worked(design: CampaignDesign, blocks: int, person: int = 1, checks: int = 200) -> Simulation:
    campaign = campaign_with(design, checks)
    for _ in range(blocks):
        drawn = draw_block(campaign.state, person, design)
        campaign.add(person, with_checks(drawn, campaign.state, person, design))
    return campaign


@given(st.sampled_from([0.0, 0.1, 0.35, 0.5]), st.sampled_from([0.0, 0.2, 0.5]), st.integers(1, 6), st.integers(0, 99))
def test_additions_are_never_first_nor_two_in_a_row(checks: float, repeats: float, size: int, seed: int) -> None:
    campaign = worked(CampaignDesign(checks=checks, repeats=repeats, block_size=size, seed=seed), 12)
    kinds = [a.unit.kind for a in campaign.assignments]
    assert kinds[0] == "item"
    assert all("item" in pair for pair in zip(kinds, kinds[1:], strict=False))
    counts = Counter(kinds)
    assert abs(counts["check"] - checks * counts["item"]) <= 1
    assert counts["repeat"] <= repeats * counts["item"] + 1
    assert all(a.slot is None and a.probability == 1 for a in campaign.assignments if a.unit.kind != "item")
    for i, a in enumerate(campaign.assignments):
        if a.unit.kind == "repeat":
            before = campaign.assignments[:i]
            (first,) = [n for n, b in enumerate(before) if b.unit.name == a.unit.details["unit"]]
            assert len({b.unit.block for b in before[first:] if b.unit.kind == "item"}) >= 2


def test_repeats_reach_their_rate() -> None:
    counts = Counter(a.unit.kind for a in worked(CampaignDesign(repeats=0.2, block_size=5), 12).assignments)
    assert abs(counts["repeat"] - 0.2 * counts["item"]) <= 1


def test_only_submitted_items_are_repeated() -> None:
    design = CampaignDesign(repeats=0.5, block_size=5)
    campaign = campaign_with(design)
    for _ in range(5):
        drawn = with_checks(draw_block(campaign.state, 1, design), campaign.state, 1, design)
        campaign.add(1, drawn, submitted=False)
    assert {a.unit.kind for a in campaign.assignments} == {"item"}


def test_checks_end_with_their_pool() -> None:
    kinds = Counter(a.unit.kind for a in worked(CampaignDesign(checks=0.5, block_size=5), 12, checks=4).assignments)
    assert kinds["check"] == 4


def test_places_of_checks_differ_between_people() -> None:
    design = CampaignDesign(checks=0.2, block_size=5)
    places = {
        tuple(i for i, a in enumerate(worked(design, 2, person).assignments) if a.unit.kind == "check")
        for person in range(12)
    }
    assert len(places) > 3


def test_nothing_is_added_to_an_empty_block() -> None:
    design = CampaignDesign(checks=0.5, repeats=0.5)
    assert with_checks([], worked(design, 3).state, 1, design) == []


def test_the_tutorial_comes_once_and_in_order() -> None:
    campaign = campaign_with(CampaignDesign())
    first = tutorial_first(campaign.state, 1)
    assert [(new.unit_id, new.slot) for new in first] == [(9000, None), (9001, None), (9002, None)]
    campaign.add(1, first[:1])
    assert tutorial_first(campaign.state, 1) == []
    assert len(tutorial_first(campaign.state, 2)) == 3


def test_a_check_is_of_another_segment_than_its_block_if_there_are_others() -> None:
    design = CampaignDesign(checks=0.5, block_size=5)
    items = stored(outline(40, 5, 2), design)
    drawn = draw_block(Simulation(items).state, 1, design)
    ids = {new.unit_id for new in drawn}
    of_block = [unit.of for unit in items if unit.id in ids]
    other = next(unit.of for unit in items if unit.of not in of_block)

    def checked(segments: list[SegmentKey]) -> list[SegmentKey]:
        campaign = Simulation([*items, *extra("check", 3000, segments)])
        units = [campaign.units[new.unit_id] for new in with_checks(drawn, campaign.state, 1, design)]
        return [unit.of for unit in units if unit.kind == "check"]

    assert checked([*of_block, other]) == [other]
    assert set(checked(of_block)) < set(of_block)
