import math

import pytest
import scipy.stats

from core.calibration.calibrate import CalibrationPoint
from core.calibration.curve import omega
from core.calibration.top_systems import PAPER, WHOLE, by_top, ranking
from core.data import OutputKey
from core.refine.result import weighted
from tests.core.calibration.test_learning import points


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
        assert top.agreement is not None
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
