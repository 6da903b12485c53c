import numpy as np
import pytest

from core.stats.metric_matrix import significance_matrix
from core.stats.perm_both import perm_both
from core.stats.significance import holm


def test_every_pair_stands_once_with_its_own_test() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=80)
    metrics = {
        "bad": human + 4 * rng.normal(size=80),
        "good": human + 0.3 * rng.normal(size=80),
        "random": rng.normal(size=80),
    }
    found = significance_matrix("kendall", metrics, human, seed=5, draws=199)
    assert found.names == ("good", "bad", "random")
    assert [(p.first, p.second) for p in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    tests = [
        perm_both("kendall", metrics[found.names[p.first]], metrics[found.names[p.second]], human, seed=5, draws=199)
        for p in found.pairs
    ]
    assert [p.comparison for p in found.pairs] == tests
    assert [p.adjusted for p in found.pairs] == holm([t.p for t in tests])
    assert found.ranks[0] == 1
    assert found.ranks[1] == 2
    assert found.adjusted()[0, 1] == found.adjusted()[1, 0] == found.pairs[0].adjusted
    assert np.isnan(np.diagonal(found.adjusted())).all()


def test_a_constant_metric_comes_last_without_a_rank_and_costs_the_others_nothing() -> None:
    rng = np.random.default_rng(1)
    human = rng.normal(size=60)
    metrics = {"constant": np.zeros(60), "a": human + rng.normal(size=60), "b": -human}
    found = significance_matrix("pearson", metrics, human, seed=0, draws=99)
    assert found.names == ("a", "b", "constant")
    assert found.agreements[2].reason == "all metric scores are equal"
    assert found.ranks == (1, 2, None)
    assert [p.adjusted for p in found.pairs] == [pytest.approx(0.01), None, None]
    assert found.pairs[1].comparison.reason == "all metric scores are equal"


def test_a_constant_is_a_metric_for_acc_eq() -> None:
    # people tie half of the pairs: the constant gets ½, and people's own opposite cannot do better than to tie all
    human, segments = [0.0, 0, 1, 1, 0, 0, 1, 2], [0, 0, 1, 1, 2, 2, 3, 3]
    metrics = {"constant": np.ones(8), "people": np.array(human)}
    found = significance_matrix("acc_eq", metrics, human, group="segment", segments=segments, seed=0, draws=99)
    assert [(name, s.value) for name, s in zip(found.names, found.agreements, strict=True)] == [
        ("people", 1.0),
        ("constant", 0.75),
    ]


def test_one_metric_has_nothing_to_be_compared_with() -> None:
    found = significance_matrix("pearson", {"a": [1, 2, 4]}, [1, 2, 3], seed=0)
    assert (found.pairs, found.ranks) == ((), (1,))
    assert significance_matrix("pearson", {}, [1, 2], seed=0).names == ()
