"""Tables of systems by segments, ranks of systems and their differences, by hand; τ on resamples against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from core.stats.correlation.agreement_interval import agreement_on_draws, unit_draws
from core.stats.system_ranking import complete_table, rank_bias, ranks


def test_segments_that_a_system_lacks_are_left_out() -> None:
    systems, segments = ["B", "A", "B", "A", "B"], [1, 1, 2, 3, 3]
    table = complete_table(systems, segments)
    assert (table.systems, table.rows.tolist()) == (("B", "A"), [[0, 4], [1, 3]])
    assert table.of([10, 20, 30, 40, 50]).tolist() == [[10, 50], [20, 40]]


def test_nothing_in_common_is_an_empty_table() -> None:
    table = complete_table(["A", "B"], [1, 2])
    assert table.of([1, 2]).shape == (2, 0)
    assert complete_table([], []).of([]).shape == (0, 0)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="two outputs for one segment"):
        complete_table(["A", "A", "B"], [1, 1, 1])
    with pytest.raises(ValueError, match="2 systems and 1 segments"):
        complete_table(["A", "B"], [1])
    with pytest.raises(ValueError, match="finite"):
        complete_table(["A", "B"], [1, 1]).of([1, float("nan")])


def test_the_best_has_rank_one_and_equal_scores_share_theirs() -> None:
    assert ranks([10, 30, 20, 20]).tolist() == [4, 1, 2.5, 2.5]


def test_rank_differences_and_derived_values_by_hand() -> None:
    # people rank A B C D 1 2 3 4, the metric 2 1 3 4 with 5, 9, 4, 1: differences 1, −1, 0, 0
    bias = rank_bias([5, 9, 4, 1], [0.9, 0.8, 0.3, 0.1])
    assert bias.human == (1, 2, 3, 4)
    assert bias.metric == (2, 1, 3, 4)
    assert bias.differences == (1, -1, 0, 0)
    assert bias.deviation == pytest.approx((2 / 4) ** 0.5)  # √((1 + 1 + 0 + 0)/4): divided by the systems, not one less
    assert bias.mean_absolute == 0.5
    assert bias.accuracy == pytest.approx(5 / 6)  # only A and B are the wrong way round


def test_ties_keep_the_sum_of_the_differences_at_zero() -> None:
    # people: 1, 2.5, 2.5, 4; metric: 2, 2, 2, 4; differences 1, −.5, −.5, 0
    bias = rank_bias([3, 3, 3, 0], [9, 5, 5, 1])
    assert bias.differences == (1, -0.5, -0.5, 0)
    assert bias.deviation == pytest.approx((1.5 / 4) ** 0.5)
    # pairs: AB and AC tied by the metric only, BC tied by both (right), AD, BD, CD right
    assert bias.accuracy == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("metric", "human", "reason"),
    [
        ([1], [1], "at least two systems are needed"),
        ([2, 2], [1, 3], "all metric scores of the systems are equal"),
        ([1, 3], [2, 2], "all human scores of the systems are equal"),
    ],
)
def test_what_cannot_be_ranked_has_a_reason_and_no_number(metric, human, reason) -> None:
    assert rank_bias(metric, human) == ((), (), (), None, None, None, reason)


def test_deviations_of_the_paper_are_roots_of_integer_sums_over_16() -> None:
    # Amplayo et al. 2022, Table 4, σ(Rank Diff): n·σ² is the sum of squared differences of ranks. With n = 16 (not 15) it is
    # a whole number, or a half where systems tie.
    for deviation in (5.012, 5.232, 4.228, 2.915, 2.062, 2.151, 3.969, 3.824, 2.646, 3.841, 4.198, 2.739):
        total = 16 * deviation**2
        assert abs(total - round(2 * total) / 2) < 16 * 2 * deviation * 0.0005


@pytest.mark.parametrize("levels", [3, 10**6])
def test_tau_on_draws_is_that_of_scipy_on_the_weighted_means(levels: int) -> None:
    rng = np.random.default_rng(levels)
    metric, human = rng.integers(0, levels, (2, 6, 9)).astype(float)
    weights = unit_draws([f"d{i // 2}" for i in range(9)], seed=3, draws=20)
    assert (weights[:, 0] == weights[:, 1]).all()  # a document's segments come together
    for w, tau in zip(weights, agreement_on_draws("kendall", metric, human, weights), strict=True):
        assert tau == pytest.approx(scipy.stats.kendalltau(metric @ w, human @ w).statistic)


def test_tau_on_a_draw_with_all_systems_equal_is_not_a_number() -> None:
    values = agreement_on_draws("kendall", [[1, 1], [1, 2]], [[1, 1], [2, 2]], np.eye(2))
    assert np.isnan(values[0])
    assert values[1] == 1
