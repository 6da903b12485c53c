from itertools import product

import numpy as np
import pytest
from scipy.stats import zscore

from core.errors import UserError
from core.stats.correlation.correlation import GROUPS, MEASURES, Group, Measure
from core.stats.significance import perm_both as module
from core.stats.significance.perm_both import NO_VARIANCE, agreement_with_ties, williams, williams_t
from tests.core.stats.two_metrics import perm_both
from tests.core.stats.type_one_error import correlations, metrics, rate


def test_the_p_values_of_nlpstats() -> None:
    # danieldeutsch/nlpstats 15c08cb, tests/correlations/permutation_test.py: uniform numbers of numpy seed 1234, PERM-BOTH of the
    # pooled Pearson: two-sided .5362 of 9,999 draws (standard error .005)
    np.random.seed(1234)
    x, y, human = (np.random.random((9, 5)).ravel() for _ in range(3))
    assert perm_both("pearson", x, y, human, seed=0, draws=20_000).p == pytest.approx(0.5362, abs=0.015)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("measure", MEASURES)
def test_it_comes_to_what_all_exchanges_give(measure: Measure, group: Group) -> None:
    rng = np.random.default_rng(7)
    systems, segments = [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3
    human = rng.integers(0, 4, 9) + np.array(systems)
    x, y = human + rng.normal(size=9), human + 2 * rng.normal(size=9)
    first, second = zscore(x), zscore(y)

    def value(scores: np.ndarray) -> float | None:
        return agreement_with_ties(measure, scores, human, group=group, segments=segments, systems=systems).value

    seen = (value(x) or 0) - (value(y) or 0)
    values = np.array([value(np.where(mask, first, second)) for mask in product([True, False], repeat=9)], dtype=float)
    assert np.isfinite(values).all()
    drawn = values - values[::-1]  # the opposite exchange is as far from the end as this one from the beginning
    exact = np.mean(np.abs(drawn) >= abs(seen) - 1e-12)
    test = perm_both(measure, x, y, human, group=group, segments=segments, systems=systems, seed=1, draws=8000)
    assert test.difference == pytest.approx(seen)
    assert test.p == pytest.approx(exact, abs=0.025)
    assert (test.n, test.draws) == (9, 8000)


def test_the_difference_is_that_of_mt_metrics_eval() -> None:
    # google-research/mt-metrics-eval 38882cc, mt_metrics_eval/stats_test.py, PermutationSigDiffTest: four systems of two items
    people, first, second = [1, 2, 3, 4, 5, 5, 7, 8], [1, 2, 3, 3, 7, 3, 5, 5], [2, 1, 2, 6, 8, 8, 7, 6]
    expected = np.corrcoef(people, first)[0, 1] - np.corrcoef(people, second)[0, 1]
    test = perm_both("pearson", first, second, people, seed=0, draws=999)
    assert test.difference == pytest.approx(expected)
    assert test.p >= 0.001


def test_the_unit_of_a_metric_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=40)
    x, y = human + rng.normal(size=(2, 40))
    for measure in MEASURES:
        once = perm_both(measure, x, y, human, seed=3, draws=99)
        assert perm_both(measure, 1000 * x + 7, y, human, seed=3, draws=99).p == once.p
        assert perm_both(measure, y, x, human, seed=3, draws=99).p == pytest.approx(once.p)


def test_only_different_metrics_differ() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=80)
    good, bad = human + 0.3 * rng.normal(size=80), human + 3 * rng.normal(size=80)
    for measure in MEASURES:
        same = perm_both(measure, good, good, human, seed=0, draws=99)
        assert (same.difference, same.p) == (0, 1)
        assert perm_both(measure, good, bad, human, seed=0, draws=99).p == pytest.approx(1 / 100)


def test_where_there_is_no_test_it_says_why() -> None:
    assert perm_both("kendall", [1, 2, 3], [2, 2, 2], [1, 2, 3], seed=0).reason == "all metric scores are equal"
    assert "at least two" in perm_both("pearson", [1], [2], [3], seed=0).reason
    assert "at least two" in perm_both("acc_eq", [], [], [], seed=0).reason
    assert perm_both("acc_eq", [1, 1, 1], [2, 1, 2], [1, 2, 3], seed=0, draws=9).p is not None  # ties have a value
    # two outputs: exchanging one makes (0, 1) and (1, 0) into (1, 1) and (0, 0), which have no τ
    half = perm_both("kendall", [0, 1], [1, 0], [1, 2], seed=0, draws=1000)
    assert half.draws < 1000


