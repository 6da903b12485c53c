import numpy as np
import pytest
import scipy.stats

from core.stats.significance.power import minimum_detectable_difference, noncentrality


def test_with_many_segments_it_is_that_of_the_normal_law() -> None:
    differences = np.random.default_rng(0).normal(size=4000)
    # z(.975) + z(.8) = 1.95996 + 0.84162 = 2.80158
    expected = 2.80158 * differences.std(ddof=1) / np.sqrt(4000)
    assert minimum_detectable_difference(differences).value == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("n", [5, 30])
def test_a_t_test_finds_the_detectable_difference_8_times_of_10(n: int) -> None:
    rng = np.random.default_rng(n)
    shape = rng.normal(size=n)
    found = minimum_detectable_difference(shape).value
    assert found is not None
    trials = rng.normal(found, shape.std(ddof=1), (20_000, n))
    assert np.mean(scipy.stats.ttest_1samp(trials, 0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.01)


def test_other_numbers_of_segments_levels_and_powers() -> None:
    differences = np.random.default_rng(0).normal(size=100)
    here = minimum_detectable_difference(differences).value or 0
    assert (minimum_detectable_difference(differences, alpha=0.01).value or 0) > here
    assert (minimum_detectable_difference(7 * differences + 3).value or 0) == pytest.approx(7 * here)


def test_where_it_is_undefined_it_says_why() -> None:
    for few in ([], [1.0]):
        assert minimum_detectable_difference(few).value is None
        assert "at least two" in minimum_detectable_difference(few).reason
    assert "by the same" in minimum_detectable_difference([0.1] * 7).reason
    assert "by the same" in minimum_detectable_difference([0.0, 0.0]).reason
    with pytest.raises(ValueError, match="finite"):
        minimum_detectable_difference([1.0, float("inf")])


def test_few_differences_have_a_detectable_difference_at_any_level() -> None:
    # scipy's noncentral t has a NaN tail here
    for n in range(2, 40):
        for alpha in (0.05, 0.05 / 3, 0.05 / 45):
            ncp = noncentrality(n, alpha)
            assert ncp > 2.8
            critical = float(scipy.stats.t.isf(alpha / 2, n - 1))
            assert float(scipy.stats.nct.sf(critical, n - 1, ncp)) == pytest.approx(0.8, abs=0.01)
