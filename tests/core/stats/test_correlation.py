import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.stats.correlation import pairs
from core.stats.correlation.correlation import acc_eq, agreement, averaged, check_measure, kendall, pearson, spearman
from core.stats.correlation.pairs import SMALL, dense_ranks, pair_counts, pair_counts_of, weighted_ranks
from core.stats.correlation.ties import calibrate_ties

SCORES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=40)


def by_hand(metric: list[float], human: list[float]) -> tuple[int, int, int, int, int]:
    c = d = human_only = metric_only = both = 0
    for i, j in combinations(range(len(metric)), 2):
        m, h = metric[i] - metric[j], human[i] - human[j]
        c += m * h > 0
        d += m * h < 0
        human_only += h == 0 and m != 0
        metric_only += m == 0 and h != 0
        both += m == 0 and h == 0
    return c, d, human_only, metric_only, both


@given(SCORES)
def test_pair_counts_equal_counting_by_hand(pairs: list[tuple[int, int]]) -> None:
    m, h = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    assert pair_counts(m, h) == by_hand(m, h)


@pytest.mark.parametrize("n", [2, SMALL, SMALL + 1, 257, 1000])
@pytest.mark.parametrize("levels", [2, 30, 10**9])
def test_merge_sort_counts_equal_the_matrix_of_signs(n: int, levels: int) -> None:
    rng = np.random.default_rng(n)
    m, h = rng.integers(0, levels, n), rng.integers(0, levels, n)
    product = np.sign(np.subtract.outer(m, m)) * np.sign(np.subtract.outer(h, h))
    counts = pair_counts(m, h)
    assert (counts.concordant, counts.discordant) == ((product > 0).sum() / 2, (product < 0).sum() / 2)
    assert counts.total == n * (n - 1) / 2


@pytest.mark.parametrize("n", [12, 400])
def test_weights_are_multiplicities(n: int) -> None:
    rng = np.random.default_rng(7)
    m, h, w = rng.integers(0, 5, n), rng.integers(0, 5, n), rng.integers(0, 4, n)
    m_all, h_all = np.repeat(m, w), np.repeat(h, w)
    assert pair_counts(m, h, w) == pair_counts(m_all, h_all)
    assert np.repeat(weighted_ranks(m, w), w) == pytest.approx(scipy.stats.rankdata(m_all))
    for statistic in (kendall, acc_eq, spearman, pearson):
        assert statistic(m, h, w).value == pytest.approx(statistic(m_all, h_all).value)


@given(SCORES)
def test_coefficients_equal_scipy(pairs: list[tuple[int, int]]) -> None:
    m, h = [a for a, _ in pairs], [b for _, b in pairs]
    for ours, theirs in (
        (kendall, scipy.stats.kendalltau),
        (spearman, scipy.stats.spearmanr),
        (pearson, scipy.stats.pearsonr),
    ):
        found = ours(m, h)
        if len(set(m)) < 2 or len(set(h)) < 2:
            assert found.value is None
            assert "are equal" in found.reason
        else:
            assert found.value == pytest.approx(theirs(m, h)[0], abs=1e-12)


def test_tau_b_with_the_arithmetic_written_out() -> None:
    # pairs (metric, human): (1,2)-(2,1) D, -(2,3) C, -(3,3) C; (2,1)-(2,3) metric tie, -(3,3) C; (2,3)-(3,3) human tie
    # C = 3, D = 1, T_m = 1, T_h = 1: (3 − 1) / √((4 + 1)(4 + 1)) = 2 / 5
    assert kendall([1, 2, 2, 3], [2, 1, 3, 3]).value == pytest.approx(0.4)


def test_acc_eq_of_mt_metrics_eval() -> None:
    # google-research/mt-metrics-eval 68a481a, stats tests: variant acc23 on this input is 0.6
    assert acc_eq([1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3]).value == pytest.approx(0.6)


def test_acc_eq_counts_ties_on_both_sides_as_right() -> None:
    # pairs: tied on both (right), metric 1 < 2 and human 0 < 1 twice (right): 3 / 3
    assert acc_eq([1, 1, 2], [0, 0, 1]).value == 1
    assert acc_eq([5, 5], [1, 1]).value == 1  # constant input is not undefined here


