import numpy as np
import pytest
import scipy.stats

from core.stats.raters.rater_scale import StandardisedMean, standardised, system_means


def test_each_rater_is_put_on_the_own_scale() -> None:
    # strict: 10, 20, 30: mean 20, deviation √(200/2) = 10; kind: 80, 90: mean 85, deviation √50
    found = standardised(["strict", "kind", "strict", "kind", "strict"], [10, 80, 20, 90, 30])
    assert found.z == pytest.approx([-1, -5 / np.sqrt(50), 0, 5 / np.sqrt(50), 1])
    assert found.undefined == {}


def test_it_is_the_z_score_of_scipy_rater_by_rater() -> None:
    rng = np.random.default_rng(0)
    raters, scores = rng.integers(0, 4, 60), rng.integers(0, 101, 60)
    z = standardised([str(r) for r in raters], scores).z
    for r in range(4):
        assert z[raters == r] == pytest.approx(scipy.stats.zscore(scores[raters == r], ddof=1))


def test_a_rater_without_spread_is_undefined_with_a_reason() -> None:
    found = standardised(["a", "b", "b", "c", "c"], [50, 0.1, 0.1, 1, 3])
    assert np.isnan(found.z).tolist() == [True, True, True, False, False]
    assert found.undefined == {"a": "gave only one score", "b": "gave the same score to all outputs"}
    assert len(standardised([], []).z) == 0


def test_segments_are_averaged_before_systems() -> None:
    # A: segment 1 has 0 and 2, segment 2 has 7: (1 + 7)/2 = 4, not 9/3; z: (0.5 + 1)/2
    found = system_means(["A", "A", "A", "B"], [1, 1, 2, 1], [0, 2, 7, 9], np.array([0.0, 1, 1, 0.5]))
    assert found == [StandardisedMean("A", 4, 0.75, 2), StandardisedMean("B", 9, 0.5, 1)]


def test_scores_without_z_count_in_the_mean_only() -> None:
    nan = np.nan
    found = system_means(["A", "A", "B", "C"], [1, 2, 1, 1], [10, 20, 90, 95], np.array([nan, 1.0, nan, nan]))
    assert found == [
        StandardisedMean("A", 15, 1, 2),
        StandardisedMean("C", 95, None, 1),
        StandardisedMean("B", 90, None, 1),
    ]


def test_what_is_not_a_score_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        standardised(["a", "a"], [1, float("nan")])
    with pytest.raises(ValueError, match="1 raters for 2 scores"):
        standardised(["a"], [1, 2])
