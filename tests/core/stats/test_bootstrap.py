import numpy as np
import pytest

from core.stats import bootstrap
from core.stats.bootstrap import mean_interval, percentiles


def test_the_interval_depends_on_the_seed_only() -> None:
    values = np.random.default_rng(0).normal(size=30)
    assert mean_interval(values, 1) == mean_interval(values, 1)
    assert mean_interval(values, 1) != mean_interval(values, 2)


def test_documents_are_drawn_whole() -> None:
    # two documents of mean 0 (3 values) and 8 (1 value): draws are 0, 2 (one of each: 8 / 4) or 8
    interval = mean_interval([0, 0, 0, 8], 0, units=["a", "a", "a", "b"])
    assert (interval.value, interval.low, interval.high, interval.n) == (2, 0, 8, 2)


def test_one_segment_has_no_interval_and_says_so() -> None:
    assert mean_interval([2.0], 0)[:4] == (2, None, None, 1)
    assert "at least two" in mean_interval([2.0], 0).reason
    assert mean_interval([], 0).value is None


def test_percentiles_hold_the_level_between_them() -> None:
    assert percentiles(np.arange(201.0)) == pytest.approx((5, 195))


def test_many_values_have_the_interval_that_resampling_gives() -> None:
    values = np.random.default_rng(0).exponential(size=bootstrap.MANY)  # skewed, as scores are
    exact, drawn = mean_interval(values, 0), mean_interval(values, 0, draws=4000, units=range(len(values)))
    assert exact.n == drawn.n == bootstrap.MANY
    for one, other in ((exact.low, drawn.low), (exact.high, drawn.high)):
        assert one - values.mean() == pytest.approx(other - values.mean(), rel=0.06)


def test_an_interval_of_many_values_is_named_and_stays_among_them() -> None:
    values = np.zeros(bootstrap.MANY)
    values[:3] = -25.0
    interval = mean_interval(values, 0)
    assert (interval.method, interval.high) == ("normal", 0.0)
    assert -0.05 < interval.low < float(values.mean())
    few = mean_interval(values[:100], 0)
    assert few.method == "bootstrap"
    assert bootstrap.method_of([few]) == "bootstrap"
    assert bootstrap.method_of([few, interval]) == "bootstrap or normal approximation, used from 5,000 values on"


def test_the_order_of_values_changes_no_interval() -> None:
    rng = np.random.default_rng(0)
    values, units, order = rng.integers(0, 20, 60) / 4, rng.integers(0, 12, 60), rng.permutation(60)
    assert mean_interval(values[order], 3)[1:] == mean_interval(values, 3)[1:]
    found = [mean_interval(v, 3, units=u.tolist()) for v, u in ((values, units), (values[order], units[order]))]
    assert found[0][1:] == found[1][1:]