def test_too_many_pairs_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAIRS", 5)
    assert perm_both("kendall", [1, 2, 3, 4], [1, 2, 4, 3], [1, 2, 3, 4], seed=0, draws=9).p is not None
    with pytest.raises(UserError, match="within segments"):
        perm_both(
            "acc_eq", [1, 2, 3, 4], [1, 2, 4, 3], [1, 2, 3, 4], group="segment", segments=[0] * 4, seed=0, draws=9
        )


@pytest.mark.parametrize(
    ("measure", "group"),
    [
        ("pearson", "pooled"),
        pytest.param("kendall", "segment", marks=pytest.mark.extended),
        pytest.param("spearman", "system", marks=pytest.mark.extended),
    ],
)
def test_five_of_a_hundred_equal_metrics_are_called_different(measure: Measure, group: Group) -> None:
    # all combinations, larger tables, and the nulls it does not hold for: python -m tests.core.stats.type_one_error
    def once(rng: np.random.Generator, run: int) -> float | None:
        shape = (12, 3) if group == "system" else (5, 6)
        return metrics(rng, run, measure=measure, group=group, shape=shape, draws=99)

    assert 0.03 <= rate(once, runs=500) <= 0.07


def test_a_bias_for_systems_makes_the_system_test_anticonservative() -> None:
    # seen: 16 % of 400 and 19 % of 2,000 runs; the docstring warns of it
    def once(rng: np.random.Generator, run: int) -> float | None:
        return metrics(rng, run, measure="pearson", group="system", system_likings=0.5, draws=99)

    assert rate(once, runs=300) > 0.1


def test_the_example_of_howell() -> None:
    # Howell, Statistical Methods for Psychology (6th ed.), p. 262: r12 = .80, r13 = .72, r23 = .89, n = 26; the SPSS program of
    # B. Weaver (MRC CBU statistics wiki, FAQ/Will) prints t = 1.361, df = 23, p = .187
    test = williams_t(0.80, 0.72, 0.89, 26)
    assert test.t == pytest.approx(1.361, abs=5e-4)
    assert test.p == pytest.approx(0.187, abs=5e-4)


def test_the_values_of_the_r_package_psych() -> None:
    # danieldeutsch/nlpstats 796d764, tests/correlations/williams_test.py: r.test of the R package psych on the size of these
    # correlations of 45 uniform numbers (numpy seed 12), two tails .5433956
    np.random.seed(12)
    first, second, people = (np.random.random((9, 5)).ravel() for _ in range(3))
    r12, r13, r23 = (abs(np.corrcoef(a, b)[0, 1]) for a, b in ((first, people), (second, people), (first, second)))
    assert williams_t(r12, r13, r23, 45).p == pytest.approx(0.5433956, abs=1e-6)


def test_williams_of_mt_metrics_eval() -> None:
    # google-research/mt-metrics-eval 0b82d96, mt_metrics_eval/stats_test.py, WilliamsSigDiffTest.testSigDiff: one-sided .019 (here
    # two-sided, twice as much), correlations .999 and .987
    test = williams([1.1, 2, 3.1, 4, 5.1], [1.5, 2, 3.1, 4, 5.5], [1, 2, 3, 4, 5])
    assert test.p == pytest.approx(2 * 0.019, abs=1e-3)
    assert test.difference == pytest.approx(0.999 - 0.987, abs=1e-3)
    assert test.n == 5


def test_williams_says_why_there_is_no_test() -> None:
    rng = np.random.default_rng(0)
    h, x = rng.normal(size=(2, 10))
    assert williams(x, 2 * x + 1, h).reason == NO_VARIANCE
    assert williams(x, 2 * x + 1, h).p is None
    assert williams(x, np.ones(10), h).reason == "all metric scores are equal"
    assert williams(x, x[::-1], np.ones(10)).reason == "all human scores are equal"
    for n in (0, 1, 2, 3):
        test = williams(x[:n], h[:n] * x[:n], h[:n])
        assert test.p is None
        assert "at least" in test.reason


def test_a_metric_that_is_people_is_still_a_test() -> None:
    rng = np.random.default_rng(1)
    h, y = rng.normal(size=(2, 20))
    test = williams(h, y, h)
    assert test.p < 1e-6


def test_williams_calls_five_of_a_hundred_equal_metrics_different() -> None:
    # seen with seeds 0, 1, 2 at n = 50: 4.8, 5.2, 4.6 %
    assert 0.04 <= rate(lambda rng, k: correlations(rng, k, n=50)) <= 0.06
