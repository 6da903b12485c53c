"""Units of a campaign and their blocks."""

from dataclasses import replace

import pytest

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.campaigns.units import planned_units
from core.data import SegmentKey
from core.errors import UserError
from tests.core.campaigns.examples import outline

ESA = CampaignDesign(PROTOCOLS["esa"], block_size=2)


def test_a_block_is_a_chunk_of_one_system() -> None:
    units = planned_units(outline(1, 3, 2), ESA)
    assert [(u.block, u.of.segment_id, u.systems) for u in units] == [
        (0, "0", ("A",)), (0, "1", ("A",)), (1, "0", ("B",)), (1, "1", ("B",)), (2, "2", ("A",)), (3, "2", ("B",)),
    ]  # fmt: skip


def test_all_systems_on_the_screen_make_one_unit() -> None:
    units = planned_units(outline(1, 3, 3), replace(ESA, protocol=PROTOCOLS["cesa"]))
    assert [(u.block, u.systems) for u in units] == [(0, ("A", "B", "C"))] * 2 + [(1, ("A", "B", "C"))]


def test_pairs_make_blocks_of_their_own() -> None:
    units = planned_units(outline(1, 2, 3), replace(ESA, protocol=PROTOCOLS["pairwise"]))
    pairs = [("A", "B"), ("A", "C"), ("B", "C")]
    assert [(u.block, u.systems) for u in units] == [(i, pair) for i, pair in enumerate(pairs) for _ in range(2)]


def test_a_missing_output_shortens_its_block() -> None:
    outputs = outline(1, 2, 2) | {SegmentKey("d0", "1"): ("B",)}
    units = planned_units(outputs, ESA, first_block=7)
    assert [(u.block, u.of.segment_id, u.systems) for u in units] == [
        (7, "0", ("A",)), (8, "0", ("B",)), (8, "1", ("B",)),
    ]  # fmt: skip


def test_only_chosen_systems_and_segments_are_units() -> None:
    keys = (SegmentKey("d1", "0"), SegmentKey("d1", "2"))
    units = planned_units(outline(2, 3, 3), replace(ESA, systems=("C", "B"), segments=keys))
    assert {u.systems for u in units} == {("B",), ("C",)}
    assert {u.of for u in units} == set(keys)
    assert {u.block for u in units} == {0, 1}


def test_segments_without_a_chosen_system_are_left_out() -> None:
    outputs = outline(1, 2, 1) | {SegmentKey("d0", "5"): ("Z",)}
    assert [u.of.segment_id for u in planned_units(outputs, replace(ESA, systems=("Z",)))] == ["5"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": PROTOCOLS["pairwise"], "systems": ("A",)}, "at least 2 chosen systems"),
        ({"systems": ("X",)}, "no system “X”"),
        ({"segments": (SegmentKey("d9", "0"),)}, "not in the project"),
    ],
)
def test_nothing_to_rate_is_an_error(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        planned_units(outline(1, 2, 3), replace(ESA, **changes))  # type: ignore[arg-type]


def test_an_empty_project_is_an_error() -> None:
    with pytest.raises(UserError, match="nothing to rate"):
        planned_units({}, ESA)
