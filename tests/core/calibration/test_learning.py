import math

import numpy as np
import pytest
import scipy.stats

from core.calibration.calibrate import CalibrationPoint, calibrate, in_order
from core.calibration.curve import omega
from core.calibration.learning import FEWEST_OUTPUTS, PAPER, WHOLE, around, by_top, fitted, learn, parts, ranking
from core.data import OutputKey
from core.refine.result import weighted
from core.stats.correlation.correlation import group_ids


def points(n_segments: int, n_systems: int = 3, seed: int = 0) -> list[CalibrationPoint]:
    """People follow λ = 2 with noise."""
    rng = np.random.default_rng(seed)
    found = []
    for segment in range(n_segments):
        for system in range(n_systems):
            e, i = rng.random(2)
            human = -(2 * e + i) / 3 + 0.15 * rng.standard_normal()
            found.append(CalibrationPoint(OutputKey(f"s{system}", f"d{segment % 5}", str(segment)), e, i, human))
    return found


def test_parts_are_nested_sets_of_whole_segments() -> None:
    of_segment = np.repeat(np.arange(10), 3)
    drawn = parts(of_segment, (0.2, 0.5, 1.0), 4, seed=3)
    # 2, 5 and 10 of the ten segments with three outputs each; all of them only once
    assert [(share, len(taken), {len(rows) for rows in taken}) for share, taken in drawn] == [
        (0.2, 4, {6}),
        (0.5, 4, {15}),
        (1.0, 1, {30}),
    ]
    for small, large in zip(drawn[0][1], drawn[1][1], strict=True):
        assert set(small) <= set(large)
        assert all(np.sum(of_segment[small] == s) == 3 for s in set(of_segment[small]))
    assert len({tuple(rows) for rows in drawn[0][1]}) > 1


def test_a_step_is_the_mean_of_the_fits_on_its_parts() -> None:
    data = in_order(points(25))
    learned = learn(data, repeats=2, draws=10, seed=5)
    of_segment = group_ids([p.key.segment for p in data])
    for step, (_, taken) in zip(learned.steps, parts(of_segment, (0.2, 0.4, 0.6, 0.8, 1.0), 2, 5), strict=True):
        fits = [calibrate([data[i] for i in rows], draws=10, seed=5) for rows in taken]
        widths = [omega(f.ci[1]) - omega(f.ci[0]) for f in fits if f.ci]
        held = [f.cross_validated.value for f in fits if f.cross_validated.value is not None]
        assert step.width == pytest.approx((np.mean(widths), min(widths), max(widths)))
        assert step.agreement == pytest.approx((np.mean(held), min(held), max(held)))
    assert [s.n for s in learned.steps] == [15, 30, 45, 60, 75]
    assert [s.n_segments for s in learned.steps] == [5, 10, 15, 20, 25]
    assert learn(data, repeats=2, draws=10, seed=5) == learned


def test_widths_that_follow_the_law_are_carried_on_exactly() -> None:
    law, reason = fitted([(n, 0.05 + 2 / math.sqrt(n)) for n in (25, 50, 75, 100)])
    assert reason == ""
    assert (law.a, law.b) == pytest.approx((0.05, 2.0))
    assert law.width(400) == pytest.approx(0.05 + 2 / 20)
    assert law.width(1) == 1.0


def test_the_law_never_falls_below_zero() -> None:
    # least squares through (1/√n, w) = (.2, .3), (.1, .1), (.05, .01) has a negative intercept, so the line goes
    # through 0: b = Σxw/Σx² = (.06 + .01 + .0005)/(.04 + .01 + .0025) = .0705/.0525
    law, _ = fitted([(25, 0.3), (100, 0.1), (400, 0.01)])
    assert law.a == 0
    assert law.b == pytest.approx(0.0705 / 0.0525)


@pytest.mark.parametrize(
    ("widths", "why"),
    [
        ([(50.0, 0.5), (100.0, 0.4)], "needs three"),
        ([(10.0, 0.6), (15.0, 0.5), (20.0, 0.4)], "30 labelled outputs"),
        ([(25.0, 0.2), (50.0, 0.3), (100.0, 0.4)], "does not narrow"),
        ([(25.0, 0.0), (50.0, 0.0), (100.0, 0.0)], "does not narrow"),
    ],
)
def test_where_there_is_no_forecast_there_is_a_reason(widths: list[tuple[float, float]], why: str) -> None:
    law, reason = fitted(widths)
    assert law is None
    assert why in reason


