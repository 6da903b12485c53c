"""Which outputs are to be labelled next: the probabilities are what they are said to be, and means can be corrected by them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.calibration.sampling import (
    LabelCandidate,
    choose,
    crossings,
    draw_units,
    places,
    proportional,
    strata,
    stratified,
    weights,
)
from core.data import OutputKey
from core.errors import UserError

PROBABILITIES = st.lists(st.floats(0, 1), max_size=30)


def candidates(n_segments: int = 40, systems: str = "AB", seed: int = 0) -> list[LabelCandidate]:
    rng = np.random.default_rng(seed)
    return [
        LabelCandidate(OutputKey(system, "d", str(i)), *rng.exponential(size=3))
        for i in range(n_segments)
        for system in systems
    ]


def test_strata_hold_equal_shares_and_part_no_equal_values() -> None:
    assert strata([5, 1, 4, 2, 3, 6], 3).tolist() == [2, 0, 1, 0, 1, 2]
    # most outputs are perfect: they stay in one stratum, and the strata that they would also fill are missing
    assert strata([0, 0, 0, 0, 0, 0, -1, -5], 4).tolist() == [1, 1, 1, 1, 1, 1, 0, 0]
    assert strata([], 5).tolist() == []
    assert np.bincount(strata(np.random.default_rng(0).normal(size=100), 5)).tolist() == [20] * 5


def test_unused_places_of_small_strata_go_to_the_others() -> None:
    assert places([10, 10, 10], 6).tolist() == [2, 2, 2]
    # the stratum of 1 has room for one: the other five places are shared by two
    assert places([1, 10, 10], 6).tolist() == [1, 2.5, 2.5]
    assert places([1, 2, 3], 99).tolist() == [1, 2, 3]
    assert places([], 3).tolist() == []


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(1, 40))
def test_places_add_up(sizes: list[int], n: int) -> None:
    shares = places(sizes, n)
    assert shares.sum() == pytest.approx(min(n, sum(sizes)))
    assert (shares <= np.array(sizes) + 1e-12).all()
    room = shares < np.array(sizes) - 1e-9
    assert not room.any() or np.ptp(shares[room]) < 1e-9
    assert stratified([k for k, size in enumerate(sizes) for _ in range(size)], n).sum() == pytest.approx(shares.sum())


def test_probabilities_are_proportional_and_cut_off_at_one() -> None:
    # half is spread evenly: shares ½·(4, 1, 1, 2)/2 + ½ = 1.5, .75, .75, 1 of 4, times n = 2 over 4
    assert proportional([4, 1, 1, 2], 2, 0.5).tolist() == pytest.approx([0.75, 0.375, 0.375, 0.5])
    # all but none of it by size: the first would have 3·.96 and is certain; the two places left are shared by four
    assert proportional([96, 1, 1, 1, 1], 3, 1e-9).tolist() == pytest.approx([1, 0.5, 0.5, 0.5, 0.5])
    assert proportional([0, 0, 0, 0], 1).tolist() == [0.25] * 4
    assert proportional([1, 5], 7).tolist() == [1, 1]
    with pytest.raises(ValueError, match="≥ 0"):
        proportional([-1, 2], 1)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.integers(1, 25))
def test_every_output_keeps_a_chance(sizes: list[float], n: int) -> None:
    probabilities = proportional(sizes, n)
    assert probabilities.sum() == pytest.approx(min(n, len(sizes)))
    assert ((probabilities > 0) & (probabilities <= 1)).all()


@given(PROBABILITIES, st.integers(0, 10**6))
def test_as_many_are_drawn_as_the_probabilities_add_up_to(p: list[float], seed: int) -> None:
    taken = draw_units(p, seed)
    assert len(taken) in (math.floor(sum(p) + 1e-6), math.ceil(sum(p) - 1e-6))
    assert {i for i, x in enumerate(p) if x == 1} <= set(taken.tolist())
    assert not {i for i, x in enumerate(p) if x == 0} & set(taken.tolist())


def test_each_is_drawn_as_often_as_its_probability_says() -> None:
    p = np.array([1.0, 0.9, 0.5, 0.5, 0.3, 0.3, 0.3, 0.1, 0.06, 0.04])
    draws = 2000
    for order in (None, [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]):
        often = np.zeros(len(p))
        for seed in range(draws):
            often[draw_units(p, seed, order)] += 1
        # four standard errors of a share over the draws
        assert (np.abs(often / draws - p) <= 4 * np.sqrt(p * (1 - p) / draws)).all()


def test_each_stratum_gets_its_places_rounded_up_or_down() -> None:
    stratum = np.repeat([0, 1, 2], [4, 10, 20])
    p = stratified(stratum, 8)
    for seed in range(200):
        counts = np.bincount(stratum[draw_units(p, seed, stratum)], minlength=3)
        assert counts.sum() == 8
        assert set(counts.tolist()) <= {2, 3}  # 8 places in three strata: 2⅔ each


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(-4, 6), st.sampled_from([0.0, 0.5, 1.0])), max_size=9),
    st.sampled_from([(0.0, math.inf), (0.5, 2.0), (1.0, 1.0), (0.0, 1.0), (2.0, math.inf)]),
)
def test_crossings_are_counted_by_brute_force(
    rows: list[tuple[int, int, float]], interval: tuple[float, float]
) -> None:
    expected = [
        sum(q for f, j, q in rows if f != e and interval[0] + 1e-9 < -(i - j) / (e - f) < interval[1] - 1e-9)
        for e, i, _ in rows
    ]  # λ* = −Δimp/Δexp, strictly inside
    exp, imp, known = ([row[k] for row in rows] for k in range(3))
    assert crossings(exp, imp, *interval, known).tolist() == pytest.approx(expected)


def test_outputs_without_crossings_in_the_interval_are_drawn_less() -> None:
    # a and b change places at λ* = 1; c is worse than both at every λ
    a, b, c = (
        LabelCandidate(OutputKey(s, "d", "1"), 0.0, *d) for s, d in (("a", (1, 2)), ("b", (2, 1)), ("c", (5, 5)))
    )
    often = {"a": 0, "b": 0, "c": 0}
    for seed in range(300):
        for key, probability in choose([a, b, c], 1, method="informative", seed=seed, interval=(0.5, 2)):
            often[key.system] += 1
            # crossings (⅓, ⅓, 0): .8·(1.5, 1.5, 0) + .2 = 1.4, 1.4, .2 of 3
            assert probability == pytest.approx({"a": 1.4 / 3, "b": 1.4 / 3, "c": 0.2 / 3}[key.system])
    assert often["c"] < 45
    # outside [.5, .9] nothing changes places: all are alike
    (one,) = choose([a, b, c], 1, method="informative", interval=(0.5, 0.9))
    assert one.probability == pytest.approx(1 / 3)
    # with a labelled already, b is the one to label
    chosen = [choose([b, c], 1, method="informative", seed=s, interval=(0.5, 2), labelled=[a]) for s in range(100)]
    assert sum(batch[0].key == b.key for batch in chosen) > 75


def test_a_batch_is_the_same_for_the_same_seed() -> None:
    all_of = candidates()
    batch = choose(all_of, 20, seed=7)
    assert batch == choose(all_of, 20, seed=7)
    assert {c.key for c in batch} != {c.key for c in choose(all_of, 20, seed=8)}
    assert len(batch) == 20


def test_outputs_are_sorted_by_segment_in_random_order() -> None:
    batch = choose(candidates(30, "AB"), 60, seed=2)
    segments = [c.key.segment_id for c in batch]
    assert segments[::2] == segments[1::2]
    assert [c.key.system for c in batch] == ["A", "B"] * 30
    # the first half of the segments comes neither first nor last: its mean place is near the middle of 0 … 29
    early = [place for place, segment in enumerate(segments[::2]) if int(segment) < 15]
    assert 10 < sum(early) / 15 < 19


def test_every_quality_and_every_system_is_in_a_stratified_batch() -> None:
    all_of = candidates(100)
    quality = dict(zip([c.key for c in all_of], strata([c.value for c in all_of], 5).tolist(), strict=True))
    batch = choose(all_of, 20, seed=3)  # 5 strata × 2 systems: two places each
    counts: dict[tuple[str, int], int] = {}
    for c in batch:
        cell = (c.key.system, quality[c.key])
        counts[cell] = counts.get(cell, 0) + 1
    assert len(counts) == 10
    assert set(counts.values()) <= {1, 2, 3}


def test_outputs_of_whole_segments_share_a_probability() -> None:
    batch = choose(candidates(40, "ABCD"), 30, seed=1, whole=True)  # 30 outputs are 7.5 segments
    by_segment: dict[str, list[float]] = {}
    for c in batch:
        by_segment.setdefault(c.key.segment_id, []).append(c.probability)
    assert len(by_segment) in (7, 8)
    assert all(len(p) == 4 and len(set(p)) == 1 for p in by_segment.values())


def test_asking_for_more_than_there_are_gives_all_with_certainty() -> None:
    for method in ("stratified", "informative"):
        batch = choose(candidates(3), 99, method=method)  # type: ignore[arg-type]
        assert len(batch) == 6
        assert {c.probability for c in batch} == {1.0}


def test_without_candidates_or_places_choosing_fails() -> None:
    with pytest.raises(UserError, match="no outputs to choose from"):
        choose([], 5)
    with pytest.raises(UserError, match="must be 1 or more"):
        choose(candidates(), 0)


def test_weights_are_one_over_the_probability() -> None:
    assert weights([1, 0.5, 0.25]).tolist() == [1, 2, 4]
    for wrong in ([0.0], [1.1], [-0.5]):
        with pytest.raises(ValueError, match="probabilities"):
            weights(wrong)
    for wrong_draw in ([1.2], [-0.1]):
        with pytest.raises(ValueError, match="must lie in"):
            draw_units(wrong_draw, 0)
