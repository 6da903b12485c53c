"""Charts of combinations and adversarial tests: what is drawn, and what is left out."""

import pandas as pd

from core.plots import menli


def test_paths_join_the_points_of_a_metric_in_the_order_of_w() -> None:
    rows = [("chrf", w / 10, 0.3 + w / 100, 0.4 + w / 20) for w in range(11)] + [("bleu", 0.0, None, 0.3)]
    chart = menli.paths(pd.DataFrame(rows, columns=["metric", "w", "quality", "robustness"]), "Pearson").to_dict()
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
    chart = menli.improvements(rows).to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rule", "area", "line"]
    assert chart["layer"][0]["encoding"]["y"]["datum"] == 0.0


def test_a_heatmap_has_averages_last_and_intervals_in_its_tooltip() -> None:
    columns = ["phenomenon", "metric", "accuracy", "low", "high", "compared", "tied", "undefined", "reason"]
    rows = [
        ("all", "chrf", 0.4, 0.3, 0.5, 10, 0, 0, ""),
        ("addition", "chrf", None, None, None, 0, 0, 5, "needs a source"),
    ]
    chart = menli.heatmap(pd.DataFrame(rows, columns=columns)).to_dict()
    encoding = chart["layer"][0]["encoding"]
    assert encoding["y"]["sort"] == ["addition", "all"]
    assert {"low", "high", "reason"} <= {t["field"] for t in encoding["tooltip"]}
