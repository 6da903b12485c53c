"""The search for very many outputs: the same optimum, plateau and values as the full sweep and as brute force."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.calibration import bootstrap_draws, lambda_search, many_outputs
from core.calibration.breakpoints import on_grid
from core.calibration.calibrate import Calibration, calibrate
from core.calibration.curve import BestLambda, StepCurve
from core.calibration.lambda_search import ManyOutputs, curve_of, search
from core.calibration.many_outputs import BinnedCurve
from core.errors import UserError
from tests.core.calibration.test_calibrate import points
from tests.core.calibration.test_lambda_search import RANKS

FEW_SMALL = st.tuples(*[st.integers(0, 5)] * 3)


def realistic(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Explicit distances of which a fifth are 0, implicit ones around .8, penalties in whole numbers with many zeros."""
    rng = np.random.default_rng(seed)
    exp, imp = np.where(rng.random(n) < 0.2, 0, rng.exponential(0.4, n)), rng.normal(0.8, 0.4, n)
    penalty = np.round(np.maximum(0, 2 * (1.7 * exp + imp) + rng.normal(0, 2, n)))
    return exp, imp, -np.where(rng.random(n) < 0.3, 0, penalty)


def coarse(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Distances of one or two decimals: hundreds of pairs change places at the same λ."""
    rng = np.random.default_rng(seed)
    exp, imp = np.maximum(0, rng.normal(0.1, 0.3, n)), rng.normal(0.5, 0.4, n)
    human = np.round(rng.normal(size=n) - rng.choice([-2, 0, 2]) * (exp + imp))
    return np.round(exp, 1 + seed % 2), np.round(imp, 1 + seed % 2), human


def many(measure: Any, exp: Any, imp: Any, human: Any) -> ManyOutputs:
    e, i, h = (np.asarray(x, dtype=np.float64) for x in (exp, imp, human))
    return ManyOutputs(measure, *on_grid(e, i), np.round(h, 12))


def swept(measure: Any, exp: Any, imp: Any, human: Any, weights: Any = None) -> StepCurve:
    found = curve_of(exp, imp, human, measure=measure)(np.ones(len(exp)) if weights is None else weights)
    assert isinstance(found, StepCurve)
    return found


def assert_the_same(found: BestLambda | None, expected: BestLambda | None) -> None:
    """But for the peak, which is not looked for."""
    if found is None or expected is None:
        assert found is expected
        return
    assert found.agreement == pytest.approx(expected.agreement, abs=1e-12)
    assert found.plateau == pytest.approx(expected.plateau, rel=1e-8)
    assert found.lam == pytest.approx(expected.lam, rel=1e-8)
    assert found.peak is None


@pytest.mark.parametrize("measure", RANKS)
@pytest.mark.parametrize("made", [realistic, coarse])
def test_the_optimum_and_its_plateau_are_those_of_the_full_sweep(
    measure: Any, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (0, 1, 2, 3, 4, 11, 24):
        exp, imp, human = made(5 + 12 * seed, seed)
        monkeypatch.setattr(many_outputs, "BINS", (3, 64, 1 << 14)[seed % 3])
        monkeypatch.setattr(many_outputs, "BLOCK", (50, 1 << 17)[seed % 2])
        found, expected = many(measure, exp, imp, human)(np.ones(len(exp))), swept(measure, exp, imp, human)
        assert_the_same(found.best(), expected.best())
        for lam in (0, 0.5, 0.95, 1, 4.9, math.inf, *expected.breaks[:3], *expected.breaks[-3:]):
            assert found.value(lam) == pytest.approx(expected.value(lam), abs=1e-12, nan_ok=True)


@given(st.lists(FEW_SMALL, min_size=2, max_size=30), st.sampled_from(RANKS), st.sampled_from([1, 2, 7, 1024]))
def test_equal_outputs_equal_breakpoints_and_zeros_change_nothing(outputs: Any, measure: Any, bins: int) -> None:
    exp, imp, human = (np.array(column, dtype=np.float64) for column in zip(*outputs, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many_outputs, "BINS", bins)
        found = many(measure, exp, imp, human)(np.ones(len(exp)))
        assert_the_same(found.best(), swept(measure, exp, imp, human).best())


def test_a_bin_end_between_merged_breakpoints_is_no_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Six twos, each worse than those before; the two of a row change places at its λ. At 1/9 a two comes into people's order
    # and at 1/4 one leaves it: the optimum lies between. Just below 1 two more come, just above two leave: 8e-10 apart,
    # which is one breakpoint, so that no λ has both. The end of the second of four stretches of ω is λ = 1.
    rows = [(1 / 9, 1), (1 / 4, -1), (1 - 4e-10, 1), (1 - 4e-10, 1), (1 + 4e-10, -1), (1 + 4e-10, -1)]
    exp = [10.0 * k + x for k in range(6) for x in (0, 1)]
    imp = [10.0 * k + x for k, (lam, _) in enumerate(rows) for x in (lam, 0)]
    human = [-3.0 * k + x for k, (_, sign) in enumerate(rows) for x in (sign, 0)]
    monkeypatch.setattr(many_outputs, "BINS", 4)
    found = many("kendall", exp, imp, human)(np.ones(12)).best()
    assert_the_same(found, swept("kendall", exp, imp, human).best())
    assert found.plateau == pytest.approx((1 / 9, 1 / 4, False, False))
    # of 66 pairs the 60 between twos are in order, and four of six within: 64 − 2
    assert found.agreement == pytest.approx(62 / 66)


def test_many_outputs_have_the_optimum_of_the_full_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    exp, imp, human = realistic(1200, 0)
    found, best = search(exp, imp, human)
    assert isinstance(found, BinnedCurve)
    monkeypatch.setattr(lambda_search, "SWEPT_PAIRS", 5_000_000)
    expected = swept("kendall", exp, imp, human)
    assert_the_same(best, expected.best())
    drawn = [p.agreement for p in found.points() if p.agreement is not None]
    assert max(drawn) == best.agreement
    assert found.value(1.3) == pytest.approx(expected.value(1.3), abs=1e-12)


@pytest.mark.parametrize("measure", RANKS)
def test_every_draw_has_the_agreement_that_its_own_sweep_gives_it(
    measure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(0, 8, 3):
        exp, imp, human = (coarse if seed % 2 else realistic)(20 + 10 * seed, seed)
        rng = np.random.default_rng(seed)
        n = 3 + 4 * seed
        unit = np.append(np.arange(n), rng.integers(0, n, len(exp) - n))
        weights = np.array([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(5)], dtype=np.float64).T
        for module, name, value in (
            (bootstrap_draws, "PAIRS_AT_ONCE", 200), (bootstrap_draws, "UNITS_AT_ONCE", 4), (bootstrap_draws, "CELLS_AT_ONCE", 100),
            (bootstrap_draws, "DRAWS_AT_ONCE", 2), (bootstrap_draws, "RANKED_AT_ONCE", 2), (many_outputs, "BLOCK", 64),
        ):  # fmt: skip
            monkeypatch.setattr(module, name, value)
        shares: list[float] = []
        found = many(measure, exp, imp, human).bootstrap(unit, weights, 1.25, shares.append)
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1)
        for k in range(5):
            curve = swept(measure, exp, imp, human, weights[unit, k])
            lams = np.append(np.arange(200) / np.arange(200, 0, -1), np.inf)
            above = np.searchsorted(curve.breaks, lams * (1 + 1e-9), "right")  # just above, where outputs tie on it
            above[0] = 0
            assert found.steps[k] == pytest.approx(curve.between[above], abs=1e-9, nan_ok=True)
            for of, lam in ((found.zero, 0), (found.inf, math.inf), (found.at_lam, 1.25)):
                value = curve.value(lam)
                assert of[k] == pytest.approx(np.nan if value is None else value, abs=1e-9, nan_ok=True)


def fitted(monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Calibration, Calibration]:
    """With a sweep of all pairs, and as if they were too many for it."""
    exact = calibrate(points(8), draws=40, **options)
    monkeypatch.setattr(lambda_search, "SWEPT_PAIRS", 100)
    return exact, calibrate(points(8), draws=40, **options)


@pytest.mark.parametrize("measure", RANKS)
def test_the_report_is_the_same_but_for_the_steps_of_the_interval(
    measure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact, found = fitted(monkeypatch, measure=measure)
    assert found.lam == pytest.approx(exact.lam, rel=1e-8)
    assert found.plateau == pytest.approx(exact.plateau, rel=1e-8)
    assert found.at == pytest.approx(exact.at)
    assert found.cross_validated.value == pytest.approx(exact.cross_validated.value)
    assert found.agreement_ci == pytest.approx(exact.agreement_ci)
    for a, b in zip(exact.ci, found.ci, strict=True):  # a fit is the best of 201: here at most a few hundredths beside
        assert a / (1 + a) == pytest.approx(b / (1 + b), abs=0.03)
    for one, other in zip(exact.ribbon, found.ribbon, strict=True):
        assert one == pytest.approx(other, abs=1e-9)
    assert found.signature.replace("|fits:omega/200", "") == exact.signature
    (note,) = [note for note in found.notes if note not in exact.notes]
    assert "each resample is fitted to 201 values of λ only" in note


def test_slow_fits_use_fewer_resamples_and_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.calibration.calibrate.PAIRS_IN_ALL", 1)
    _, found = fitted(monkeypatch)
    assert any("uses 20 resamples" in note for note in found.notes)
    assert "draws:20|fits:omega/200" in found.signature


def test_how_much_is_done_is_told_from_0_to_1(monkeypatch: pytest.MonkeyPatch) -> None:
    for pairs in (400_000, 100):
        monkeypatch.setattr(lambda_search, "SWEPT_PAIRS", pairs)
        shares: list[float] = []
        calibrate(points(8), draws=5, progress=shares.append)
        assert shares == sorted(shares)
        assert (shares[0], shares[-1]) == (0, 1)


def test_equal_human_scores_of_many_outputs_are_undefined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lambda_search, "SWEPT_PAIRS", 2)
    with pytest.raises(UserError, match="the same human score"):
        search([0, 1, 2], [2, 0, 1], [3, 3, 3])


def test_too_many_outputs_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lambda_search, "SWEPT_PAIRS", 2)
    monkeypatch.setattr(lambda_search, "MOST_OUTPUTS", 2)
    with pytest.raises(UserError, match="by segment or by system"):
        search([0, 1, 2], [2, 0, 1], [2, 3, 1])
    search([0, 1, 2], [2, 0, 1], [2, 3, 1], measure="pearson")
