"""The charts of Evaluate, as Vega-Lite."""

import pandas as pd

from core.plots.score_charts import differences, system_means, ties


def test_the_matrix_keeps_the_order_and_fills_significant_cells() -> None:
    rows = pd.DataFrame(
        [("a", "b", 0.1, 0.5, ".500"), ("a", "c", 0.3, 0.01, ".010"), ("b", "c", 0.2, 0.04, ".040")],
        columns=["better", "worse", "difference", "p", "shown"],
    )
    chart = differences(rows, ["a", "b", "c"]).to_dict()
    tiles, text = chart["layer"]
    assert tiles["encoding"]["y"]["sort"] == ["a", "b"]
    assert tiles["encoding"]["x"]["sort"] == ["b", "c"]
    assert tiles["encoding"]["color"]["condition"]["test"] == "(datum.p <= 0.05)"
    assert text["encoding"]["text"]["field"] == "shown"


def test_the_tie_curve_marks_the_best_step_and_the_floor() -> None:
    rows = pd.DataFrame({"epsilon": [0.0, 0.5, 2.0], "accuracy": [0.4, 0.7, 0.3]})
    chart = ties(rows, 0.5, 0.45).to_dict()
    line, floor, best = chart["layer"]
    assert line["mark"]["interpolate"] == "step-after"
    assert floor["encoding"]["y"] == {"datum": 0.45}
    assert chart["datasets"][best["data"]["name"]] == [{"epsilon": 0.5, "accuracy": 0.7}]


def test_system_means_name_their_systems() -> None:
    rows = pd.DataFrame({"system": ["A", "B"], "x": [1.0, 2.0], "y": [0.0, 1.0]})
    points, names = system_means(rows, "chrF ↑", "MQM ↑").to_dict()["layer"]
    assert names["encoding"]["text"]["field"] == "system"
    assert points["encoding"]["x"]["title"] == "chrF ↑"
