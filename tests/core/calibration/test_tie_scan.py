"""acc_eq by λ with ε found anew at each: the definition of `evaluate`, at every λ."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.calibration import tie_scan
from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate
from core.calibration.curve import from_omega, omega
from core.calibration.lambda_search import curve_of
from core.calibration.presets import advice
from core.calibration.tie_scan import TieScan
from core.data import OutputKey
from core.refine.result import weighted
from core.stats.correlation.agreement_interval import agreement_interval
from core.stats.correlation.ties import calibrate_ties
from core.stats.significance.perm_both import agreement_with_ties


def by_definition(scores: list[float], human: list[float], groups: list[list[int]]) -> float | None:
    """The best mean over groups of the share of pairs judged right, over all ε (Deutsch et al. 2023)."""
    pairs = [[(i, j) for i, j in combinations(g, 2)] for g in groups if len(g) > 1]
    if not pairs:
        return None

    def right(i: int, j: int, epsilon: float) -> bool:
        gap = scores[i] - scores[j]
        return bool(np.sign(0 if abs(gap) <= epsilon else gap) == np.sign(human[i] - human[j]))

    tried = {0.0, *(abs(scores[i] - scores[j]) for of in pairs for i, j in of)}
    return max(float(np.mean([np.mean([right(i, j, e) for i, j in of]) for of in pairs])) for e in tried)


@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.integers(-3, 6), st.integers(0, 3), st.integers(0, 2)), min_size=2, max_size=12
    )
)
def test_the_curve_is_the_definition_at_every_lambda(rows: list[tuple[int, int, int, int]]) -> None:
    exp, imp, human = (np.array([r[k] for r in rows]) / 8 for k in range(3))
    segments = [r[3] for r in rows]
    for group, of in (("pooled", [0] * len(rows)), ("segment", segments)):
        groups = [[k for k, s in enumerate(of) if s == g] for g in dict.fromkeys(of)]
        curve = curve_of(exp, imp, human, measure="acc_eq", group=group, segments=segments)(np.ones(len(rows)))  # type: ignore[arg-type]
        for w in (0.0, 0.25, 0.5, 0.75, 1.0):  # eighths times quarters: exact in floating point
            scores = [-(w * e + (1 - w) * i) for e, i in zip(exp.tolist(), imp.tolist(), strict=True)]
            expected = by_definition(scores, human.tolist(), groups)
            assert curve.value(from_omega(w)) == pytest.approx(expected, abs=1e-12)
            assert curve.exact(from_omega(w)) == pytest.approx(expected, abs=1e-12)  # type: ignore[attr-defined]
        best = curve.best()
        if best is not None:
            assert best.agreement == pytest.approx(max(p.agreement or 0.0 for p in curve.points()), abs=1e-12)


def points(n: int, seed: int = 0, effect: float = 0.0, systems: int = 5) -> list[CalibrationPoint]:
    """Half of the human scores tie at 0. Both distances tell as much of the quality, or with an `effect` the explicit one more."""
    rng = np.random.default_rng(seed)
    quality = np.round(rng.exponential(2, n) * (rng.random(n) > 0.5))
    exp = np.round(0.2 * quality + rng.normal(0, 0.3, n), 3)
    imp = 0.2 * (1 - effect) * quality + rng.normal(0, 0.3 * (1 + 3 * effect), n)
    keys = [OutputKey(f"s{k % systems}", f"d{k // (5 * systems)}", str(k // systems)) for k in range(n)]
    return [
        CalibrationPoint(k, float(e), float(i), -float(q)) for k, e, i, q in zip(keys, exp, imp, quality, strict=True)
    ]


def evaluated(data: list[CalibrationPoint], lam: float, group: Any) -> float:
    found = agreement_with_ties(
        "acc_eq", [weighted(p.dist_exp, p.dist_imp, lam) for p in data], [p.human for p in data], group=group,
        segments=[p.key.segment for p in data], systems=[p.key.system for p in data],
    )  # fmt: skip
    return float(found.value or 0.0)


@pytest.mark.parametrize("group", ["pooled", "segment", "system"])
@pytest.mark.parametrize("sampled", [False, True])
def test_calibrate_and_evaluate_have_one_definition(group: Any, sampled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if sampled:
        monkeypatch.setattr(tie_scan, "SCANNED", 200 if group == "segment" else 3000)
    data = points(120)
    fit = calibrate(data, measure="acc_eq", group=group, draws=10)
    assert fit.agreement == pytest.approx(evaluated(data, fit.lam, group), abs=1e-12)
    for name, lam in (("0", 0.0), ("1", 1.0), ("inf", math.inf)):
        assert fit.at[name] == pytest.approx(evaluated(data, lam, group), abs=1e-12)
    if group != "system":
        assert any("scan" in note for note in fit.notes)
        assert any("random sample" in note for note in fit.notes) is sampled
        assert "acc_eq(eps=best at each lambda)" in fit.signature
    if not sampled and group != "system":
        grid = [evaluated(data, from_omega(w), group) for w in np.linspace(0, 1, 101)]
        assert fit.agreement >= max(grid) - 0.004


def test_plain_ties_at_zero_no_longer_win() -> None:
    # An implicit distance of 0 for all outputs without an error, and of chance for the others: with ε = 0, λ = 0 is best.
    noise = np.random.default_rng(2).normal(0, 0.1, 100).tolist()
    data = [p._replace(dist_imp=e if p.human else 0.0) for p, e in zip(points(100), noise, strict=True)]
    fit = calibrate(data, measure="acc_eq", draws=0)
    plain = {lam: agreement_with_plain_ties(data, lam) for lam in (0.0, fit.lam)}
    assert plain[0.0] > plain[fit.lam]
    assert fit.lam > 0


def agreement_with_plain_ties(data: list[CalibrationPoint], lam: float) -> float:
    scores = [weighted(p.dist_exp, p.dist_imp, lam) for p in data]
    pairs = list(combinations(range(len(data)), 2))
    return float(np.mean([np.sign(scores[i] - scores[j]) == np.sign(data[i].human - data[j].human) for i, j in pairs]))


@pytest.mark.parametrize("group", [pytest.param("pooled", marks=pytest.mark.extended), "segment"])
def test_draws_are_those_of_the_interval_of_evaluate(group: Any) -> None:
    data = points(100)
    exp, imp, human = (np.array([p[k] for p in data]) for k in (1, 2, 3))
    segments = [int(p.key.segment_id) for p in data]
    sweep = curve_of(exp, imp, human, measure="acc_eq", group=group, segments=segments)
    assert isinstance(sweep, TieScan)
    rng = np.random.default_rng(1)
    weights = rng.multinomial(20, [1 / 20] * 20, 15).T.astype(float)
    drawn = sweep.bootstrap(np.array(segments), weights, 2.3, lambda share: None)
    for k in range(15):
        curve = sweep(weights[segments, k])
        assert drawn.at_lam[k] == pytest.approx(curve.value(2.3), abs=0.003)  # 1,024 values of ε
        assert drawn.zero[k] == pytest.approx(curve.value(0.0), abs=0.003)
        best = curve.best()
        assert np.nanmax(drawn.steps[k]) == pytest.approx(best.agreement, abs=0.01)
    fit = calibrate(data, measure="acc_eq", group=group, draws=80)
    interval = agreement_interval(
        "acc_eq", [weighted(e, i, fit.lam) for e, i in zip(exp, imp, strict=True)], human, group=group,
        segments=segments, units=segments, seed=0, draws=80,
    )  # fmt: skip
    assert fit.agreement_ci == pytest.approx((interval.low, interval.high), abs=0.005)


def test_outputs_of_one_segment_each_have_no_pair_within_segments() -> None:
    curve = curve_of([1, 2], [1, 2], [1, 2], measure="acc_eq", group="segment", segments=["a", "b"])(np.ones(2))
    assert curve.best() is None
    assert curve.value(1.0) is None
    assert calibrate_ties([1, 2], [1, 2], ["a", "b"]).statistic.value is None


def shown(found: Calibration) -> tuple[float | None, bool]:
    return found.advice.lam, "not significantly better" in found.advice.why


@pytest.mark.parametrize(
    "measure", ["kendall", "pearson", *(pytest.param(m, marks=pytest.mark.extended) for m in ("acc_eq", "spearman"))]
)
def test_the_best_lambda_is_recommended_only_with_a_sure_gain(measure: Any) -> None:
    flat = calibrate(points(150), measure=measure, draws=60)
    assert shown(flat) == (1.0, True)
    assert flat.advice.gain_ci[0] <= 0
    report = flat.to_json()
    assert (report["recommended_lambda"], report["gain_over_1_ci"]) == (1.0, list(flat.advice.gain_ci))
    assert "Use λ = 1." in report["recommendation"]
    assert report["gain_over_1"] == pytest.approx(flat.agreement - (flat.at["1"] or 0.0))
    steep = calibrate(points(200, effect=1.0), measure=measure, draws=60)
    assert shown(steep) == (steep.lam, False)
    assert steep.advice.gain_ci[0] > 0
    assert omega(steep.lam) > 0.6


def test_the_interval_of_the_gain_is_that_of_paired_draws() -> None:
    data = points(200, effect=0.5)
    fit = calibrate(data, draws=60, seed=3)
    exp, imp, human = (np.array([p[k] for p in data]) for k in (1, 2, 3))
    segments = np.array([int(p.key.segment_id) for p in data])
    rng, gains = np.random.default_rng(3), []
    for _ in range(60):
        taken = np.bincount(rng.integers(0, 40, 40), minlength=40)
        rows = np.repeat(np.arange(200), taken[segments])
        values = [
            agreement_with_ties("kendall", [weighted(exp[r], imp[r], lam) for r in rows], human[rows]).value or 0.0
            for lam in (fit.lam, 1.0)
        ]
        gains.append(values[0] - values[1])
    low, high = np.quantile(gains, [0.025, 0.975])
    assert fit.advice.gain_ci == pytest.approx((low, high), abs=1e-9)


def test_few_segments_or_no_interval_never_recommend_another_lambda() -> None:
    within = calibrate(points(60), group="segment", draws=10)
    assert within.groups[1] == 12
    assert within.advice.lam == 1.0
    assert "are needed to choose λ" in within.advice.why
    assert calibrate(points(60), draws=0).advice.lam is None
    assert advice(2.0, 0.5, None, None).lam is None


@pytest.mark.parametrize("measure", ["kendall", "acc_eq", "pearson"])
def test_segments_in_which_agreement_is_defined_are_counted(measure: Any) -> None:
    data = [p._replace(human=0.0) if int(p.key.segment_id) < 15 else p for p in points(300)]
    varying = len({p.key.segment for p in data}) - sum(
        len({p.human for p in data if p.key.segment == s}) == 1 for s in {p.key.segment for p in data}
    )
    fit = calibrate(data, measure=measure, group="segment", draws=10)
    assert fit.groups == (60 if measure == "acc_eq" else varying, 60)
    assert fit.to_json()["segments_defined"] == list(fit.groups)


@pytest.mark.parametrize("seed", range(8))
def test_equal_decimal_differences_tie_in_the_scan_and_in_exact(seed: int) -> None:
    """.3 − .2 and .2 − .1 differ by 3e-17 as doubles, and an ε between them would part what is equal."""
    rng = np.random.default_rng(seed)
    exp, imp, human = rng.integers(0, 8, 6), rng.integers(-3, 8, 6), rng.integers(0, 4, 6)
    curve = curve_of(exp / 10, imp / 10, human, measure="acc_eq")(np.ones(6))
    assert isinstance(curve, tie_scan.ScanCurve)
    whole = by_definition(
        [float(-e - i) for e, i in zip(exp, imp, strict=True)], list(map(float, human)), [[*range(6)]]
    )
    assert curve.value(1.0) == pytest.approx(whole, abs=1e-12)
    assert curve.exact(1.0) == pytest.approx(whole, abs=1e-12)
