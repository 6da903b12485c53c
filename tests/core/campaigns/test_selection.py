"""Segments of a campaign: samples of whole documents."""

import pytest

from core.campaigns.units import counts, of_documents, sampled
from core.data import SegmentKey
from core.errors import UserError

KEYS = [SegmentKey(f"d{d}", str(i)) for d in range(5) for i in range(4)]
OUTLINE = {key: ("A", "B") if key.doc_id != "d0" else ("A",) for key in KEYS}


@pytest.mark.parametrize("n", [1, 4, 6, 19, 20])
def test_a_sample_has_exactly_the_segments_asked_for_in_order(n: int) -> None:
    found = sampled(KEYS, n, seed=3)
    assert len(set(found)) == n
    assert list(found) == [key for key in KEYS if key in found]


def test_all_documents_of_a_sample_but_one_are_whole() -> None:
    found = sampled(KEYS, 10, seed=1)
    sizes = sorted(sum(key.doc_id == doc for key in found) for doc in {key.doc_id for key in found})
    assert sizes == [2, 4, 4]


def test_a_cut_document_keeps_consecutive_segments() -> None:
    places = [int(key.segment_id) for key in sampled(KEYS, 3, seed=7)]
    assert places == list(range(places[0], places[0] + 3))


def test_the_seed_decides_the_sample() -> None:
    assert sampled(KEYS, 8, seed=2) == sampled(KEYS, 8, seed=2)
    assert len({sampled(KEYS, 8, seed=seed) for seed in range(20)}) > 1


def test_a_small_project_is_sampled_whole() -> None:
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
