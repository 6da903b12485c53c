import json
import math
import re
from typing import Any

import pytest

from core.calibration.curve import CurvePoint
from core.calibration.learning import PAPER, WHOLE, Forecast, Law, Learning, LearningStep, Spread, Top
from core.plots import calibration
from core.plots.calibration import AgreementAtK, NamedLambda

LEARNING = Learning(
    (
        LearningStep(0.5, 50, 10, 5, Spread(0.3, 0.2, 0.4), Spread(0.5, 0.4, 0.6)),
        LearningStep(1.0, 100, 20, 1, None, None, "why not"),
    ),
    Law(0.1, 2.0),
    (Forecast(2.0, 400, 0.2, (1.0, math.inf)),),
    "",
    "learning|v:1",
)
TOPS = [
    Top(3, "C", 30, 1.0, 0.4, None, (0.25, 3.0), (CurvePoint(0, 0.1), CurvePoint(1, 0.4), CurvePoint(math.inf, None)),
        tuple(CurvePoint(lam, 0.3 if lam < 1 else 0.4) for lam in dict.fromkeys((*WHOLE, *PAPER)))),
    Top(4, "D", 40, reason="the same human score for every output"),
    Top(5, "E", 50, 3.0, 0.2, None, None, (CurvePoint(0, 0.2),),
        tuple(CurvePoint(lam, None) for lam in dict.fromkeys((*WHOLE, *PAPER)))),
]  # fmt: skip


def values(chart: dict[str, Any], mark: str) -> list[list[dict[str, Any]]]:
    """The rows of each layer of a mark."""
    data = [layer.get("data") or chart["data"] for layer in chart["layer"] if layer["mark"]["type"] == mark]
    return [list(d["values"] if "values" in d else chart["datasets"][d["name"]]) for d in data]


def test_the_learning_curve_has_means_extremes_law_and_forecast() -> None:
    chart = calibration.width_by_labels(LEARNING).to_dict()
    measured, law = values(chart, "line")
    assert measured == [{"n": 50, "mean": 0.5, "low": 0.4, "high": 0.6}]
    assert (law[0]["n"], law[-1]["n"]) == (50, 400)
    assert [law[0]["mean"], law[-1]["mean"]] == pytest.approx([0.1 + 2 / math.sqrt(50), 0.2])
    assert values(chart, "point") == [[{"n": 400, "mean": 0.2, "times": "2×", "around": "1–∞"}]]
    assert values(calibration.agreement_by_labels(LEARNING, "kendall").to_dict(), "line") == [
        [{"n": 50, "mean": 0.3, "low": 0.2, "high": 0.4}]
    ]


def test_a_learning_curve_without_a_forecast_has_none_drawn() -> None:
    chart = calibration.width_by_labels(Learning(LEARNING.steps, None, (), "too few", "s")).to_dict()
    assert len(values(chart, "line")) == 1
    assert not values(chart, "point")


def test_estimates_use_the_omega_scale_and_highlight_the_first() -> None:
    chart = calibration.estimates(
        [NamedLambda("all", 1.0, (0.0, math.inf), ".4"), NamedLambda("Ann", 3.0, None)]
    ).to_dict()
    ((first, second),) = values(chart, "point")
    assert (first["omega"], first["low"], first["high"], first["interval"]) == (0.5, 0, 1, "[0, ∞]")
    assert (second["omega"], second["low"], second["high"], second["interval"]) == (0.75, 0.75, 0.75, "none")
    assert values(chart, "rect") == [[first]]


def test_each_defined_k_has_a_line_and_its_optimum() -> None:
    chart = calibration.curves_at_top(TOPS, "kendall").to_dict()
    assert [(r["k"], r["omega"]) for r in values(chart, "line")[0]] == [("3", 0.0), ("3", 0.5), ("5", 0.0)]
    assert [(r["k"], r["lambda"], r["agreement"]) for r in values(chart, "point")[0]] == [
        ("3", "1", 0.4),
        ("5", "3", 0.2),
    ]


@pytest.mark.parametrize(("grid", "n"), [(WHOLE, 41), (PAPER, 13)])
def test_the_heatmap_tiles_the_grid_without_gaps(grid: tuple[float, ...], n: int) -> None:
    chart = calibration.heatmap(TOPS, grid, "kendall").to_dict()
    (cells,) = values(chart, "rect")
    assert len(cells) == n  # the second K is undefined, and so are the cells of the third
    assert [c["to"] for c in cells[:-1]] == [c["from"] for c in cells[1:]]
    domain = chart["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert (cells[0]["from"], cells[-1]["to"]) == (domain[0], domain[1])
    assert {c["agreement"] for c in cells} == {0.3, 0.4}


def test_the_heatmap_marks_optima_and_cuts_cis_at_its_ends() -> None:
    charts = [calibration.heatmap(TOPS, g, "kendall").to_dict() for g in (WHOLE, PAPER)]
    (whole,), (paper,) = (values(c, "point") for c in charts)
    assert [(m["k"], m["omega"]) for m in whole] == [("3", 0.5), ("5", 0.75)]
    assert [m["k"] for m in paper] == ["3"]
    assert values(charts[0], "rule") == [[{"k": "3", "from": 0.2, "to": 0.75}]]  # the other K has no interval
    ((span,),) = values(charts[1], "rule")
    assert (span["from"], span["to"]) == pytest.approx((0.5 / 1.5, 1.7 / 2.7))


def test_the_loss_is_the_difference_to_the_best_lambda_of_k() -> None:
    (cells,) = values(calibration.heatmap(TOPS, PAPER, "kendall", loss=True).to_dict(), "rect")
    assert {round(c["value"], 6) for c in cells} == {-0.1, 0.0}


def test_the_legend_is_ordered_by_agreement_without_baselines() -> None:
    rows = [
        AgreementAtK("a", 3, 0.5),
        AgreementAtK("a", 4, 0.1),
        AgreementAtK("b", 3, 0.2),
        AgreementAtK("b", 4, 0.3),
        AgreementAtK("length", 4, 0.4, True),
    ]
    chart = calibration.metrics_at_top(rows, "kendall").to_dict()
    sentinels, metrics = values(chart, "line")
    assert sentinels == [{"label": "length", "k": "4", "agreement": 0.4}]
    assert len(metrics) == 4
    assert chart["layer"][1]["encoding"]["color"]["scale"]["domain"] == ["b", "a"]


def test_many_metrics_are_told_apart_by_colour_and_dash() -> None:
    rows = [AgreementAtK(f"m{k}", 3, k / 100) for k in range(24)]
    encoding = calibration.metrics_at_top(rows, "kendall").to_dict()["layer"][0]["encoding"]
    looks = zip(encoding["color"]["scale"]["range"], map(tuple, encoding["strokeDash"]["scale"]["range"]), strict=True)
    assert len(set(looks)) == 24


def test_no_colour_is_lost_on_a_light_or_a_dark_page() -> None:
    charts = [
        calibration.width_by_labels(LEARNING), calibration.estimates([NamedLambda("all", 1, None)]), calibration.curves_at_top(TOPS, "kendall"),
        calibration.metrics_at_top([AgreementAtK(f"m{k}", 3, 0.1) for k in range(12)], "kendall"),
    ]  # fmt: skip
    text = json.dumps([c.to_dict()["layer"] for c in charts])
    assert "black" not in text
    assert "white" not in text
    for colour in re.findall(r"#([0-9a-f]{6})", text):
        light = sum(w * int(colour[k : k + 2], 16) for k, w in ((0, 0.299), (2, 0.587), (4, 0.114)))
        assert 70 < light < 190