def test_few_outputs_have_no_curve_but_reasons() -> None:
    learned = learn(points(3), repeats=2, draws=10)  # nine outputs
    assert all(s.agreement is None and s.width is None for s in learned.steps)
    assert all(f"fewer than {FEWEST_OUTPUTS}" in s.reason for s in learned.steps)
    assert learned.forecasts == ()
    assert learned.reason


def test_equal_human_scores_are_told_and_do_not_raise() -> None:
    learned = learn([p._replace(human=1.0) for p in points(20)], repeats=2, draws=10)
    assert "the same human score" in learned.steps[-1].reason
    assert not learned.forecasts
    assert all(s.n == 0 for s in learn([]).steps)


def test_the_forecast_is_for_half_as_many_more_and_twice_as_many() -> None:
    learned = learn(points(30), repeats=2, draws=20)
    assert [(f.times, f.n) for f in learned.forecasts] == [(1.5, 135), (2.0, 180)]
    for f in learned.forecasts:
        assert f.width == pytest.approx(learned.law.a + learned.law.b / math.sqrt(f.n))
        assert omega(f.around[1]) - omega(f.around[0]) == pytest.approx(f.width)
    assert learned.signature == "learning|measure:kendall|group:pooled|seed:0|repeats:2|draws:20|v:1"


def test_an_interval_around_a_lambda_stays_on_the_scale() -> None:
    # λ = 1 is ω = .5; .4 wide: ω from .3 to .7, λ from 3/7 to 7/3
    assert around(1.0, 0.4) == pytest.approx((3 / 7, 7 / 3))
    assert around(0.0, 0.5) == pytest.approx((0.0, 1.0))
    assert around(math.inf, 0.5) == (pytest.approx(1.0), math.inf)


def test_systems_are_ranked_by_their_mean_over_their_own_outputs() -> None:
    human = {"B": [1.0, 2.0, 3.0], "A": [2.0, 2.0], "C": [5.0]}
    data = [
        CalibrationPoint(OutputKey(s, "d", str(k)), 0.1, 0.2, value)
        for s, values in human.items()
        for k, value in enumerate(values)
    ]
    assert ranking(data) == [("C", 5.0, 1), ("A", 2.0, 2), ("B", 2.0, 3)]


def test_each_cell_is_the_correlation_of_the_k_best_systems() -> None:
    data = points(6, n_systems=5, seed=2)
    order = [s.system for s in ranking(data)]
    tops = by_top(data, draws=10)
    assert [t.k for t in tops] == [3, 4, 5]
    for top in tops:
        part = [p for p in data if p.key.system in order[: top.k]]
        assert (top.last, top.n) == (order[top.k - 1], 6 * top.k)
        for grid in (WHOLE, PAPER):
            for lam, value in top.row(grid):
                scores = [weighted(p.dist_exp, p.dist_imp, lam) for p in part]
                assert value == pytest.approx(scipy.stats.kendalltau(scores, [p.human for p in part])[0])
        assert top.agreement >= max(c.agreement or -1 for c in top.cells) - 1e-9


def test_the_grids_are_the_whole_scale_and_the_papers() -> None:
    assert [omega(lam) for lam in WHOLE] == pytest.approx([k / 40 for k in range(41)])
    assert WHOLE[-1] == math.inf
    assert (PAPER[0], PAPER[-1], len(PAPER)) == (0.5, 1.7, 13)


def test_two_systems_have_no_best_three() -> None:
    assert by_top(points(5, n_systems=2)) == []


def test_an_undefined_k_has_a_reason_and_the_others_stay() -> None:
    # the three best systems have 0 throughout, the fourth does not
    data = [
        p._replace(human=-1.0 - int(p.key.segment_id) if p.key.system == "s3" else 0.0) for p in points(5, n_systems=4)
    ]
    three, four = by_top(data, draws=10)
    assert three.lam is None
    assert "the same human score" in three.reason
    assert four.lam is not None
