from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from core.stats.significance.system_comparison import (
    TOO_FEW,
    Wins,
    approximate_randomization,
    compare_systems,
    holm,
    minimum_detectable_difference,
    noncentrality,
    paired_bootstrap,
    rank_ranges,
    wins_of,
)
from tests.core.stats.type_one_error import bootstrap, randomization, rate


@given(st.lists(st.tuples(st.integers(-5, 0), st.integers(-5, 0), st.integers(-5, 0)), min_size=2, max_size=7))
def test_randomization_comes_to_what_all_exchanges_give(rows: list[tuple[int, int, int]]) -> None:
    scores = np.array(rows, dtype=float).T / 10  # many ties, and sums that are not exact
    tests = approximate_randomization(scores, seed=0, draws=4000)
    signs = np.array(list(product([1, -1], repeat=len(rows))))
    for (i, j), test in tests.items():
        gap = np.array([a - b for a, b in zip(*np.array(rows).T[[i, j]], strict=True)])
        exact = np.mean(np.abs(signs @ gap) >= abs(gap.sum()))
        assert test.p == pytest.approx(exact, abs=0.035)
        assert test.difference == pytest.approx(gap.mean() / 10)


def test_p_is_never_0() -> None:
    sure = np.stack([np.arange(50.0) + 10, np.arange(50.0)])
    assert approximate_randomization(sure, seed=0, draws=999)[0, 1].p == pytest.approx(1 / 1000)
    intervals = paired_bootstrap(sure, seed=0, draws=999)[0, 1]
    assert intervals.value == 10
    assert [intervals.low, intervals.high] == pytest.approx([10, 10])


def test_the_bootstrap_comes_to_what_all_resamples_give() -> None:
    scores = np.array([[0.9, 0.1, 0.4, 0.8, 0.3], [0.2, 0.3, 0.3, 0.5, 0.3]])
    gap = scores[0] - scores[1]
    every = np.array([gap[list(drawn)].mean() for drawn in product(range(5), repeat=5)])  # all 3125 of them
    intervals = paired_bootstrap(scores, seed=0, draws=20_000)[0, 1]
    assert [intervals.low, intervals.high] == pytest.approx(np.quantile(every, [0.025, 0.975]), abs=0.01)


def test_documents_are_exchanged_and_drawn_whole() -> None:
    # differences 1 and 3 in one document, 2 in the other: exchanging whole documents gives ±4 ± 2 over 3 segments, so the
    # difference seen, 6/3, comes up in two of four; drawn are (1+3)/2, (1+3+2)/3 or 2: always 2
    scores = np.array([[1.0, 3, 2], [0, 0, 0]])
    units = ["a", "a", "b"]
    tests = approximate_randomization(scores, seed=0, draws=4000, units=units)[0, 1]
    assert (tests.difference, tests.n) == (2, 2)
    assert tests.p == pytest.approx(0.5, abs=0.03)
    assert paired_bootstrap(scores, seed=0, draws=200, units=units)[0, 1][:3] == pytest.approx((2, 2, 2))
    # documents of unlike means, 0 (three segments) and 8 (one): 0, 8/4 or 8
    apart = paired_bootstrap([[0, 0, 0, 8], [0, 0, 0, 0]], seed=0, draws=400, units=["a", "a", "a", "b"])[0, 1]
    assert apart[:3] == (2, 0, 8)
    with pytest.raises(ValueError, match="2 units for 3 segments"):
        approximate_randomization(scores, seed=0, units=["a", "b"])


def test_all_that_is_said_of_a_pair() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 60)) + np.array([[0], [0.1], [0.5], [1]])
    pairs = compare_systems(scores, seed=9)
    tests, intervals = approximate_randomization(scores, seed=9), paired_bootstrap(scores, seed=9)
    assert [(p.first, p.second) for p in pairs] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [p.randomization for p in pairs] == list(tests.values())
    assert [p.bootstrap for p in pairs] == list(intervals.values())
    assert [p.adjusted for p in pairs] == holm([t.p for t in tests.values()])
    assert pairs[0].detectable == pytest.approx(minimum_detectable_difference(scores[0] - scores[1]).value)


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_segments_are_undefined_with_a_reason(n: int) -> None:
    (pairs,) = compare_systems(np.ones((2, n)), seed=0)
    assert pairs.randomization.p is pairs.bootstrap.low is pairs.adjusted is pairs.detectable is None
    assert pairs.randomization.reason == pairs.bootstrap.reason == TOO_FEW
    assert compare_systems(np.ones((1, 9)), seed=0) == []
    assert compare_systems(np.ones((0, 9)), seed=0) == []


