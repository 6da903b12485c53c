import math
import time
from typing import Any

import numpy as np
import pytest

from core.calibration.breakpoints import find_breakpoints, on_grid
from core.calibration.curve import Plateau, StepCurve, from_omega, middle, omega
from core.calibration.lambda_search import curve_of, search
from core.errors import UserError
from core.refine.result import weighted
from core.stats.correlation.correlation import GROUPS, MEASURES, agreement
from tests.core.calibration import brute

RANKS = ("kendall", "spearman")
"""Swept at every level; acc_eq (ε = 0) of systems' means only, else it is scanned: `test_tie_scan`."""
SWEPT = [*((m, g) for m in RANKS for g in GROUPS), ("acc_eq", "system")]
OF_SYSTEMS: Any = {"measure": "acc_eq", "group": "system", "systems": [0, 1, 2]}


def problem(seed: int) -> tuple[Any, Any, Any, list[int], list[int]]:
    """A random problem with ties in human scores and distances, equal outputs and negative implicit distances."""
    rng = np.random.default_rng(seed)
    n, of = int(rng.integers(5, 20)), int(rng.integers(2, 5))
    if seed % 2:
        exp, imp = np.round(rng.exponential(0.3, n) * (rng.random(n) > 0.3), 2), np.round(rng.normal(0.4, 0.4, n), 2)
        human = -rng.integers(0, 5, n).astype(float)
    else:
        exp, imp, human = (rng.integers(low, 4, n).astype(float) for low in (0, -2, 1))
    if seed % 3 == 0:
        exp[:2], imp[:2] = exp[2], imp[2]
    return exp, imp, human, [k // of for k in range(n)], [k % of for k in range(n)]


@pytest.mark.parametrize(("measure", "group"), SWEPT)
def test_the_sweep_equals_brute_force_over_all_breakpoints(measure: Any, group: Any) -> None:
    for seed in range(6):  # every combination of the kinds of problems
        exp, imp, human, segments, systems = problem(seed)
        breaks, cells = brute.curve(measure, group, exp, imp, human, segments, systems)
        curve = curve_of(exp, imp, human, measure=measure, group=group, segments=segments, systems=systems)(
            np.ones(len(exp))
        )
        assert isinstance(curve, StepCurve)
        assert curve.breaks == pytest.approx(breaks, rel=1e-9)
        assert curve.cells() == pytest.approx(cells, abs=1e-9, nan_ok=True)
        best = curve.best()
        if best is None:
            assert np.isnan(cells).all()
            continue
        stretches = np.concatenate((cells[1::2], cells[[0, -1]]))
        assert best.agreement == pytest.approx(np.nanmax(stretches), abs=1e-9)
        assert (best.peak or best).agreement == pytest.approx(np.nanmax(cells), abs=1e-9)
        assert curve.value(best.lam) == pytest.approx(best.agreement, abs=1e-9)


@pytest.mark.parametrize(("measure", "group"), [*SWEPT, *(("pearson", g) for g in GROUPS)])
def test_scores_at_the_chosen_lambda_have_the_reported_agreement(measure: Any, group: Any) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = 40
        exp, imp = np.maximum(0, rng.normal(0.1, 0.4, n)), rng.normal(0.4, 0.4, n)
        human, segments, systems = -np.round(3 * exp + imp + rng.normal(size=n)), np.arange(n) // 5, np.arange(n) % 5
        where: Any = {"group": group, "segments": segments, "systems": systems}
        curve, best = search(exp, imp, human, measure=measure, **where)
        for lam in (best.lam, 0.0, 1.0, 4.9, math.inf):
            scores = [weighted(e, i, lam) for e, i in zip(exp, imp, strict=True)]
            assert curve.value(lam) == pytest.approx(agreement(measure, scores, human, **where).value, abs=1e-9)


@pytest.mark.parametrize(
    ("measure", "group"), [(m, g) for m in MEASURES for g in ("pooled", "system") if (m, g) != ("acc_eq", "pooled")]
)
def test_weights_are_copies_of_outputs(measure: Any, group: Any) -> None:
    for seed in range(6):
        exp, imp, human, segments, systems = problem(seed)
        w = np.random.default_rng(seed).integers(0, 3, len(exp))
        rows = np.repeat(np.arange(len(exp)), w)
        one = curve_of(exp, imp, human, measure=measure, group=group, systems=systems)(w.astype(float))
        other = curve_of(
            exp[rows], imp[rows], human[rows], measure=measure, group=group, systems=[systems[k] for k in rows]
        )
        for lam in (0, 0.3, 0.5, 1, 2, 7.5, math.inf):
            assert one.value(lam) == pytest.approx(other(np.ones(len(rows))).value(lam), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("group", GROUPS)
def test_pearson_is_nowhere_higher_on_a_fine_grid(group: Any) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        exp, imp, human = rng.exponential(size=60), rng.normal(size=60), rng.normal(size=60)
        curve, best = search(
            exp, imp, human, measure="pearson", group=group, segments=np.arange(60) // 6, systems=np.arange(60) % 6
        )
        grid = [curve.value(from_omega(w)) for w in np.linspace(0, 1, 1001)]
        assert best.agreement >= max(v for v in grid if v is not None) - 1e-7
        assert best.plateau.low == best.plateau.high == best.lam


def test_a_plateau_with_the_arithmetic_written_out() -> None:
    # outputs (exp, imp): a (0, 2), b (1, 0), c (2, 1). Δ(a,b) = (−1, 2): λ* = 2; Δ(a,c) = (−2, 1): λ* = 1/2; b before c always.
    # People: b > a > c. Below 1/2: b, c, a: C = 2 (ba, bc), D = 1: τ = 1/3; to 2: b, a, c: τ = 1; above: a, b, c: 1/3.
    curve, best = search([0, 1, 2], [2, 0, 1], [2, 3, 1])
    assert isinstance(curve, StepCurve)
    assert list(curve.breaks) == [0.5, 2]
    assert curve.between == pytest.approx([1 / 3, 1, 1 / 3])
    # on 1/2: a and c tie: C = 2, D = 0, T_m = 1: 2 / √(2·3)
    assert curve.value(0.5) == pytest.approx(2 / math.sqrt(6))
    assert best.plateau == Plateau(0.5, 2, False, False)
    assert best.agreement == 1
    # ω: 1/3 and 2/3, their middle is 1/2: λ = 1
    assert best.lam == pytest.approx(1)


def test_infinity_and_zero_can_be_chosen() -> None:
    # explicit distances order as people do, implicit ones the other way round: breakpoint 1, plateau (1, ∞]
    _, best = search([0, 1], [1, 0], [2, 1])
    assert best.plateau == Plateau(1, math.inf, False, True)
    assert 1 < best.lam < math.inf
    _, best = search([0, 1], [1, 0], [1, 2])
    assert best.plateau == Plateau(0, 1, True, False)
    # people tie, and only at ∞ do the scores tie too
    _, best = search([1, 1, 0], [0, 1, -5], [1, 1, 2], **OF_SYSTEMS)
    assert best.plateau == Plateau(math.inf, math.inf, True, True)
    assert best.lam == math.inf
    assert best.agreement == 1


def test_a_tie_at_a_single_lambda_is_reported_but_not_chosen() -> None:
    # a and b tie for people and at λ = 1 only; c is worst for both
    curve, best = search([0, 1, 9], [1, 0, 9], [2, 2, 1], **OF_SYSTEMS)
    assert best.peak == (1, 1)
    assert best.agreement == pytest.approx(2 / 3)
    assert curve.value(best.lam) == pytest.approx(2 / 3)


def test_constant_agreement_is_one_plateau_from_0_to_infinity() -> None:
    _, best = search([1, 2, 3], [1, 2, 3], [3, 2, 1])
    assert best.plateau == Plateau(0, math.inf, True, True)
    assert best.lam == 1


@pytest.mark.parametrize(
    ("exp", "imp", "human", "why"),
    [
        ([0, 1], [1, 0], [3, 3], "the same human score"),
        ([1, 1], [2, 2], [3, 4], "the same distances"),
        ([1], [2], [3], "at least two"),
        ([], [], [], "at least two"),
    ],
)
@pytest.mark.parametrize("measure", ["kendall", "spearman", "pearson"])
def test_what_cannot_be_calibrated_says_why(
    exp: list[float], imp: list[float], human: list[float], why: str, measure: Any
) -> None:
    with pytest.raises(UserError, match=why):
        search(exp, imp, human, measure=measure)


def test_decimals_tie_as_written_and_not_as_doubles() -> None:
    # 0.1 + 0.2 against 0.3: as doubles they differ by 5e-17
    curve, _ = search([0.1 + 0.2, 0.3, 1], [1, 1, 0], [1, 1, 2], **OF_SYSTEMS)
    assert isinstance(curve, StepCurve)
    assert len(curve.breaks) == 1


def test_many_pairs_are_swept_in_about_a_second() -> None:
    rng = np.random.default_rng(0)
    exp, imp, human = rng.exponential(size=1000), rng.normal(size=1000), np.round(rng.normal(size=1000), 1)
    start = time.process_time()
    curve, best = search(exp, imp, human)
    assert time.process_time() - start < 10  # 0.1 s on two idle cores
    points = curve.points(200)
    assert len(points) < 700
    assert max(p.agreement for p in points if p.agreement is not None) == best.agreement
    assert [p.lam for p in points] == sorted(p.lam for p in points)


def test_pairs_are_read_in_portions_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    exp, imp = on_grid(rng.exponential(size=60), rng.normal(size=60))
    whole = find_breakpoints(exp, imp, [np.arange(60)])
    monkeypatch.setattr("core.calibration.breakpoints.PAIRS_AT_ONCE", 300)
    portions = find_breakpoints(exp, imp, [np.arange(60)])
    assert np.array_equal(whole.breaks, portions.breaks)
    assert np.array_equal(whole.left * 60 + whole.right, portions.left * 60 + portions.right)


def test_too_many_pairs_are_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.calibration.breakpoints.MOST_PAIRS", 2)
    with pytest.raises(UserError, match="by segment or by system"):
        search([0, 1, 2], [2, 0, 1], [2, 3, 1])


def test_omega_and_back() -> None:
    assert [omega(x) for x in (0, 1, math.inf)] == [0, 0.5, 1]
    assert from_omega(1) == math.inf
    assert middle(Plateau(1e200, math.inf, False, True)) == 2e200
    assert 1e17 < middle(Plateau(1e17, 1.5e17, False, False)) < 1.5e17


def test_equal_system_means_tie_in_any_order_of_addition() -> None:
    values, rng = [0.1, 0.2, 0.3, 5.1, 7.7, 1e-3], np.random.default_rng(3)
    exp = np.concatenate([rng.permutation(values) for _ in range(20)] + [np.full(6, 9.0)])
    human, systems = np.concatenate([np.ones(120), np.zeros(6)]), np.repeat(np.arange(21), 6).tolist()
    for measure in ("kendall", "acc_eq"):
        curve = curve_of(exp, exp / 3, human, measure=measure, group="system", systems=systems)(np.ones(126))  # type: ignore[arg-type]
        assert [curve.value(lam) for lam in (0, 1, math.inf)] == pytest.approx([1, 1, 1])


def test_pairwise_accuracy_of_equal_systems_is_undefined() -> None:
    equal, differing, systems = [1.0, 1.0, 1.0], [1.0, 2.0, 3.0], ["a", "b", "c"]
    for exp, imp, human, undefined in (
        (equal, differing, differing, (math.inf,)),
        (differing, equal, differing, (0.0,)),
        (equal, equal, differing, (0.0, 1.0, math.inf)),
        (differing, differing, equal, (0.0, 1.0, math.inf)),
    ):
        curve = curve_of(exp, imp, human, measure="acc_eq", group="system", systems=systems)(np.ones(3))
        assert [lam for lam in (0.0, 1.0, math.inf) if curve.value(lam) is None] == list(undefined)


def test_an_optimum_narrower_than_the_noise_is_not_chosen() -> None:
    def best(breaks: list[float], between: list[float], zero: float = 0.0, inf: float = 0.0) -> tuple[Plateau, float]:
        at = np.minimum(between[:-1], between[1:])
        found = StepCurve(np.array(breaks), np.array(between), at, zero, inf).best()
        return found.plateau, found.agreement

    narrow, wide = 1.0 + 1e-7, 1.0 + 1e-5
    assert best([1.0, narrow, 3.0, 4.0], [0.1, 0.9, 0.2, 0.5, 0.1]) == (Plateau(3.0, 4.0, False, False), 0.5)
    assert best([1.0, wide, 3.0, 4.0], [0.1, 0.9, 0.2, 0.5, 0.1]) == (Plateau(1.0, wide, False, False), 0.9)
    # inside a wide plateau, as many narrow steps, and at the ends
    assert best([0.5, 1.0, narrow, 3.0], [0.1, 0.5, 0.9, 0.5, 0.1]) == (Plateau(0.5, 3.0, False, False), 0.5)
    steps = [1.0 + k * 1e-6 for k in range(11)]
    assert best(steps, [0.1, *[0.9, 0.8] * 5, 0.1]) == (Plateau(1.0, steps[-1], False, False), 0.8)
    assert best([1e-9, 2.0], [0.9, 0.3, 0.1], zero=0.2) == (Plateau(0.0, 2.0, False, False), 0.3)
    assert best([1e-9, 2.0], [0.9, 0.3, 0.1], zero=0.9) == (Plateau(0.0, 0.0, True, True), 0.9)
    assert best([1e-9], [0.9, 0.1], inf=0.4) == (Plateau(math.inf, math.inf, True, True), 0.4)
