import math
from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UserError
from core.stats.correlation import pairs
from core.stats.correlation.correlation import (
    GROUPS,
    MEASURES,
    Group,
    Measure,
    agreement,
    agreement_values,
    cells,
    evaluator,
)
from core.stats.correlation.kernel import mid_ranks, tied_pairs
from core.stats.correlation.pairs import SMALL, Floats, pair_counts

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


SCIPY = {"kendall": scipy.stats.kendalltau, "spearman": scipy.stats.spearmanr, "pearson": scipy.stats.pearsonr}


def of_scipy(measure: Measure, metric: Floats, human: Floats) -> float:
    """The statistic by scipy, or acc_eq with ε = 0 pair by pair; NaN where a side is constant."""
    if measure == "acc_eq":
        return acc_eq_at(0.0, metric, human)
    if len(set(metric.tolist())) < 2 or len(set(human.tolist())) < 2:
        return math.nan
    return float(SCIPY[measure](metric, human)[0])


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("n", [2, 7, 40, 150])
def test_rows_and_weights_equal_scipy_on_copies(measure: Measure, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "NUMBERS", 4 * n)  # four rows of weights at a time
    monkeypatch.setattr(pairs, "CELLS", 2 * n * n)  # two rows of scores at a time
    rng = np.random.default_rng(n)
    human = rng.integers(0, 5, n).astype(float)
    metric = np.stack([rng.normal(size=n), rng.integers(0, 3, n), human + rng.normal(size=n).round(1), np.full(n, 0.1)])
    single = [of_scipy(measure, of, human) for of in metric]
    np.testing.assert_allclose(agreement_values(measure, metric, human), single, atol=1e-12)
    both = np.stack([human, metric[0]])
    table = [[of_scipy(measure, m, h) for h in both] for m in metric]
    np.testing.assert_allclose(agreement_values(measure, metric[:, None], both), table, atol=1e-12)
    weights = rng.integers(0, 4, (6, n)).astype(float)
    weights[:, :2] += 1
    for scores in metric:
        copies = [(np.repeat(scores, w), np.repeat(human, w)) for w in weights.astype(int)]
        drawn = [of_scipy(measure, m, h) for m, h in copies]
        np.testing.assert_allclose(agreement_values(measure, scores, human, weights), drawn, atol=1e-12)
        np.testing.assert_allclose(agreement_values(measure, scores, human, weights[0]), drawn[0], atol=1e-12)
        if measure == "spearman":
            ranks = mid_ranks(scores, weights)
            for w, of, (m, _) in zip(weights.astype(int), ranks, copies, strict=True):
                np.testing.assert_allclose(np.repeat(of, w), scipy.stats.rankdata(m))


def test_fractional_weights_with_a_constant_side_are_undefined() -> None:
    # sums of such weights are rounded, and what is left of them is no correlation
    rng = np.random.default_rng(3)
    metric, weights = rng.normal(size=200), rng.choice([1.0, 1.5, 4.2], 200)
    for measure in ("kendall", "spearman", "pearson"):
        assert np.isnan(agreement_values(measure, metric, np.full(200, 0.1), weights))
    assert np.isnan(agreement_values("acc_eq", metric, metric, np.eye(200)[0]))  # one output


@pytest.mark.parametrize("group", GROUPS)
def test_many_vectors_have_the_agreement_of_each_alone(group: Group) -> None:
    rng = np.random.default_rng(1)
    for n, segments in ((24, 5), (3 * SMALL, 2)):
        human, of_segment = rng.integers(0, 4, n).astype(float), rng.integers(0, segments, n).tolist()
        scores = np.stack([human + rng.normal(size=n).round(1), rng.integers(0, 3, n), np.full(n, 0.1)])
        places = {"group": group, "segments": of_segment, "systems": rng.integers(0, 4, n).tolist()}
        for measure in MEASURES:
            values = evaluator(measure, human, **places)(scores)  # type: ignore[arg-type]
            alone = [agreement(measure, of, human, **places).value for of in scores]  # type: ignore[arg-type]
            np.testing.assert_allclose(values, np.array(alone, dtype=float), atol=1e-12)


