"""The charts of Compare, as Vega-Lite."""

import json
import tomllib

import pandas as pd

from core.plots.score_charts import PICK, means, scatter
from tests.paths import ROOT

MEANS = pd.DataFrame(
    [
        ("b", -0.2, -0.3, -0.1, 40, ""),
        ("a", -0.4, -0.5, -0.3, 40, ""),
        ("c", None, None, None, 0, "there are no values"),
    ],
    columns=["system", "mean", "low", "high", "n", "reason"],
)
POINTS = pd.DataFrame(
    [("a", "d", "1", 1.0, 2.0), ("b", "d", "1", 3.0, 4.0)], columns=["system", "doc", "segment", "x", "y"]
)


def test_means_keep_the_row_order_and_skip_undefined_means() -> None:
    chart = means(MEANS, "BARTScore++ ↑").to_dict()
    assert all(layer["encoding"]["y"]["sort"] == ["b", "a"] for layer in chart["layer"])
    assert [layer["encoding"]["x"]["title"] for layer in chart["layer"]] == ["BARTScore++ ↑"] * 2
    assert sum(len(rows) for rows in chart["datasets"].values()) == 2


def test_a_scatter_point_selects_its_segment() -> None:
    chart = scatter(POINTS, "chrF ↑", "TER ↓", ["a", "b"]).to_dict()
    (pick,) = [p for p in chart["params"] if p["name"] == PICK]
    assert pick["select"]["fields"] == ["doc", "segment"]
    assert {"color", "shape"} <= chart["encoding"].keys()  # systems differ by more than colour


def test_a_blind_scatter_knows_no_systems() -> None:
    chart = scatter(POINTS.drop(columns="system"), "chrF", "TER", None).to_dict()
    assert "system" not in json.dumps(chart)


def test_charts_leave_colours_to_the_theme() -> None:
    for chart in (means(MEANS, "x"), scatter(POINTS, "x", "y", ["a"])):
        text = json.dumps({k: v for k, v in chart.to_dict().items() if k != "config"})
        assert "#" not in text.replace("$schema", "")
        assert "black" not in text
        assert "white" not in text


def test_24_systems_differ_in_colour_or_shape() -> None:
    names = [f"system {i}" for i in range(24)]
    points = pd.DataFrame([(n, "d", "1", 1.0, 2.0) for n in names], columns=POINTS.columns)
    shape = scatter(points, "chrF", "TER", names).to_dict()["encoding"]["shape"]["scale"]
    assert shape["domain"] == names
    theme = tomllib.loads((ROOT / ".streamlit/config.toml").read_text("utf-8"))["theme"]
    colours = theme["chartCategoricalColors"]
    looks = {(colours[i % len(colours)], shape["range"][i]) for i in range(24)}
    assert len(looks) == 24
