"""Units of a campaign and their blocks."""

from dataclasses import replace

import pytest

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.campaigns.units import counts, of_documents, planned_units, sampled
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
    assert [(u.block, u.of, u.systems) for u in units] == [(i, key, (s,)) for i, s in enumerate("BC") for key in keys]
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


KEYS = [SegmentKey(f"d{d}", str(i)) for d in range(5) for i in range(4)]
OUTLINE = {key: ("A", "B") if key.doc_id != "d0" else ("A",) for key in KEYS}


@pytest.mark.parametrize("n", [1, 4, 6, 19, 20])
def test_a_sample_has_exactly_the_segments_asked_for_in_order(n: int) -> None:
    drawn = sampled(KEYS, n, seed=3)
    assert len(set(drawn)) == n
    assert list(drawn) == [key for key in KEYS if key in drawn]


def test_a_sample_has_whole_documents_and_one_cut_to_consecutive_segments() -> None:
    drawn = sampled(KEYS, 10, seed=1)
    sizes = sorted(sum(key.doc_id == doc for key in drawn) for doc in {key.doc_id for key in drawn})
    assert sizes == [2, 4, 4]
    places = [int(key.segment_id) for key in sampled(KEYS, 3, seed=7)]
    assert places == list(range(places[0], places[0] + 3))
    assert sampled(KEYS, 8, seed=2) == sampled(KEYS, 8, seed=2)
    assert len({sampled(KEYS, 8, seed=seed) for seed in range(20)}) > 1
    assert sampled(KEYS, 100, seed=0) == tuple(KEYS)


def test_no_chosen_document_is_an_error() -> None:
    assert of_documents(KEYS, ["d1"]) == tuple(KEYS[4:8])
    with pytest.raises(UserError, match="no document is chosen"):
        of_documents(KEYS, [])


def test_counts_are_of_chosen_systems_and_segments() -> None:
    # four documents with two systems and one with A alone: 16·2 + 4 outputs
    assert counts(OUTLINE, (), ()) == (20, 2, 36, 5)
    assert counts(OUTLINE, ("B",), ()) == (16, 1, 16, 4)
    assert counts(OUTLINE, (), KEYS[:5]) == (5, 2, 6, 2)