def test_pairwise_measures_need_one_cell_per_pair() -> None:
    segments = [0, 0, 0, 1, 1, 2]  # 3 + 1 pairs
    assert cells("kendall", 6, "segment", segments) == 6
    assert cells("acc_eq", 6, "pooled") == 15
    assert cells("kendall", 2 * SMALL, "pooled") == 2 * SMALL
    assert cells("pearson", 1000, "pooled") == 1000


@pytest.mark.parametrize(
    ("measure", "metric", "human", "value"),
    [
        # pairs (metric, human): (1,2)-(2,1) D, -(2,3) C, -(3,3) C; (2,1)-(2,3) metric tie, -(3,3) C; (2,3)-(3,3) human tie
        # C = 3, D = 1, T_m = 1, T_h = 1: (3 − 1) / √((4 + 1)(4 + 1)) = 2 / 5
        ("kendall", [1, 2, 2, 3], [2, 1, 3, 3], 0.4),
        # google-research/mt-metrics-eval 68a481a, stats tests: variant acc23 on this input is 0.6
        ("acc_eq", [1, 2, 2, 3, 4], [2, 1, 1.5, 5, 3], 0.6),
        # pairs: tied on both (right), metric 1 < 2 and human 0 < 1 twice (right): 3 / 3
        ("acc_eq", [1, 1, 2], [0, 0, 1], 1),
        ("acc_eq", [5, 5], [1, 1], 1),  # constant input is not undefined here
    ],
)
def test_values_with_the_arithmetic_written_out(
    measure: Measure, metric: list[float], human: list[float], value: float
) -> None:
    assert agreement(measure, metric, human).value == pytest.approx(value)


def test_fewer_than_two_outputs_are_undefined_with_a_reason() -> None:
    for measure in MEASURES:
        assert agreement(measure, [1.0], [2.0]).value is None
        assert "at least two" in agreement(measure, [], []).reason


def test_what_is_not_a_score_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        agreement("kendall", [1.0, math.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match="shape"):
        agreement("kendall", [1.0], [1.0, 2.0])


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
    for measure in MEASURES:
        single = [agreement(measure, [a / 3 for a, _ in p], [b for _, b in p]).value for p in groups if p]
        defined = [value for value in single if value is not None]
        statistic = agreement(measure, metric, human, group="segment", segments=of)
        assert statistic.by_group == pytest.approx(tuple(single), abs=1e-12)
        assert (statistic.groups, statistic.undefined) == (len(defined), len(single) - len(defined))
        assert statistic.value == (pytest.approx(np.mean(defined), abs=1e-12) if defined else None)


def test_segments_that_are_all_undefined_say_why() -> None:
    statistic = agreement("kendall", [1, 1], [1, 2], group="segment", segments=["a", "a"])
    assert statistic.value is None
    assert "undefined in every segment" in statistic.reason


def test_an_unknown_measure_or_grouping_names_those_there_are() -> None:
    with pytest.raises(UserError, match="kendall, acc_eq"):
        evaluator("tau", np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="pooled, segment, system"):
        agreement("kendall", [1, 2], [1, 2], group="item")  # type: ignore[arg-type]


def acc_eq_at(epsilon: float, metric: np.ndarray, human: np.ndarray) -> float:
    pairs = [(metric[i] - metric[j], human[i] - human[j]) for i, j in combinations(range(len(metric)), 2)]
    return float(np.mean([np.sign(m if abs(m) > epsilon else 0) == np.sign(h) for m, h in pairs]))


def test_the_best_epsilon_of_weighted_pairs_equals_trying_all() -> None:
    rng = np.random.default_rng(2)
    for levels in (3, 10**6):
        apart, human = rng.integers(-levels, levels + 1, 60) / 10, np.sign(rng.integers(-2, 3, 60))
        weights = rng.random((4, 60))
        right = np.array([np.where(np.abs(apart) <= e, 0, np.sign(apart)) == human for e in (0, *np.abs(apart))])
        found = tied_pairs(apart, human)
        assert found.best() == right.mean(1).max()
        best = (right @ weights.T / weights.sum(1)).max(0)
        np.testing.assert_allclose(found.best(weights[:, found.order]), best, atol=1e-12)
    assert np.isnan(tied_pairs(np.zeros(0), np.zeros(0)).best(np.ones((2, 0)))).all()
