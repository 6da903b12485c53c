import json
import math
from typing import Any

import numpy as np
import pytest

from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate
from core.calibration.presets import PRESETS
from core.data import OutputKey
from core.errors import UserError
from core.refine.result import weighted


def points(
    n_docs: int = 6, seed: int = 0, *, lam: float = 2.0, noise: float = 0.05, raters: int | None = 2
) -> list[CalibrationPoint]:
    """Human scores that are BARTScore++ at `lam` with some noise, five systems on four segments a document."""
    rng = np.random.default_rng(seed)
    found = []
    for doc in range(n_docs):
        for segment in range(4):
            for system in "ABCDE":
                exp, imp = max(0.0, rng.normal(0.2, 0.4)), rng.normal(0.5, 0.4)
                human = weighted(exp, imp, lam) + rng.normal(0, noise)
                key = OutputKey(system, f"d{doc}", f"{segment}")
                found.append(CalibrationPoint(key, exp, imp, human, -3 - exp - imp, raters))
    return found


@pytest.fixture(scope="module")
def fitted() -> Calibration:
    return calibrate(points(), draws=60, presets=PRESETS)


def test_the_lambda_that_made_the_scores_is_found_again(fitted: Calibration) -> None:
    assert fitted.lam == pytest.approx(2, rel=0.2)
    assert fitted.ci[0] <= 2 <= fitted.ci[1]
    assert fitted.plateau.low <= fitted.lam <= fitted.plateau.high
    assert (fitted.n, fitted.n_segments, fitted.n_systems, fitted.raters) == (120, 24, 5, 2)
    assert not fitted.notes


def test_the_optimum_is_at_least_what_any_other_lambda_reaches(fitted: Calibration) -> None:
    others = [v for v in fitted.at.values() if v is not None] + [v for _, v in fitted.presets.values() if v is not None]
    assert len(others) == 4 + len(PRESETS)
    assert fitted.agreement >= max(others)
    assert fitted.at["vanilla"] == pytest.approx(fitted.at["1"])  # here score_hyp is −(exp + imp) but for a constant


def test_the_cross_validated_agreement_leaves_documents_out(fitted: Calibration) -> None:
    found = fitted.cross_validated
    assert (found.over, found.folds, len(found.lambdas)) == ("documents", 5, 5)
    assert 0.5 < found.value < 1


def test_segments_are_left_out_where_documents_are_few() -> None:
    assert calibrate(points(3), draws=0).cross_validated.over == "segments"


def test_one_segment_has_no_interval_and_no_cross_validation() -> None:
    fit = calibrate(points(1)[:5], draws=20)
    assert (fit.ci, fit.agreement_ci, fit.ribbon) == (None, None, ())
    assert fit.cross_validated.value is None
    assert fit.cross_validated.reason == "there is only one segment"
    assert any("at least two segments" in note for note in fit.notes)


def test_the_report_depends_on_the_seed_only() -> None:
    one, same, other = (calibrate(points(2), seed=s, draws=30).to_json() for s in (1, 1, 2))
    assert one == same
    assert one["ci"] != other["ci"] or one["cross_validated"] != other["cross_validated"]
    assert one["signature"] == "lambda|measure:kendall|group:pooled|seed:1|draws:30|v:1"


def test_what_the_guidance_asks_for_and_is_missing_is_told() -> None:
    notes = calibrate(points(2, raters=1), draws=0).notes
    assert notes[0] == "40 of 100 recommended outputs have both scores; 60 are missing."
    small = calibrate(points(2, raters=1), draws=0, available=44)
    assert small.notes[0] == "40 of the 44 outputs of this project have both scores; 4 are missing."
    assert small.notes[1] == "The project has 44 outputs; 100 or more are recommended for a fit."
    assert small.notes[2:] == notes[1:]
    cv = small.cross_validated
    assert cv.too_small(40).startswith(f"not shown for fewer than {10 * cv.folds} outputs: 40 in {cv.folds} folds")
    assert cv.too_small(10 * cv.folds) == ""
    assert notes[1] == "40 of 40 outputs have fewer than 2 raters; 2 or 3 are recommended."
    assert calibrate(points(2, raters=None), draws=0).raters is None


def test_the_ribbon_holds_the_curve(fitted: Calibration) -> None:
    assert [b.lam for b in fitted.ribbon][:1] == [0]
    assert fitted.ribbon[-1].lam == math.inf
    at_one = next(b for b in fitted.ribbon if b.lam == 1)
    assert at_one.low < fitted.at["1"] < at_one.high


@pytest.mark.parametrize("group", ["pooled", "segment", "system"])
@pytest.mark.parametrize("measure", ["kendall", "acc_eq", "spearman", "pearson"])
def test_every_measure_and_grouping_gives_a_whole_report(measure: Any, group: Any) -> None:
    report = calibrate(points(4), measure=measure, group=group, draws=20).to_json()
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert report["ci"] is not None
    assert report["cross_validated"] is not None
    assert set(report["agreement_at"]) == {"0", "1", "inf", "vanilla"}


def test_infinity_is_written_as_a_word() -> None:
    # people look at explicit errors only, and tie where these tie
    data = [
        CalibrationPoint(OutputKey(s, f"d{k}", "1"), float(e), float(i), -float(e))
        for k in range(4)
        for s, e, i in [("A", 0, 2), ("B", 0, 5), ("C", 1, -9)]
    ]
    report = calibrate(data, draws=10).to_json()
    assert report["lambda"] == "inf"
    assert report["plateau"] == ["inf", "inf"]
    assert report["agreement"] == pytest.approx(1)
    assert report["agreement_at"]["vanilla"] is None


def test_human_scores_that_are_all_equal_cannot_be_calibrated_on() -> None:
    with pytest.raises(UserError, match="the same human score"):
        calibrate([p._replace(human=0.0) for p in points(2)])
    with pytest.raises(UserError, match="at least two"):
        calibrate([])


def test_distances_closer_than_their_noise_decide_nothing() -> None:
    """Equal implicit distances with noise of 1e-8 would order the outputs as people do."""
    rng, noisy, exact = np.random.default_rng(1), [], []
    for k in range(60):
        exp, imp, human = float(rng.exponential()), float(k % 3), float(rng.normal())
        key = OutputKey("AB"[k % 2], f"d{k // 6}", str(k // 2))
        exact.append(CalibrationPoint(key, exp, imp, human))
        noisy.append(CalibrationPoint(key, exp, imp - 1e-8 * human, human))
    for measure in ("kendall", "spearman"):
        for group in ("pooled", "system"):
            found, expected = (calibrate(p, measure=measure, group=group, draws=0) for p in (noisy, exact))
            assert (found.lam, found.agreement) == pytest.approx((expected.lam, expected.agreement), abs=1e-6)
            assert found.at == pytest.approx(expected.at)
            assert found.cross_validated.lambdas == pytest.approx(expected.cross_validated.lambdas)


def test_the_order_of_the_outputs_changes_nothing_in_the_report() -> None:
    given = points()
    for measure in ("kendall", "acc_eq"):
        one, other = (calibrate(p, measure=measure, draws=5).to_json() for p in (given, given[::-1]))
        assert one == other
