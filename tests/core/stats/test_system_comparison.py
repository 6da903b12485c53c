from functools import partial
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from core.stats.significance.power import minimum_detectable_difference
from core.stats.significance.system_comparison import (
    TOO_FEW,
    approximate_randomization,
    compare_systems,
    holm,
    paired_bootstrap,
)
from tests.core.stats.type_one_error import bootstrap, randomization, rate


@given(st.lists(st.tuples(st.integers(-5, 0), st.integers(-5, 0), st.integers(-5, 0)), min_size=2, max_size=7))
def test_randomization_comes_to_what_all_exchanges_give(rows: list[tuple[int, int, int]]) -> None:
    scores = np.array(rows, dtype=float).T / 10  # many ties, and sums that are not exact
    found = approximate_randomization(scores, seed=0, draws=4000)
    signs = np.array(list(product([1, -1], repeat=len(rows))))
    for (i, j), test in found.items():
        gap = np.array([a - b for a, b in zip(*np.array(rows).T[[i, j]], strict=True)])
        exact = np.mean(np.abs(signs @ gap) >= abs(gap.sum()))
        assert test.p == pytest.approx(exact, abs=0.035)
        assert test.difference == pytest.approx(gap.mean() / 10)


def test_randomization_is_the_permutation_test_of_scipy() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 12)) + [[0.5], [0]]
    exact = scipy.stats.permutation_test(
        (scores[0], scores[1]), lambda a, b: float(np.mean(a - b)), permutation_type="samples", n_resamples=10_000
    )
    found = approximate_randomization(scores, seed=1, draws=20_000)[0, 1]
    assert found.p == pytest.approx(exact.pvalue, abs=0.01)
    assert (found.n, found.draws) == (12, 20_000)


def test_p_is_never_0() -> None:
    sure = np.stack([np.arange(50.0) + 10, np.arange(50.0)])
    assert approximate_randomization(sure, seed=0, draws=999)[0, 1].p == pytest.approx(1 / 1000)
    found = paired_bootstrap(sure, seed=0, draws=999)[0, 1]
    assert found.value == 10
    assert [found.low, found.high] == pytest.approx([10, 10])


def test_equal_systems_are_not_different() -> None:
    same = np.tile(np.random.default_rng(0).normal(size=20), (2, 1))
    assert approximate_randomization(same, seed=0, draws=99)[0, 1][:2] == (0, 1)
    assert paired_bootstrap(same, seed=0, draws=99)[0, 1][:3] == (0, 0, 0)


def test_the_bootstrap_comes_to_what_all_resamples_give() -> None:
    scores = np.array([[0.9, 0.1, 0.4, 0.8, 0.3], [0.2, 0.3, 0.3, 0.5, 0.3]])
    gap = scores[0] - scores[1]
    every = np.array([gap[list(drawn)].mean() for drawn in product(range(5), repeat=5)])  # all 3125 of them
    found = paired_bootstrap(scores, seed=0, draws=20_000)[0, 1]
    assert [found.low, found.high] == pytest.approx(np.quantile(every, [0.025, 0.975]), abs=0.01)


def test_the_bootstrap_is_as_wide_as_the_normal_law_foretells() -> None:
    scores = np.random.default_rng(0).normal(size=(2, 500))
    found = paired_bootstrap(scores, seed=0, draws=4000)[0, 1]
    width = 2 * 1.96 * (scores[0] - scores[1]).std() / np.sqrt(500)
    assert (found.high or 0) - (found.low or 0) == pytest.approx(width, rel=0.05)


def test_documents_are_exchanged_and_drawn_whole() -> None:
    # differences 1 and 3 in one document, 2 in the other: exchanging whole documents gives ±4 ± 2 over 3 segments, so the
    # difference seen, 6/3, comes up in two of four; drawn are (1+3)/2, (1+3+2)/3 or 2: always 2
    scores = np.array([[1.0, 3, 2], [0, 0, 0]])
    units = ["a", "a", "b"]
    found = approximate_randomization(scores, seed=0, draws=4000, units=units)[0, 1]
    assert (found.difference, found.n) == (2, 2)
    assert found.p == pytest.approx(0.5, abs=0.03)
    assert paired_bootstrap(scores, seed=0, draws=200, units=units)[0, 1][:3] == pytest.approx((2, 2, 2))
    # documents of unlike means, 0 (three segments) and 8 (one): 0, 8/4 or 8
    apart = paired_bootstrap([[0, 0, 0, 8], [0, 0, 0, 0]], seed=0, draws=400, units=["a", "a", "a", "b"])[0, 1]
    assert apart[:3] == (2, 0, 8)
    with pytest.raises(ValueError, match="2 units for 3 segments"):
        approximate_randomization(scores, seed=0, units=["a", "b"])


def test_the_other_order_of_the_systems_mirrors_everything() -> None:
    scores = np.random.default_rng(3).normal(size=(2, 30))
    there, back = (approximate_randomization(s, seed=5)[0, 1] for s in (scores, scores[::-1]))
    assert there.p == back.p
    assert there.difference == pytest.approx(-(back.difference or 0))
    wide, turned = (paired_bootstrap(s, seed=5)[0, 1] for s in (scores, scores[::-1]))
    assert wide[:3] == pytest.approx([-(turned[k] or 0) for k in (0, 2, 1)])  # type: ignore[operator, arg-type]


def test_all_that_is_said_of_a_pair() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 60)) + np.array([[0], [0.1], [0.5], [1]])
    found = compare_systems(scores, seed=9)
    tests, intervals = approximate_randomization(scores, seed=9), paired_bootstrap(scores, seed=9)
    assert [(p.first, p.second) for p in found] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [p.randomization for p in found] == list(tests.values())
    assert [p.bootstrap for p in found] == list(intervals.values())
    assert [p.adjusted for p in found] == holm([t.p for t in tests.values()])
    assert found[0].detectable == pytest.approx(minimum_detectable_difference(scores[0] - scores[1]).value)


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_segments_are_undefined_with_a_reason(n: int) -> None:
    (found,) = compare_systems(np.ones((2, n)), seed=0)
    assert found.randomization.p is found.bootstrap.low is found.adjusted is found.detectable is None
    assert found.randomization.reason == found.bootstrap.reason == TOO_FEW
    assert compare_systems(np.ones((1, 9)), seed=0) == []
    assert compare_systems(np.ones((0, 9)), seed=0) == []


def test_what_is_not_a_table_of_scores_is_refused() -> None:
    for test in (approximate_randomization, paired_bootstrap):
        with pytest.raises(ValueError, match="finite"):
            test([[1, float("nan")], [1.0, 2]], seed=0)


def test_five_of_a_hundred_equal_systems_are_called_different() -> None:
    # seen: 20, 50, 100, 200 segments: continuous 4.7, 5.1, 5.4, 5.1 %; MQM-like, full of ties, 3.6, 4.0, 4.9, 4.5 %
    assert 0.04 <= rate(partial(randomization, n=50)) <= 0.06


@pytest.mark.extended
def test_the_bootstrap_is_anticonservative_with_few_segments() -> None:
    # seen: 20, 50, 100, 200 segments: continuous 7.2, 6.3, 6.4, 5.3 %; MQM-like 6.9, 5.8, 5.7, 4.7 %
    assert rate(partial(bootstrap, n=20)) > 0.06
    assert 0.04 <= rate(partial(bootstrap, n=100, mqm=True)) <= 0.06
