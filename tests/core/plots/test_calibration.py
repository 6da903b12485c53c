"""Charts of calibration: the curve of λ, learning curves, λ by annotator, and the K best systems."""

import math
from dataclasses import replace

import pytest

from core.calibration.calibrate import CalibrationPoint, calibrate
from core.calibration.curve import CurvePoint, Plateau
from core.calibration.learning import PAPER, WHOLE, Forecast, Law, Learning, LearningStep, Spread, Top
from core.calibration.resampling import Band
from core.data import OutputKey
from core.plots import calibration
from core.plots.calibration import AgreementAtK, NamedLambda, calibration_chart, plateau_text
from tests.core.plots.drawn import assert_readable_in_both_themes, layers, rows

POINTS = [CalibrationPoint(OutputKey("s", "d", str(k)), k, 4 - k, k * k % 5) for k in range(5)]
FITTED = replace(
    calibrate(POINTS, draws=0), plateau=Plateau(1, 3, True, False), lam=1.7, agreement=0.4, ribbon=(), presets={},
    curve=(CurvePoint(0, 0.1), CurvePoint(1, 0.4), CurvePoint(3, None), CurvePoint(math.inf, 0.2)),
)  # fmt: skip
FIRST_STEP = LearningStep(0.5, 50, 10, 5, Spread(0.3, 0.2, 0.4), Spread(0.5, 0.4, 0.6))
STEPS = (FIRST_STEP, LearningStep(1.0, 100, 20, 1, None, None, "why not"))
LEARNING = Learning(STEPS, Law(0.1, 2.0), (Forecast(2.0, 400, 0.2, (1.0, math.inf)),), "", "learning|v:1")
GRID = tuple(dict.fromkeys((*WHOLE, *PAPER)))
TOPS = [
    Top(3, "C", 30, 1.0, 0.4, None, (0.25, 3.0), (CurvePoint(0, 0.1), CurvePoint(1, 0.4), CurvePoint(math.inf, None)),
        tuple(CurvePoint(lam, 0.3 if lam < 1 else 0.4) for lam in GRID)),
    Top(4, "D", 40, reason="the same human score for every output"),
    Top(5, "E", 50, 3.0, 0.2, None, None, (CurvePoint(0, 0.2),), tuple(CurvePoint(lam, None) for lam in GRID)),
]  # fmt: skip


def test_the_curve_has_steps_plateau_ribbon_vanilla_and_presets() -> None:
    presets = {"WMT20 zh-en": (1.1, None), "SFRES": (1.1, None)}
    chart = calibration_chart(
        replace(FITTED, ribbon=(Band(0, 0, 0.2),), at={"vanilla": 0.3}, presets=presets)
    ).to_dict()
    (line,) = layers(chart, "line")
    assert (line["mark"]["interpolate"], line["encoding"]["x"]["scale"]["domain"]) == ("step-after", [0, 1])
    assert rows(chart, "line") == [[
        {"omega": 0.0, "agreement": 0.1, "lambda": "0"},
        {"omega": 0.5, "agreement": 0.4, "lambda": "1"},
        {"omega": 1.0, "agreement": 0.2, "lambda": "∞"},
    ]]  # fmt: skip
    assert rows(chart, "rect") == [[{"from": 0.5, "to": 0.75, "text": "[1, 3)", "agreement": 0.4}]]
    assert rows(chart, "area") == [[{"omega": 0, "low": 0, "high": 0.2}]]
    names = [row["name"] for of_layer in rows(chart, "rule") for row in of_layer]
    assert names == ["BARTScore", "λ = 1", *2 * ["WMT20 zh-en, SFRES"]]
    assert rows(chart, "point")[0][0]["lambda"] == "1.7"
    assert not layers(calibration_chart(FITTED).to_dict(), "area")


@pytest.mark.parametrize(
    ("plateau", "text"),
    [
        (Plateau(1.23456, math.inf, False, True), "(1.23, ∞]"),
        (Plateau(0, 0, True, True), "0"),
        (Plateau(0, 2, True, False), "[0, 2)"),
        (Plateau(1.97312, 1.97345, False, False), "(1.9731, 1.9734)"),
    ],
)
def test_a_plateau_has_enough_digits_to_distinguish_its_ends(plateau: Plateau, text: str) -> None:
    assert plateau_text(plateau) == text


