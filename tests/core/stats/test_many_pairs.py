"""The exact search for the best ε among many pairs, beside every ε tried one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.correlation import agreement_interval as intervals
from core.stats.correlation import ties
from core.stats.correlation.agreement_interval import agreement_interval
from core.stats.correlation.pairs import Floats
from core.stats.correlation.ties import ManyPairs, calibrate_ties, tie_curve
from core.stats.significance import perm_both


def by_definition(metric: list[float], human: list[float]) -> tuple[int, float]:
    """Deutsch et al. 2023: the most pairs that any ε gets right, and the smallest such ε."""
    pairs = list(combinations(range(len(metric)), 2))

    def right(epsilon: float) -> int:
        found = 0
        for i, j in pairs:
            gap = metric[i] - metric[j]
            tied = abs(gap) <= epsilon
            found += (human[i] == human[j]) if tied else (human[i] - human[j]) * gap > 0
        return found

    tried = {e: right(e) for e in {0.0, *(abs(metric[i] - metric[j]) for i, j in pairs)}}
    best = max(tried.values())
    return best, min(e for e, n in tried.items() if n == best)


scores = st.one_of(
    st.integers(-4, 4).map(float), st.floats(-3, 3, width=16), st.integers(-40, 40).map(lambda k: k / 10)
)


@given(st.lists(st.tuples(scores, st.integers(0, 4)), min_size=2, max_size=18))
def test_it_finds_what_trying_every_epsilon_finds(rows: list[tuple[float, int]]) -> None:
    metric, human = [m for m, _ in rows], [float(h) for _, h in rows]
    pairs = ManyPairs(np.array(metric), np.array(human))
    pairs.listed = 8  # so that intervals are split and dropped
    steps = pairs.steps()
    most = max(s.right for s in steps)
    assert (most, min(s.epsilon for s in steps if s.right == most)) == by_definition(metric, human)
    every = tie_curve(metric, human)
    for step in steps:
        assert every.at(step.epsilon) == pytest.approx(step.right / pairs.total, abs=1e-12)


@pytest.mark.parametrize("decimals", [0, 2, 12])
def test_large_data_give_the_same_as_sorting_every_pair(decimals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    metric, human = sample(1200, decimals)
    exact = tie_curve(metric, human)
    monkeypatch.setattr(ties, "SORTED_PAIRS", 1000)
    monkeypatch.setattr(ties, "LISTED_AT_ONCE", 20_000)
    found = tie_curve(metric, human)
    assert len(found.epsilon) < 2000
    assert found.epsilon[found.best()] == exact.epsilon[exact.best()]
    assert found.accuracy.max() == pytest.approx(exact.accuracy.max(), abs=1e-12)
    assert (found.ties, found.n, found.groups) == (pytest.approx(exact.ties), 1200, 1)


def sample(n: int, decimals: int = 12) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(5)
    human = -np.round(rng.exponential(2, n) * (rng.random(n) > 0.4))
    return np.round(human + rng.normal(0, 3, n), decimals), human


def test_over_three_million_pairs_have_a_value_and_interval() -> None:
    metric, human = sample(4000)  # 7,998,000 pairs
    units = (np.arange(4000) // 10).tolist()
    found = agreement_interval("acc_eq", metric, human, units=units, seed=0, draws=51)
    assert found.value == calibrate_ties(metric, human).statistic.value
    assert found.low is not None
    assert found.high is not None
    assert found.low < (found.value or 0) < found.high
    assert found.reason == "the interval uses a random sample of 300,000 of 7,998,000 pairs"


def test_the_interval_of_a_sample_of_pairs_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    metric, human = sample(600)
    units = (np.arange(600) // 6).tolist()
    for group, segments in (("pooled", ()), ("segment", units)):
        where = {"group": group, "segments": segments, "units": units, "seed": 1, "draws": 200}
        whole = agreement_interval("acc_eq", metric, human, **where)  # type: ignore[arg-type]
        with monkeypatch.context() as fewer:
            fewer.setattr(intervals, "MAX_WORK", 200_000)
            fewer.setattr(intervals, "SAMPLED", 60_000 if group == "pooled" else 1400)
            part = agreement_interval("acc_eq", metric, human, **where)  # type: ignore[arg-type]
        assert part.value == whole.value
        assert part.low == pytest.approx(whole.low, abs=0.012)
        assert part.high == pytest.approx(whole.high, abs=0.012)
        assert "random sample" in part.reason


def test_metrics_are_tested_on_a_sample_of_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    metric, human = sample(240)
    poor = np.random.default_rng(2).normal(size=240)
    monkeypatch.setattr(perm_both, "MAX_PAIRS", 20_000)
    monkeypatch.setattr(perm_both, "SAMPLED", 8_000)
    found = perm_both.perm_both("acc_eq", metric, poor, human, seed=0, draws=99)
    exact = [calibrate_ties(m, human).statistic.value or 0.0 for m in (metric, poor)]
    assert found.difference == pytest.approx(exact[0] - exact[1])
    assert found.p == pytest.approx(0.01)
    assert found.reason == "p uses a random sample of 8,000 of 28,680 pairs"
    same = perm_both.perm_both("acc_eq", metric, metric + 1, human, seed=0, draws=99)
    assert same.p == 1
