import numpy as np
import pytest
import scipy.stats

from core.stats.raters.rater_scale import standardised


def test_each_rater_is_put_on_the_own_scale() -> None:
    # strict: 10, 20, 30: mean 20, deviation √(200/2) = 10; kind: 80, 90: mean 85, deviation √50
    z = standardised(["strict", "kind", "strict", "kind", "strict"], [10, 80, 20, 90, 30])
    assert z == pytest.approx([-1, -5 / np.sqrt(50), 0, 5 / np.sqrt(50), 1])


def test_it_is_the_z_score_of_scipy_rater_by_rater() -> None:
    rng = np.random.default_rng(0)
    raters, scores = rng.integers(0, 4, 60), rng.integers(0, 101, 60)
    z = standardised([str(r) for r in raters], scores)
    for r in range(4):
        assert z[raters == r] == pytest.approx(scipy.stats.zscore(scores[raters == r], ddof=1))


def test_a_rater_without_spread_has_no_z_score() -> None:
    z = standardised(["a", "b", "b", "c", "c"], [50, 0.1, 0.1, 1, 3])
    assert np.isnan(z).tolist() == [True, True, True, False, False]
    assert len(standardised([], [])) == 0


def test_what_is_not_a_score_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        standardised(["a", "a"], [1, float("nan")])
    with pytest.raises(ValueError, match="1 raters for 2 scores"):
        standardised(["a"], [1, 2])
