import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from core.calibration.calibrate import CalibrationPoint, calibrate
from core.calibration.curve import CurvePoint, Plateau
from core.calibration.resampling import Band
from core.data import OutputKey
from core.formatting import format_lambda
from core.plots.calibration import calibration_chart, plateau_text

CURVE = (CurvePoint(0, 0.1), CurvePoint(1, 0.4), CurvePoint(3, None), CurvePoint(math.inf, 0.2))
POINTS = [CalibrationPoint(OutputKey("s", "d", str(k)), k, 4 - k, k * k % 5) for k in range(5)]
FITTED = replace(
    calibrate(POINTS, draws=0),
    curve=CURVE,
    plateau=Plateau(1, 3, True, False),
    lam=1.7,
    agreement=0.4,
    ribbon=(),
    presets={},
)


def values(chart: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    """The rows drawn by the layers of a mark."""
    rows = []
    for layer in chart["layer"]:
        if layer["mark"]["type"] == mark:
            rows += layer["data"]["values"] if "values" in layer["data"] else chart["datasets"][layer["data"]["name"]]
    return rows


def test_the_curve_is_a_step_line_on_the_omega_scale() -> None:
    chart = calibration_chart(FITTED).to_dict()
    line = next(layer for layer in chart["layer"] if layer["mark"]["type"] == "line")
    assert line["mark"]["interpolate"] == "step-after"
    assert values(chart, "line") == [
        {"omega": 0.0, "agreement": 0.1, "lambda": "0"},
        {"omega": 0.5, "agreement": 0.4, "lambda": "1"},
        {"omega": 1.0, "agreement": 0.2, "lambda": "∞"},
    ]
    assert line["encoding"]["x"]["scale"]["domain"] == [0, 1]


def test_plateau_ribbon_vanilla_and_presets_are_drawn() -> None:
    more = replace(
        FITTED,
        ribbon=(Band(0, 0, 0.2),),
        at={"vanilla": 0.3},
        presets={"WMT20 zh-en": (1.1, None), "SFRES": (1.1, None)},
    )
    chart = calibration_chart(more).to_dict()
    assert values(chart, "rect") == [{"from": 0.5, "to": 0.75, "text": "[1, 3)", "agreement": 0.4}]
    assert values(chart, "area") == [{"omega": 0, "low": 0, "high": 0.2}]
    assert [row["name"] for row in values(chart, "rule")] == ["BARTScore", "λ = 1", *2 * ["WMT20 zh-en, SFRES"]]
    assert values(chart, "point")[0]["lambda"] == "1.7"


def test_no_colour_is_lost_on_a_light_or_a_dark_page() -> None:
    chart = calibration_chart(replace(FITTED, at={"vanilla": 0.1}, presets={"a": (2, None)}))
    text = json.dumps(chart.to_dict()["layer"])
    assert "black" not in text
    assert "white" not in text
    for colour in re.findall(r"#([0-9a-f]{6})", text):
        light = sum(w * int(colour[k : k + 2], 16) for k, w in ((0, 0.299), (2, 0.587), (4, 0.114)))
        assert 70 < light < 190


@pytest.mark.parametrize(
    ("plateau", "text"),
    [
        (Plateau(1.23456, math.inf, False, True), "(1.23, ∞]"),
        (Plateau(0, 0, True, True), "0"),
        (Plateau(0, 2, True, False), "[0, 2)"),
    ],
)
def test_a_plateau_is_written_with_its_ends(plateau: Plateau, text: str) -> None:
    assert plateau_text(plateau) == text
    assert format_lambda(math.inf) == "∞"


def test_a_narrow_plateau_has_enough_digits_to_distinguish_ends() -> None:
    assert plateau_text(Plateau(1.2, 2.4, True, False)) == "[1.2, 2.4)"
    assert plateau_text(Plateau(1.97312, 1.97345, False, False)) == "(1.9731, 1.9734)"
    assert plateau_text(Plateau(2.0, 2.0, True, True)) == "2"
