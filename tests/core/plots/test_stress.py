"""The catalogue's cells, curves with gold in them, and what is bold because it fails."""

import pandas as pd
import pytest

from core.plots.robustness import FAIL, PASS, catalogue, curve, favours, multiples, parts

LEVELS = pd.DataFrame(
    {
        "label": ["10 %", "20 %", "30 %"], "ratio": [0.1, 0.2, 0.3], "mean": [4.0, 3.0, None], "sd": [0.5, 0.25, None],
        "drop": [1.0, 2.0, None], "p": [0.01, 0.02, None],
    }
)  # fmt: skip


def data_of(chart: dict) -> list[dict]:
    return [row for found in chart["datasets"].values() for row in found]


def cells() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "test": ["t"] * 2, "metric": ["a", "b"], "row": ["Test"] * 2, "column": ["A", "B"], "verdict": ["fail", "untold"],
            "told": ["+3 %", ""], "why": [""] * 2, "drop": [""] * 2, "p": [""] * 2, "published": [""] * 2,
        }
    )  # fmt: skip
    frame.attrs["order"] = ["Fluency", "Test"]
    return frame


def test_a_cell_has_a_symbol_a_verdict_and_a_number() -> None:
    chart = catalogue(cells(), ["Fluency"]).to_dict()
    assert [row["words"] for row in data_of(chart)] == ["✕ fail\n+3 %", "– no result\n"]
    assert chart["layer"][0]["encoding"]["y"]["scale"]["domain"] == [
        "Fluency",
        "Test",
    ]  # the heading has a row of its own


def test_a_click_selects_test_and_metric_by_name() -> None:
    chart = catalogue(cells(), ["Fluency"]).to_dict()
    (pick,) = chart["params"]
    assert (pick["name"], pick["select"]["fields"]) == ("pick", ["test", "metric"])


def test_a_curve_starts_at_gold_and_skips_undefined_levels() -> None:
    chart = curve(LEVELS, 5.0, "M ↑", fails=False, graded=True).to_dict()
    whole = max(chart["datasets"].values(), key=len)
    assert [(r["label"], r["ratio"], r["mean"]) for r in whole] == [
        ("good text", 0.0, 5.0),
        ("10 %", 0.1, 4.0),
        ("20 %", 0.2, 3.0),
    ]
    assert [(r["low"], r["high"]) for r in whole] == [(5.0, 5.0), (3.5, 4.5), (2.75, 3.25)]


@pytest.mark.parametrize(("fails", "width", "colour"), [(True, 4, FAIL), (False, 2, PASS)])
def test_a_failing_curve_is_bold(fails: bool, width: int, colour: str) -> None:
    layers = curve(LEVELS, 5.0, "M", fails=fails, graded=True).to_dict()["layer"]
    line = next(layer["mark"] for layer in layers if layer["mark"]["type"] == "line")
    assert (line["strokeWidth"], line["color"]) == (width, colour)


def test_levels_that_are_no_grades_are_not_joined() -> None:
    layers = curve(LEVELS, 5.0, "M", fails=True, graded=False).to_dict()["layer"]
    assert {layer["mark"]["type"] for layer in layers} == {"rule", "bar", "point"}


def test_ungraded_levels_are_named_on_the_axis() -> None:
    frame = pd.DataFrame({"part": ["p", "p"], "label": ["gold", "x"], "ratio": [0.0, 0.1], "mean": [1.0, 2.0]})
    assert parts(frame, graded=True).to_dict()["encoding"]["x"]["field"] == "ratio"
    assert parts(frame, graded=False).to_dict()["encoding"]["x"]["field"] == "label"
    others = pd.DataFrame(
        {
            "metric": ["A", "A"],
            "label": ["gold", "x"],
            "ratio": [0.0, 0.1],
            "share": [0.0, 0.25],
            "verdict": ["pass"] * 2,
        }
    )
    chart = multiples(others, graded=True).to_dict()
    assert [r["fall"] for r in data_of(chart)] == [0.0, -0.25]  # a drop goes down
    assert chart["facet"]["field"] == "metric"


def test_a_metrics_own_kind_is_marked_by_more_than_colour() -> None:
    rows = pd.DataFrame(
        {
            "metric": ["M"] * 2, "system": ["A", "B"], "mean": [0.5, 0.25], "rank": [1.0, 2.0], "own": [True, False],
            "based": ["X"] * 2, "built": ["X", "Y"],
        }
    )  # fmt: skip
    assert [r["words"] for r in data_of(favours(rows).to_dict())] == ["◆ 1\n0.500", "2\n0.250"]
