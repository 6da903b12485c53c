from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.stats.correlation import agreement_interval as intervals
from core.stats.correlation import ties
from core.stats.correlation.agreement_interval import agreement_interval
from core.stats.correlation.correlation import Statistic
from core.stats.correlation.pairs import Floats
from core.stats.correlation.ties import ManyPairs, calibrate_ties, calibrate_ties_by, tie_curve, tie_curve_by
from core.stats.significance import perm_both
from tests.core.stats import two_metrics

ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=25
)


def by_hand(metric: list[float], human: list[float], epsilon: float) -> float:
    right = pairs = 0
    for i, j in combinations(range(len(metric)), 2):
        m, h = metric[i] - metric[j], human[i] - human[j]
        tie = abs(m) <= epsilon
        right += h == 0 if tie else m * h > 0
        pairs += 1
    return right / pairs


def test_the_curve_of_mt_metrics_eval_without_human_ties() -> None:
    # google-research/mt-metrics-eval 0b82d96, mt_metrics_eval/tau_optimization_test.py, test_zero_threshold_is_best
    curve = tie_curve([0, 2, 6, 8], [1, 2, 3, 4])
    assert [curve.at(e) for e in (0, 2, 4, 6, 8)] == pytest.approx([6 / 6, 4 / 6, 3 / 6, 1 / 6, 0])
    assert calibrate_ties([0, 2, 6, 8], [1, 2, 3, 4])[:2] == (Statistic(1.0, "", 4), 0.0)


def test_the_curve_of_mt_metrics_eval_with_human_ties() -> None:
    # the same file, test_nonzero_threshold_is_best
    curve = tie_curve([0, 2, 6, 8], [1, 1, 1, 4])
    assert [curve.at(e) for e in (0, 2, 4, 6, 8)] == pytest.approx([3 / 6, 3 / 6, 4 / 6, 4 / 6, 3 / 6])
    calibration = calibrate_ties([0, 2, 6, 8], [1, 1, 1, 4])
    assert calibration.statistic.value == pytest.approx(4 / 6)
    assert calibration.epsilon == 4


def test_the_grouped_curve_of_mt_metrics_eval() -> None:
    # the same file, test_regression_example; what is None there is left out here, as is the row of nothing else
    metric = [[0, 5, 2, 3, 2], [2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 1]]
    human = [[1, 5, 2, 1, 1], [2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, 3, 2]]
    groups = [g for g, row in enumerate(metric) for _ in row]
    curve = tie_curve([float(x) for row in metric for x in row], [float(x) for row in human for x in row], groups)
    assert [curve.at(e) for e in range(9)] == pytest.approx(
        [
            0.4666666666666667,
            0.4916666666666668,
            0.38333333333333347,
            0.29166666666666674,
            0.2666666666666667,
            0.2,
            0.15833333333333335,
            0.15833333333333335,
            0.1166666666666667,
        ]
    )
    assert curve.epsilon[curve.best()] == 1


def test_the_calibrated_value_of_mt_metrics_eval() -> None:
    # the same commit, mt_metrics_eval/stats_test.py, testKendallWithTiesOpt: 0.7; testKendallVariants: 0.4 at ε = 2
    metric, human = [2, 1, 1.5, 5, 3], [1, 2, 2, 3, 4]
    assert calibrate_ties(metric, human).statistic.value == pytest.approx(0.7)
    assert tie_curve(metric, human).at(2) == pytest.approx(0.4)


@given(ROWS)
def test_every_grouping_equals_counting_by_hand_at_every_epsilon(rows: list[tuple[int, int, int, int]]) -> None:
    m, h, segments, systems = (list(column) for column in zip(*rows, strict=True))

    def parts(names: list[int]) -> list[tuple[list[float], list[float]]]:
        of = [[i for i, name in enumerate(names) if name == g] for g in dict.fromkeys(names)]
        return [([float(m[i]) for i in rows], [float(h[i]) for i in rows]) for rows in of if len(rows) > 1]

    means = [[np.bincount(systems, x)[g] / np.bincount(systems)[g] for g in dict.fromkeys(systems)] for x in (m, h)]
    expected = {
        "pooled": parts([0] * len(m)),
        "segment": parts(segments),
        "within_system": parts(systems),
        "system": [(means[0], means[1])] if len(means[0]) > 1 else [],
    }
    for group, within in expected.items():
        curve = tie_curve_by(group, m, h, segments=segments, systems=systems)  # type: ignore[arg-type]
        if not within:
            assert curve.reason == ties.TOO_FEW
            assert calibrate_ties_by(group, m, h, segments=segments, systems=systems).statistic.value is None  # type: ignore[arg-type]
            continue
        tried = {0.0, *(abs(a - b) for part, _ in within for a, b in combinations(part, 2))}
        by_epsilon = {e: float(np.mean([by_hand(a, b, e) for a, b in within])) for e in tried}
        assert {e: curve.at(e) for e in tried} == pytest.approx(by_epsilon)
        best = calibrate_ties_by(group, m, h, segments=segments, systems=systems)  # type: ignore[arg-type]
        assert best.statistic.value == pytest.approx(max(by_epsilon.values()))
        assert best.epsilon == min(e for e, v in by_epsilon.items() if v >= max(by_epsilon.values()) - 1e-12)


