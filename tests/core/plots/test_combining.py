"""Charts of combinations and adversarial tests: what is drawn, and what is left out."""

import pandas as pd

from core.plots import combining


def test_paths_join_the_points_of_a_metric_in_the_order_of_w() -> None:
    rows = [("chrf", w / 10, 0.3 + w / 100, 0.4 + w / 20) for w in range(11)] + [("bleu", 0.0, None, 0.3)]
    chart = combining.paths(pd.DataFrame(rows, columns=["metric", "w", "quality", "robustness"]), "Pearson").to_dict()
    (data,) = chart["datasets"].values()
    assert {row["metric"] for row in data} == {"chrf"}
    line = chart["layer"][0]["encoding"]
    assert line["order"]["field"] == "w"
    assert "Pearson" in line["y"]["title"]


def test_improvements_have_a_band_and_a_line_at_no_change() -> None:
    rows = pd.DataFrame(
        [(0.1, "quality", 0.05, 0.01, 0.09, 4), (0.1, "robustness", None, None, None, 0)],
        columns=["w", "what", "change", "low", "high", "n"],
    )
    chart = combining.improvements(rows).to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rule", "area", "line"]
    assert chart["layer"][0]["encoding"]["y"]["datum"] == 0.0


def test_improvements_of_one_kind_name_it_on_the_axis() -> None:
    rows = [(w, what, w / 2, w / 4, w, 4) for what in ("quality", "robustness") for w in (0.1, 0.2)]
    frame = pd.DataFrame(rows, columns=["w", "what", "change", "low", "high", "n"])
    whole, one = (
        combining.improvements(frame).to_dict(),
        combining.improvements(frame[frame["what"] == "robustness"]).to_dict(),
    )
    colour, alone = (chart["layer"][2]["encoding"]["color"] for chart in (whole, one))
    assert colour["scale"] == alone["scale"] == {"domain": [combining.QUALITY, combining.ROBUSTNESS]}
    assert (colour["legend"] is None, alone["legend"] is None) == (False, True)
    assert one["layer"][2]["encoding"]["y"]["title"] == "change of adversarial accuracy ↑"


def test_a_course_has_a_line_a_metric_of_what_there_is() -> None:
    rows = [("chrf", w / 10, None, 0.4 + w / 20) for w in range(3)] + [("bleu", 0.0, None, None)]
    chart = combining.courses(
        pd.DataFrame(rows, columns=["metric", "w", "quality", "robustness"]), "robustness"
    ).to_dict()
    (data,) = chart["datasets"].values()
    assert [row["metric"] for row in data] == ["chrf"] * 3
    assert chart["encoding"]["y"]["axis"]["format"] == "%"


def test_the_effect_of_w_is_a_step_with_w_and_the_best_marked() -> None:
    steps = pd.DataFrame([(0.0, 0.3), (0.2, 0.5), (1.0, None)], columns=["w", "value"])
    chart = combining.effect(steps, 0.4, "τ", best=(0.2, 0.6)).to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rect", "line", "rule"]
    assert chart["layer"][1]["mark"]["interpolate"] == "step-after"
    values = [chart["datasets"][layer["data"]["name"]] for layer in chart["layer"]]
    assert values == [[{"low": 0.2, "high": 0.6}], [{"w": 0.0, "value": 0.3}, {"w": 0.2, "value": 0.5}], [{"w": 0.4}]]


def test_pooling_frames_the_best_strategies() -> None:
    rows = pd.DataFrame(
        [("both", "e", 0.5), ("both", "-c", None), ("forward", "e", 0.7), ("forward", "-c", 0.7)],
        columns=["direction", "formula", "value"],
    )
    chart = combining.pooling(rows, "suite").to_dict()
    (data,) = chart["datasets"].values()
    assert [row["best"] for row in data] == [False, False, True, True]
    assert [row["shade"] for row in data] == [0.0, None, 1.0, 1.0]
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rect", "rect", "text"]
    assert chart["layer"][0]["encoding"]["x"]["sort"] == ["e", "-c"]


def test_the_heatmap_has_averages_last_and_cis_in_tooltips() -> None:
    columns = ["phenomenon", "metric", "accuracy", "low", "high", "compared", "tied", "undefined", "reason"]
    rows = [
        ("all", "chrf", 0.4, 0.3, 0.5, 10, 0, 0, ""),
        ("addition", "chrf", None, None, None, 0, 0, 5, "needs a source"),
    ]
    chart = combining.heatmap(pd.DataFrame(rows, columns=columns)).to_dict()
    encoding = chart["layer"][0]["encoding"]
    assert encoding["y"]["sort"] == ["addition", "all"]
    assert {"low", "high", "reason"} <= {t["field"] for t in encoding["tooltip"]}