def test_the_learning_curve_has_means_extremes_law_and_forecast() -> None:
    chart = calibration.width_by_labels(LEARNING).to_dict()
    measured, law = rows(chart, "line")
    assert measured == [{"n": 50, "mean": 0.5, "low": 0.4, "high": 0.6}]
    assert (law[0]["n"], law[-1]["n"]) == (50, 400)
    assert [law[0]["mean"], law[-1]["mean"]] == pytest.approx([0.1 + 2 / math.sqrt(50), 0.2])
    assert rows(chart, "point") == [[{"n": 400, "mean": 0.2, "times": "2×", "around": "1–∞"}]]
    agreement = calibration.agreement_by_labels(LEARNING, "kendall").to_dict()
    assert rows(agreement, "line") == [[{"n": 50, "mean": 0.3, "low": 0.2, "high": 0.4}]]
    without = calibration.width_by_labels(Learning(STEPS, None, (), "too few", "s")).to_dict()
    assert (len(layers(without, "line")), layers(without, "point")) == (1, [])


def test_estimates_use_the_omega_scale_and_highlight_the_first() -> None:
    named = [NamedLambda("all", 1.0, (0.0, math.inf), ".4"), NamedLambda("Ann", 3.0, None)]
    chart = calibration.estimates(named).to_dict()
    ((first, second),) = rows(chart, "point")
    assert (first["omega"], first["low"], first["high"], first["interval"]) == (0.5, 0, 1, "[0, ∞]")
    assert (second["omega"], second["low"], second["high"], second["interval"]) == (0.75, 0.75, 0.75, "none")
    assert rows(chart, "rect") == [[first]]


def test_each_defined_k_has_a_line_and_its_optimum() -> None:
    chart = calibration.curves_at_top(TOPS, "kendall").to_dict()
    assert [(r["k"], r["omega"]) for r in rows(chart, "line")[0]] == [("3", 0.0), ("3", 0.5), ("5", 0.0)]
    best = [(r["k"], r["lambda"], r["agreement"]) for r in rows(chart, "point")[0]]
    assert best == [("3", "1", 0.4), ("5", "3", 0.2)]


def test_the_heatmap_tiles_the_grid_and_marks_optima_and_cis() -> None:
    for grid, n, marked in ((WHOLE, 41, [("3", 0.5), ("5", 0.75)]), (PAPER, 13, [("3", 0.5)])):
        chart = calibration.heatmap(TOPS, grid, "kendall").to_dict()
        (cells,), (marks,), ((span,),) = (rows(chart, mark) for mark in ("rect", "point", "rule"))
        assert len(cells) == n  # the second K is undefined, and so are the cells of the third
        assert [c["to"] for c in cells[:-1]] == [c["from"] for c in cells[1:]]
        low, high = layers(chart, "rect")[0]["encoding"]["x"]["scale"]["domain"]
        assert (cells[0]["from"], cells[-1]["to"]) == (low, high)
        assert {c["agreement"] for c in cells} == {0.3, 0.4}
        assert [(m["k"], m["omega"]) for m in marks] == marked
        # the CI from 0.25 to 3, that is ω from .2 to .75, is cut at the ends of the axis
        assert (span["k"], span["from"], span["to"]) == ("3", max(low, 0.2), min(high, 0.75))
    (cells,) = rows(calibration.heatmap(TOPS, PAPER, "kendall", loss=True).to_dict(), "rect")
    assert {round(c["value"], 6) for c in cells} == {-0.1, 0.0}


def test_metrics_are_ordered_by_agreement_and_told_apart() -> None:
    of_k = [AgreementAtK("a", 3, 0.5), AgreementAtK("a", 4, 0.1), AgreementAtK("b", 3, 0.2), AgreementAtK("b", 4, 0.3)]
    chart = calibration.metrics_at_top([*of_k, AgreementAtK("length", 4, 0.4, True)], "kendall").to_dict()
    sentinels, metrics = rows(chart, "line")
    assert sentinels == [{"label": "length", "k": "4", "agreement": 0.4}]
    assert len(metrics) == 4
    assert layers(chart, "line")[1]["encoding"]["color"]["scale"]["domain"] == ["b", "a"]
    many = [AgreementAtK(f"m{k}", 3, k / 100) for k in range(24)]
    encoding = layers(calibration.metrics_at_top(many, "kendall").to_dict(), "line")[0]["encoding"]
    looks = zip(encoding["color"]["scale"]["range"], map(tuple, encoding["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(looks)) == 24


def test_no_colour_is_lost_on_a_light_or_a_dark_page() -> None:
    for chart in (
        calibration_chart(replace(FITTED, at={"vanilla": 0.1}, presets={"a": (2, None)})), calibration.width_by_labels(LEARNING),
        calibration.estimates([NamedLambda("all", 1, None)]), calibration.curves_at_top(TOPS, "kendall"),
        calibration.metrics_at_top([AgreementAtK(f"m{k}", 3, 0.1) for k in range(12)], "kendall"),
    ):  # fmt: skip
        assert_readable_in_both_themes(chart.to_dict())