def test_constant_scores_are_judged_as_ties() -> None:
    # people tie one pair of three: t = 1/3, all metric pairs tie, so 1/3 is right; floor max(1/3, 1/3)
    calibration = calibrate_ties([2, 2, 2], [1, 1, 0])
    assert calibration.statistic.value == pytest.approx(1 / 3)
    assert calibration.epsilon == 0
    assert calibration.chance == pytest.approx(1 / 3)
    assert calibrate_ties([1, 2, 3], [5, 5, 5]).statistic.value == 1  # with ε = 2 the metric ties all three too
    assert calibrate_ties([1, 2, 3], [5, 5, 5]).epsilon == 2


def test_one_output_has_no_pair_and_two_have_one() -> None:
    assert calibrate_ties([1.0], [1.0]).statistic == Statistic(None, ties.TOO_FEW, 1)
    assert tie_curve([], []).chance is None
    assert calibrate_ties([1, 2], [3, 4]).statistic.value == 1
    assert calibrate_ties([2, 1], [3, 4]).statistic.value == 0


def test_what_is_not_a_score_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        calibrate_ties([1, float("nan")], [1, 2])
    with pytest.raises(ValueError, match="shape"):
        calibrate_ties([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="groups"):
        calibrate_ties([1, 2, 3], [1, 2, 3], ["a", "b"])
    with pytest.raises(UserError, match="within_system"):
        tie_curve_by("item", [1, 2], [1, 2])  # type: ignore[arg-type]


def test_a_random_metric_reaches_the_chance_floor() -> None:
    rng = np.random.default_rng(0)
    for weights in ([0.4, 0.35, 0.25], [0.85, 0.1, 0.05]):  # t below and above one third
        human = rng.choice(3, size=(400, 12), p=weights)
        segments = np.repeat(np.arange(400), 12).tolist()
        calibration = calibrate_ties(rng.normal(size=human.size), human.ravel(), segments)
        assert calibration.statistic.value == pytest.approx(calibration.chance, abs=0.01)


def test_a_thinned_curve_keeps_its_ends_and_its_best() -> None:
    rng = np.random.default_rng(1)
    human = rng.integers(0, 3, 100)
    curve = tie_curve(human + rng.normal(size=100), human)
    thin = curve.thinned(40)
    assert len(thin.epsilon) <= 43 < len(curve.epsilon)
    assert (thin.epsilon[0], thin.epsilon[-1]) == (curve.epsilon[0], curve.epsilon[-1])
    assert thin.epsilon[thin.best()] == curve.epsilon[curve.best()]
    assert thin.chance == curve.chance
    assert tie_curve([1, 2], [1, 2]).thinned(40).epsilon.tolist() == [0, 1]


def test_too_many_pairs_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "MAX_PAIRS", 5)
    assert calibrate_ties([1, 2, 3, 4], [1, 2, 3, 4], ["a", "a", "b", "b"]).statistic.value == 1
    with pytest.raises(UserError, match="within segments"):
        calibrate_ties([1, 2, 3, 4, 1, 2, 3, 4], [1, 2, 3, 4, 1, 2, 3, 4], ["a"] * 4 + ["b"] * 4)


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
    curve = tie_curve(metric, human)
    assert len(curve.epsilon) < 2000
    assert curve.epsilon[curve.best()] == exact.epsilon[exact.best()]
    assert curve.accuracy.max() == pytest.approx(exact.accuracy.max(), abs=1e-12)
    assert (curve.ties, curve.n, curve.groups) == (pytest.approx(exact.ties), 1200, 1)


def sample(n: int, decimals: int = 12) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(5)
    human = -np.round(rng.exponential(2, n) * (rng.random(n) > 0.4))
    return np.round(human + rng.normal(0, 3, n), decimals), human


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
        if group == "pooled":  # 600·599/2 pairs
            assert "random sample of 60,000 of 179,700 pairs" in part.reason
        assert "random sample" in part.reason
    assert (intervals.MAX_WORK, intervals.SAMPLED) == (400_000_000, 300_000)


def test_metrics_are_tested_on_a_sample_of_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    metric, human = sample(240)
    poor = np.random.default_rng(2).normal(size=240)
    monkeypatch.setattr(perm_both, "MAX_PAIRS", 20_000)
    monkeypatch.setattr(perm_both, "SAMPLED", 8_000)
    found = two_metrics.perm_both("acc_eq", metric, poor, human, seed=0, draws=99)
    exact = [calibrate_ties(m, human).statistic.value or 0.0 for m in (metric, poor)]
    assert found.difference == pytest.approx(exact[0] - exact[1])
    assert found.p == pytest.approx(0.01)
    assert found.reason == "p uses a random sample of 8,000 of 28,680 pairs"
    same = two_metrics.perm_both("acc_eq", metric, metric + 1, human, seed=0, draws=99)
    assert same.p == 1
