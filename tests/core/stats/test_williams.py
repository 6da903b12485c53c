import numpy as np
import pytest

from core.stats.significance.williams import NO_VARIANCE, williams, williams_t
from tests.core.stats.type_one_error import correlations, rate


def test_the_example_of_howell() -> None:
    # Howell, Statistical Methods for Psychology (6th ed.), p. 262: r12 = .80, r13 = .72, r23 = .89, n = 26; the SPSS program of
    # B. Weaver (MRC CBU statistics wiki, FAQ/Will) prints t = 1.361, df = 23, p = .187
    found = williams_t(0.80, 0.72, 0.89, 26)
    assert found.t == pytest.approx(1.361, abs=5e-4)
    assert found.p == pytest.approx(0.187, abs=5e-4)


def test_the_values_of_the_r_package_psych() -> None:
    # danieldeutsch/nlpstats 796d764, tests/correlations/williams_test.py: r.test of the R package psych on the size of these
    # correlations of 45 uniform numbers (numpy seed 12), two tails .5433956
    np.random.seed(12)
    first, second, people = (np.random.random((9, 5)).ravel() for _ in range(3))
    r12, r13, r23 = (abs(np.corrcoef(a, b)[0, 1]) for a, b in ((first, people), (second, people), (first, second)))
    assert williams_t(r12, r13, r23, 45).p == pytest.approx(0.5433956, abs=1e-6)


def test_the_values_of_mt_metrics_eval() -> None:
    # google-research/mt-metrics-eval 0b82d96, mt_metrics_eval/stats_test.py, WilliamsSigDiffTest.testSigDiff: one-sided .019 (here
    # two-sided, twice as much), correlations .999 and .987
    found = williams([1.1, 2, 3.1, 4, 5.1], [1.5, 2, 3.1, 4, 5.5], [1, 2, 3, 4, 5])
    assert found.p == pytest.approx(2 * 0.019, abs=1e-3)
    assert found.difference == pytest.approx(0.999 - 0.987, abs=1e-3)
    assert found.n == 5


def test_the_sides_mirror_each_other() -> None:
    rng = np.random.default_rng(0)
    h, x, y = rng.normal(size=(3, 30))
    there, back = williams(x, y, h), williams(y, x, h)
    assert there.p == pytest.approx(back.p)
    assert there.difference == pytest.approx(-(back.difference or 0))


def test_where_there_is_no_test_it_says_why() -> None:
    rng = np.random.default_rng(0)
    h, x = rng.normal(size=(2, 10))
    assert williams(x, 2 * x + 1, h).reason == NO_VARIANCE
    assert williams(x, 2 * x + 1, h).p is None
    assert williams(x, np.ones(10), h).reason == "all metric scores are equal"
    assert williams(x, x[::-1], np.ones(10)).reason == "all human scores are equal"
    for n in (0, 1, 2, 3):
        found = williams(x[:n], h[:n] * x[:n], h[:n])
        assert found.p is None
        assert "at least" in found.reason
    with pytest.raises(ValueError, match="finite"):
        williams([1, np.nan, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4])


def test_a_metric_that_is_people_is_still_a_test() -> None:
    rng = np.random.default_rng(1)
    h, y = rng.normal(size=(2, 20))
    found = williams(h, y, h)
    assert found.p is not None
    assert found.p < 1e-6


def test_five_of_a_hundred_equal_metrics_are_called_different() -> None:
    # seen with seeds 0, 1, 2 at n = 50: 4.8, 5.2, 4.6 %
    assert 0.04 <= rate(lambda rng, k: correlations(rng, k, n=50)) <= 0.06