@pytest.mark.parametrize("statistic", [kendall, spearman, pearson, acc_eq])
def test_fewer_than_two_outputs_are_undefined_with_a_reason(statistic) -> None:  # type: ignore[no-untyped-def]
    assert statistic([1.0], [2.0]).value is None
    assert "at least two" in statistic([], []).reason


def test_what_is_not_a_score_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        kendall([1.0, math.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        kendall([1.0], [1.0, 2.0])


def test_grouping_averages_segments_and_means_systems() -> None:
    metric, human = [1, 2, 4, 3, 9, 9], [1, 2, 3, 4, 5, 6]
    segments, systems = ["a", "a", "b", "b", "c", "c"], ["x", "y"] * 3
    # a: +1, b: −1, c: the metric is constant and stays out
    by_segment = agreement("kendall", metric, human, group="segment", segments=segments)
    assert (by_segment.value, by_segment.groups, by_segment.undefined) == (0, 2, 1)
    # x: metric 14/3, human 3; y: metric 14/3, human 4: constant
    assert agreement("kendall", metric, human, group="system", systems=systems).value is None
    metric[5] = 10
    assert agreement("kendall", metric, human, group="system", systems=systems).value == 1
    assert agreement("pearson", metric, human).value == pytest.approx(scipy.stats.pearsonr(metric, human)[0])


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6), max_size=12))
def test_groups_that_are_computed_together_equal_single_ones(groups: list[list[tuple[int, int]]]) -> None:
    of = [i for i, pairs in enumerate(groups) for _ in pairs]
    metric = [a / 3 for pairs in groups for a, _ in pairs]
    human = [float(b) for pairs in groups for _, b in pairs]
    single = [kendall([a / 3 for a, _ in pairs], [b for _, b in pairs]) for pairs in groups if pairs]
    assert agreement("kendall", metric, human, group="segment", segments=of) == averaged(single, len(of))


def test_groups_of_one_size_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    metric, human = rng.integers(0, 4, (7, 5)).astype(float), rng.integers(0, 4, (7, 5)).astype(float)
    monkeypatch.setattr(pairs, "CELLS", 60)  # two groups at a time
    assert pair_counts_of(metric, human) == [pair_counts(m, h) for m, h in zip(metric, human, strict=True)]


def test_segments_that_are_all_undefined_say_why() -> None:
    found = agreement("kendall", [1, 1], [1, 2], group="segment", segments=["a", "a"])
    assert found.value is None
    assert "undefined in every segment" in found.reason


def test_an_unknown_measure_or_grouping_names_those_there_are() -> None:
    with pytest.raises(UserError, match="kendall, acc_eq"):
        check_measure("tau", "pooled")
    with pytest.raises(UserError, match="pooled, segment, system"):
        check_measure("kendall", "item")


def acc_eq_at(epsilon: float, metric: np.ndarray, human: np.ndarray) -> float:
    pairs = [(metric[i] - metric[j], human[i] - human[j]) for i, j in combinations(range(len(metric)), 2)]
    return float(np.mean([np.sign(m if abs(m) > epsilon else 0) == np.sign(h) for m, h in pairs]))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=25))
def test_tie_calibration_equals_trying_every_epsilon(rows: list[tuple[int, int, int]]) -> None:
    m, h, s = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    groups = [np.flatnonzero(s == g) for g in dict.fromkeys(s) if (s == g).sum() > 1]
    found = calibrate_ties(m, h, list(s))
    if not groups:
        assert found.statistic.value is None
        return
    tried = {
        e: float(np.mean([acc_eq_at(e, m[g], h[g]) for g in groups]))
        for e in [0.0, *sorted({abs(a - b) for a, b in combinations(m, 2)})]
    }
    assert found.statistic.value == pytest.approx(max(tried.values()))
    assert found.epsilon is not None
    assert tried[found.epsilon] == pytest.approx(max(tried.values()))


def test_the_chance_floor_is_that_of_the_share_of_human_ties() -> None:
    # six pairs, three of them tied for the human: t = 1/2, floor max(1/2, 1/4)
    assert calibrate_ties([1, 2, 3, 4], [0, 0, 0, 1]).chance == pytest.approx(0.5)


def test_dense_ranks_count_different_values() -> None:
    assert list(dense_ranks([3.0, 1.0, 3.0, 2.0])) == [2, 0, 2, 1]
