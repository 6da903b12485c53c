"""The charts of length and bias, as Vega-Lite."""

import pandas as pd
import pytest

from core.plots.base import TINT
from core.plots.score_charts import lengths, rank_differences


def layers(chart, mark: str):
    return [layer for layer in chart["layer"] if layer["mark"]["type"] == mark]


def test_buckets_are_ordered_by_length_without_undefined_points() -> None:
    rows = pd.DataFrame(
        [
            ("a", 1, "20–30", 2, 0.5, 0.4, 0.6, ".500"), ("a", 0, "5–9", 2, -0.1, None, None, "−.100"),
            ("b", 0, "5–9", 2, None, None, None, "–"),
        ],
        columns=["metric", "place", "bucket", "segments", "value", "low", "high", "shown"],
    )  # fmt: skip
    chart = lengths(rows, ["a", "b"], "τ-b").to_dict()
    (points,) = layers(chart, "point")
    assert points["encoding"]["x"]["sort"] == ["5–9", "20–30"]
    assert {(r["metric"], r["value"]) for r in chart["datasets"][points["data"]["name"]]} == {("a", 0.5), ("a", -0.1)}
    assert points["encoding"]["shape"]["field"] == "metric"  # lines differ by more than colour
    assert any(layer["encoding"]["y"] == {"datum": 0} for layer in layers(chart, "rule"))


def test_a_cell_is_blue_below_zero_and_stronger_when_it_is_large() -> None:
    rows = pd.DataFrame(
        [("m", "A", 1.0, 4.0, 3.0, "+3"), ("m", "B", 2.0, 1.0, -1.0, "−1"), ("m", "C", 3.0, 3.0, 0.0, "0")],
        columns=["metric", "system", "human_rank", "metric_rank", "difference", "shown"],
    )
    chart = rank_differences(rows, ["m"], ["A", "B", "C"]).to_dict()
    tiles, text = chart["layer"]
    assert tiles["encoding"]["color"]["condition"]["test"] == "(datum.difference < 0)"
    assert tiles["encoding"]["x"]["sort"] == ["A", "B", "C"]
    (data,) = chart["datasets"].values()
    fill = {r["system"]: r["fill"] for r in data}
    assert fill["A"] == pytest.approx(TINT)
    assert fill["A"] > 2 * fill["B"] > 2 * fill["C"] > 0
    assert text["encoding"]["text"]["field"] == "shown"