def test_five_of_a_hundred_equal_systems_are_called_different() -> None:
    # seen: 20, 50, 100, 200 segments: continuous 4.7, 5.1, 5.4, 5.1 %; MQM-like, full of ties, 3.6, 4.0, 4.9, 4.5 %
    assert 0.04 <= rate(partial(randomization, n=50)) <= 0.06


@pytest.mark.extended
def test_the_bootstrap_is_anticonservative_with_few_segments() -> None:
    # seen: 20, 50, 100, 200 segments: continuous 7.2, 6.3, 6.4, 5.3 %; MQM-like 6.9, 5.8, 5.7, 4.7 %
    assert rate(partial(bootstrap, n=20)) > 0.06
    assert 0.04 <= rate(partial(bootstrap, n=100, mqm=True)) <= 0.06


def test_with_many_segments_it_is_that_of_the_normal_law() -> None:
    differences = np.random.default_rng(0).normal(size=4000)
    # z(.975) + z(.8) = 1.95996 + 0.84162 = 2.80158
    expected = 2.80158 * differences.std(ddof=1) / np.sqrt(4000)
    assert minimum_detectable_difference(differences).value == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("n", [5, 30])
def test_a_t_test_finds_the_detectable_difference_8_times_of_10(n: int) -> None:
    rng = np.random.default_rng(n)
    shape = rng.normal(size=n)
    detectable = minimum_detectable_difference(shape).value
    trials = rng.normal(detectable, shape.std(ddof=1), (20_000, n))
    assert np.mean(scipy.stats.ttest_1samp(trials, 0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.01)


def test_where_it_is_undefined_it_says_why() -> None:
    for few in ([], [1.0]):
        assert minimum_detectable_difference(few).value is None
        assert "at least two" in minimum_detectable_difference(few).reason
    assert "by the same" in minimum_detectable_difference([0.1] * 7).reason
    assert "by the same" in minimum_detectable_difference([0.0, 0.0]).reason


def test_few_differences_have_a_detectable_difference_at_any_level() -> None:
    # scipy's noncentral t has a NaN tail here
    for n in range(2, 40):
        for alpha in (0.05, 0.05 / 3, 0.05 / 45):
            ncp = noncentrality(n, alpha)
            assert ncp > 2.8
            critical = float(scipy.stats.t.isf(alpha / 2, n - 1))
            assert float(scipy.stats.nct.sf(critical, n - 1, ncp)) == pytest.approx(0.8, abs=0.01)


def rejected(p_values: list[float], alpha: float) -> set[int]:
    """Holm's procedure as he states it: from the smallest p on, stop at the first above alpha over those left."""
    out: set[int] = set()
    for i in sorted(range(len(p_values)), key=lambda i: p_values[i]):
        if p_values[i] > alpha / (len(p_values) - len(out)):
            break
        out.add(i)
    return out


def test_holm_with_the_arithmetic_written_out() -> None:
    # .01·4 = .04, .02·3 = .06, .03·2 = .06, .04·1 = .04, not below the one before
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.6]) == pytest.approx([1, 1])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
    assert holm([None, 0.01, None, 0.02]) == [None, pytest.approx(0.02), None, pytest.approx(0.02)]
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="must lie in"):
            holm([0.1, wrong])


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(0, 199))
def test_holm_rejects_what_the_procedure_rejects(places: list[int], alpha: int) -> None:
    p_values, level = [p / 40 for p in places], (alpha + 0.5) / 200
    adjusted = holm(p_values)
    assert {i for i, p in enumerate(adjusted) if p is not None and p <= level} == rejected(p_values, level)


def table(n: int, *pairs: tuple[int, int]) -> Wins:
    wins = np.zeros((n, n), dtype=bool)
    for pair in pairs:
        wins[pair] = True
    return wins


def test_a_system_ranks_below_those_that_beat_it_and_above_those_it_beats() -> None:
    # B beats A and C, which are not apart
    assert rank_ranges(table(3, (1, 0), (1, 2))) == [(2, 3), (1, 1), (2, 3)]
    # A beats C only: B may be anywhere
    assert rank_ranges(table(3, (0, 2))) == [(1, 2), (1, 3), (2, 3)]
    assert rank_ranges(table(3)) == [(1, 3)] * 3
    assert rank_ranges(table(0)) == []


def test_wins_have_the_sign_of_the_difference() -> None:
    pairs = [(0, 1), (0, 2), (1, 2)]
    wins = wins_of(3, pairs, [0.3, -0.2, None], [0.05, 0.04, None])
    assert wins.tolist() == [[False, True, False], [False, False, False], [True, False, False]]
    assert not wins_of(3, pairs, [0.3, -0.2, 0.1], [0.051, 0.06, 1.0]).any()
