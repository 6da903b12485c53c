"""Tests that share draws and end early, beside the agreement computed anew in every draw."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from core.stats.correlation.correlation import GROUPS, MEASURES, Group, Measure, cells, evaluator
from core.stats.correlation.pairs import Floats
from core.stats.significance import exchanged
from core.stats.significance import perm_both as module
from core.stats.significance.perm_both import PermBoth, agreement_with_ties
from core.stats.significance.random_signs import random_signs, sign_stages
from tests.bench.evaluation import campaign
from tests.core.stats.two_metrics import perm_both

DRAWS = 60


def each_draw(measure: Measure, scores: Floats, human: Floats, group: Group, places: dict[str, Any]) -> Floats:
    """The differences of two metrics in all draws, NaN if undefined, without anything that draws or pairs of metrics share."""

    def value(vectors: Floats) -> Floats:
        if measure != "acc_eq" or group == "system":
            return evaluator(measure, human, group=group, **places)(vectors)
        found = [agreement_with_ties(measure, of, human, group=group, **places).value for of in vectors]
        return np.array(found, dtype=np.float64)

    x, y = (module._z(of) for of in scores)
    blocks = random_signs(len(human), 5, DRAWS, cells(measure, len(human), group, places["segments"]))
    return np.concatenate([value(np.where(s > 0, x, y)) - value(np.where(s > 0, y, x)) for s in blocks])


def world(systems: int, segments: int, metrics: int) -> tuple[Floats, Floats, dict[str, Any]]:
    drawn = campaign(metrics, systems, segments, seed=systems)
    places = np.indices((systems, segments)).reshape(2, -1)
    scores = np.stack([values.ravel() for values in drawn.metrics.values()])
    return drawn.human.ravel(), scores, {"systems": places[0].tolist(), "segments": places[1].tolist()}


def seen_of(measure: Measure, human: Floats, scores: Floats, group: Group, places: dict[str, Any]) -> list:  # type: ignore[type-arg]
    return [agreement_with_ties(measure, of, human, group=group, **places) for of in scores]


@pytest.mark.parametrize("group", GROUPS)
def test_shared_draws_give_the_p_of_each_draw(group: Group) -> None:
    # continuous metrics and one of few different scores, equal outputs, segments in which a metric can be constant
    for systems, segments in ((6, 12), (3, 15), (2, 12)):
        human, scores, places = world(systems, segments, 6)
        scores[0, : len(human) // 2] = np.round(scores[0, : len(human) // 2], 1)
        for measure in MEASURES:
            seen, pairs = seen_of(measure, human, scores, group, places), [(0, 1), (5, 0), (2, 5)]
            found = PermBoth(measure, human, scores, seen, group=group, seed=5, draws=DRAWS, **places).compare(pairs)
            for (a, b), test in zip(pairs, found, strict=True):
                drawn = each_draw(measure, scores[[a, b]], human, group, places)
                drawn = drawn[~np.isnan(drawn)]
                as_far = np.abs(drawn) >= abs(seen[a].value - seen[b].value) - 1e-12
                assert test.draws == len(drawn)
                assert test.p == pytest.approx((as_far.sum() + 1) / (len(drawn) + 1), abs=1e-15), (measure, systems, a)


def test_large_segments_with_ties_and_rough_differences_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    human, scores, places = world(6, 12, 6)
    for measure in ("kendall", "acc_eq"):
        seen = seen_of(measure, human, scores, "segment", places)
        test = PermBoth(measure, human, scores, seen, group="segment", seed=5, draws=DRAWS, early=True, **places)
        found = test.compare(list(combinations(range(6), 2)))
        with monkeypatch.context() as other:
            other.setattr("core.stats.significance.exchanges.LARGEST_GROUP", 3)
            other.setattr("core.stats.significance.exchanged.CHECKED", DRAWS)
            assert test.compare(list(combinations(range(6), 2))) == found


def test_tests_end_early_where_the_result_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=300)
    good, similar, equal, poor = (human + sd * rng.normal(size=300) for sd in (0.3, 0.33, 0.3, 9))
    scores = np.stack([good, similar, equal, poor])
    seen = [agreement_with_ties("kendall", of, human) for of in scores]
    shares: list[float] = []

    def compared() -> list:  # type: ignore[type-arg]
        test = PermBoth("kendall", human, scores, seen, seed=1, draws=20_000, early=True)
        return test.compare(list(combinations(range(4), 2)), shares.append)

    found = dict(zip(combinations(range(4), 2), compared(), strict=True))
    assert [found[pair].ended for pair in ((0, 3), (1, 3), (2, 3))] == ["clear"] * 3
    assert (found[0, 3].p, found[0, 3].draws) == (1 / 20_001, 1000)
    whole = [perm_both("kendall", scores[a], scores[b], human, seed=1, draws=20_000) for a, b in found]
    assert [t.p for (a, b), t in zip(found, whole, strict=True) if b == 3] == [1 / 20_001] * 3
    for test, all_draws in zip(found.values(), whole, strict=True):
        if test.ended == "reached":
            assert test.draws >= 1000
            assert test.p == pytest.approx(all_draws.p, rel=0.4)
            assert test.draws == 1000 or test.p == 100 / test.draws
        elif not test.ended:
            assert test == all_draws
    assert {t.ended for t in found.values()} >= {"reached", "clear"}
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert any(
        0.2 < share < 0.25 for share in shares
    )  # of all tests after 1,000 draws: log 2 / log 21, since few will go on
    first = list(found.values())
    monkeypatch.setattr(exchanged.PooledOrder, "at_once", 2)
    assert compared() == first  # neither threads nor chunks change anything


def test_draws_are_the_same_in_stages() -> None:
    signs = np.concatenate(list(random_signs(37, 3, 250, 80_000)))
    stages = list(sign_stages(37, 3, 250, 80_000, [10, 100, 10_000]))
    assert [len(stage) for stage in stages] == [10, 90, 150]
    positive = np.concatenate([stage.positive(slice(None)) for stage in stages])
    assert (positive == (signs > 0)).all()
    coefficients = np.random.default_rng(0).normal(size=(37, 2))
    sums = np.concatenate([stage.times(coefficients) for stage in stages], axis=1)
    np.testing.assert_allclose(sums, (signs @ coefficients).T, atol=1e-12)
    rows = np.array([[0, 5, 36], [7, 8, 9]])
    bits = (signs[:, rows] > 0) @ np.array([1, 2, 4])
    assert (np.concatenate([stage.patterns(rows) for stage in stages], axis=1) == bits.T).all()
