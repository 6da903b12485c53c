"""What the charts of campaigns, Compare, Meta-evaluation and Robustness draw, and what they leave out."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.plots import combining
from core.plots.base import TINT
from core.plots.campaigns import severity_confusion, tau_matrix
from core.plots.colours import CATEGORIES
from core.plots.robustness import FAIL, PASS, catalogue, changes, curve, favours, multiples, parts, sweep
from core.plots.score_charts import PICK, differences, lengths, means, rank_differences, scatter, ties
from core.ports.robustness import BARELY, MISSES, NOTICES
from core.stats.correlation.correlation import Statistic
from core.stats.raters.rater_agreement import RaterPair
from tests.core.plots.drawn import assert_readable_in_both_themes, layers, rows


def frame(columns: str, *values: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame(values, columns=columns.split())


MEANS = frame("system mean low high n", ("b", -0.2, -0.3, -0.1, 40), ("a", -0.4, -0.5, -0.3, 40), ("c", None, None, None, 0))  # fmt: skip
POINTS = frame("system doc segment x y", ("a", "d", "1", 1.0, 2.0), ("b", "d", "1", 3.0, 4.0))
LEVELS = frame(
    "label ratio mean sd drop p", ("10 %", 0.1, 4.0, 0.5, 1.0, 0.01), ("20 %", 0.2, 3.0, 0.25, 2.0, 0.02), ("30 %", 0.3, None, None, None, None)
)  # fmt: skip


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_pair_of_raters_has_two_cells_with_any_reason() -> None:
    pairs = [
        RaterPair("ann", "bob", Statistic(-0.25, "", 9)),
        RaterPair("ann", "cid", Statistic(None, "all ann's scores are equal", 4)),
    ]
    (cells,) = rows(tau_matrix(["ann", "bob", "cid"], pairs).to_dict(), "rect")
    assert len(cells) == 4
    assert {(r["a"], r["b"], r["text"]) for r in cells if r["tau"] == -0.25} == {
        ("ann", "bob", "−0.25"), ("bob", "ann", "−0.25"),
    }  # fmt: skip
    assert {(r["text"], r["why"]) for r in cells if r["tau"] is None} == {("–", "all ann's scores are equal")}


def test_the_confusion_is_shaded_by_the_share_of_its_row() -> None:
    for counts, expected in (
        ([[6, 2], [4, 0]], [("Major", "Major", 6, 0.75), ("Major", "none", 2, 0.25), ("none", "Major", 4, 1.0)]),
        ([[0, 0], [0, 0]], [("Major", "Major", 0, 0.0), ("Major", "none", 0, 0.0), ("none", "Major", 0, 0.0)]),
    ):  # the cell marked by neither is left out
        drawn = severity_confusion(np.array(counts), ["Major", "none"], rows="ann", columns="bob").to_dict()
        assert [(r["row"], r["column"], r["n"], r["share"]) for r in rows(drawn, "rect")[0]] == expected


# ── Compare and Meta-evaluation ──────────────────────────────────────────────────────────────────────────────────────


def test_means_keep_the_row_order_and_skip_undefined_means() -> None:
    chart = means(MEANS, "BARTScore++ ↑").to_dict()
    assert [layer["encoding"]["y"]["sort"] for layer in chart["layer"]] == [["b", "a"]] * 2
    assert [len(of_layer) for of_layer in rows(chart, "point")] == [2]


def test_a_scatter_point_selects_its_segment_also_if_blind() -> None:
    chart = scatter(POINTS, "chrF ↑", "TER ↓", ["a", "b"]).to_dict()
    (pick,) = [p for p in chart["params"] if p["name"] == PICK]
    assert pick["select"]["fields"] == ["doc", "segment"]
    assert "system" not in json.dumps(scatter(POINTS.drop(columns="system"), "chrF", "TER", None).to_dict())
    for themed in (means(MEANS, "x").to_dict(), chart):
        assert "#" not in json.dumps({k: v for k, v in themed.items() if k not in ("config", "$schema")})
        assert_readable_in_both_themes(themed)


def test_24_systems_differ_in_colour_or_shape() -> None:
    names = [f"system {i}" for i in range(24)]
    points = frame("system doc segment x y", *((n, "d", "1", 1.0, 2.0) for n in names))
    shape = scatter(points, "chrF", "TER", names).to_dict()["encoding"]["shape"]["scale"]
    assert shape["domain"] == names
    assert len({(CATEGORIES[i % len(CATEGORIES)], shape["range"][i]) for i in range(24)}) == 24


def test_the_matrix_keeps_the_order_and_fills_significant_cells() -> None:
    pairs = (("a", "b", 0.1, 0.5, ".500"), ("a", "c", 0.3, 0.01, ".010"), ("b", "c", 0.2, 0.04, ".040"))
    (tiles,) = layers(differences(frame("better worse difference p shown", *pairs), ["a", "b", "c"]).to_dict(), "rect")
    assert (tiles["encoding"]["y"]["sort"], tiles["encoding"]["x"]["sort"]) == (["a", "b"], ["b", "c"])
    assert tiles["encoding"]["color"]["condition"]["test"] == "(datum.p <= 0.05)"


def test_the_tie_curve_marks_the_best_step_and_the_floor() -> None:
    chart = ties(frame("epsilon accuracy", (0.0, 0.4), (0.5, 0.7), (2.0, 0.3)), 0.5, 0.45).to_dict()
    assert layers(chart, "rule")[0]["encoding"]["y"] == {"datum": 0.45}
    assert rows(chart, "point") == [[{"epsilon": 0.5, "accuracy": 0.7}]]


def test_buckets_are_ordered_by_length_without_undefined_points() -> None:
    buckets = frame(
        "metric place bucket segments value low high shown", ("a", 1, "20–30", 2, 0.5, 0.4, 0.6, ".500"),
        ("a", 0, "5–9", 2, -0.1, None, None, "−.100"), ("b", 0, "5–9", 2, None, None, None, "–"),
    )  # fmt: skip
    chart = lengths(buckets, ["a", "b"], "τ-b").to_dict()
    (points,) = layers(chart, "point")
    assert points["encoding"]["x"]["sort"] == ["5–9", "20–30"]
    assert {(r["metric"], r["value"]) for r in rows(chart, "point")[0]} == {("a", 0.5), ("a", -0.1)}
    assert any(layer["encoding"]["y"] == {"datum": 0} for layer in layers(chart, "rule"))


def test_a_cell_is_blue_below_zero_and_stronger_when_it_is_large() -> None:
    ranks = (("m", "A", 1.0, 4.0, 3.0, "+3"), ("m", "B", 2.0, 1.0, -1.0, "−1"), ("m", "C", 3.0, 3.0, 0.0, "0"))
    data = frame("metric system human_rank metric_rank difference shown", *ranks)
    chart = rank_differences(data, ["m"], ["A", "B", "C"]).to_dict()
    (tiles,) = layers(chart, "rect")
    assert tiles["encoding"]["color"]["condition"]["test"] == "(datum.difference < 0)"
    fill = {r["system"]: r["fill"] for r in rows(chart, "rect")[0]}
    assert fill["A"] == pytest.approx(TINT)
    assert fill["A"] > 2 * fill["B"] > 2 * fill["C"] > 0


# ── combinations and adversarial tests ───────────────────────────────────────────────────────────────────────────────


def test_lines_of_weights_join_defined_points_in_the_order_of_w() -> None:
    points = [("chrf", w / 10, 0.3 + w / 100, 0.4 + w / 20) for w in range(11)] + [("bleu", 0.0, None, 0.3)]
    data = frame("metric w quality robustness", *points)
    chart = combining.paths(data, "Pearson").to_dict()
    assert {row["metric"] for row in rows(chart, "line")[0]} == {"chrf"}
    encoding = layers(chart, "line")[0]["encoding"]
    assert encoding["order"]["field"] == "w"
    assert "Pearson" in encoding["y"]["title"]
    one = combining.courses(data, "quality").to_dict()
    assert [row["metric"] for row in rows(one, "line")[0]] == ["chrf"] * 11


def test_improvements_of_one_kind_name_it_on_the_axis() -> None:
    gains = [(w, what, w / 2, w / 4, w, 4) for what in ("quality", "robustness") for w in (0.1, 0.2)]
    data = frame("w what change low high n", *gains, (0.3, "quality", None, None, None, 0))
    whole, one = (combining.improvements(d).to_dict() for d in (data, data[data["what"] == "robustness"]))
    assert [layer["mark"]["type"] for layer in whole["layer"]] == ["rule", "area", "line"]
    colour, alone = (layers(chart, "line")[0]["encoding"]["color"] for chart in (whole, one))
    assert colour["scale"] == alone["scale"] == {"domain": [combining.QUALITY, combining.ROBUSTNESS]}
    assert (colour["legend"] is None, alone["legend"] is None) == (False, True)
    assert layers(one, "line")[0]["encoding"]["y"]["title"] == "change of adversarial accuracy ↑"


def test_the_effect_of_w_is_a_step_with_w_and_the_best_marked() -> None:
    steps = frame("w value", (0.0, 0.3), (0.2, 0.5), (1.0, None))
    chart = combining.effect(steps, 0.4, "τ", best=(0.2, 0.6)).to_dict()
    assert layers(chart, "line")[0]["mark"]["interpolate"] == "step-after"
    assert [rows(chart, mark) for mark in ("rect", "line", "rule")] == [
        [[{"low": 0.2, "high": 0.6}]], [[{"w": 0.0, "value": 0.3}, {"w": 0.2, "value": 0.5}]], [[{"w": 0.4}]],
    ]  # fmt: skip


def test_pooling_frames_the_best_strategies() -> None:
    cells = (("both", "e", 0.5), ("both", "-c", None), ("forward", "e", 0.7), ("forward", "-c", 0.7))
    chart = combining.pooling(frame("direction formula value", *cells), "suite").to_dict()
    drawn = rows(chart, "rect")[0]
    assert [row["best"] for row in drawn] == [False, False, True, True]
    assert [row["shade"] for row in drawn] == [0.0, None, 1.0, 1.0]
    assert chart["layer"][0]["encoding"]["x"]["sort"] == ["e", "-c"]


def test_the_heatmap_has_averages_last_and_cis_in_tooltips() -> None:
    cells = ("all", "chrf", 0.4, 0.3, 0.5, 10, 0, 0, ""), ("addition", "chrf", None, None, None, 0, 0, 5, "needs a source")  # fmt: skip
    data = frame("phenomenon metric accuracy low high compared tied undefined reason", *cells)
    encoding = combining.heatmap(data).to_dict()["layer"][0]["encoding"]
    assert encoding["y"]["sort"] == ["addition", "all"]
    assert {"low", "high", "reason"} <= {t["field"] for t in encoding["tooltip"]}


# ── robustness ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bars_and_cells_show_whether_metrics_miss_the_error() -> None:
    data = frame(
        "metric share good changed verdict range", ("chrF ↑", -0.25, 80.0, 55.0, NOTICES, "r"), ("BERTScore ↑", -0.004, 0.954, 0.952, BARELY, "r"),
        ("BLEU ↑", 0.125, 50.0, 62.5, MISSES, "r"), ("odd ↑", None, 1.0, 2.0, MISSES, "r"), ("NLI ↑", None, None, 0.5, "no reference", "r"),
    )  # fmt: skip
    (bars,) = rows(changes(data).to_dict(), "bar")
    assert [(r["metric"], r["mark"]) for r in bars] == [("chrF ↑", ""), ("BERTScore ↑", "≈"), ("BLEU ↑", "✕")]
    (cells,) = rows(sweep(data.assign(phenomenon="negation")).to_dict(), "rect")
    assert [r["mark"] for r in cells] == ["−25 %", "≈ > −1 %", "✕ +12 %", "✕", ""]
    assert [r["fall"] for r in cells][:2] == [0.25, 0.004]


def test_a_verdict_has_a_symbol_and_a_number_and_is_clicked_by_name() -> None:
    columns = "test metric row column verdict told why drop p published"
    cells = frame(columns, ("t", "a", "Test", "A", "fail", "+3 %", *[""] * 4), ("t", "b", "Test", "B", "untold", *[""] * 5))  # fmt: skip
    cells.attrs["order"] = ["Fluency", "Test"]
    chart = catalogue(cells, ["Fluency"]).to_dict()
    assert [row["words"] for row in rows(chart, "rect")[0]] == ["✕ fail\n+3 %", "– no result\n"]
    assert layers(chart, "rect")[0]["encoding"]["y"]["scale"]["domain"] == ["Fluency", "Test"]  # a row for the heading
    (pick,) = chart["params"]
    assert (pick["name"], pick["select"]["fields"]) == ("pick", ["test", "metric"])


def test_a_curve_starts_at_gold_skips_undefined_levels_and_is_bold_if_failing() -> None:
    chart = curve(LEVELS, 5.0, "M ↑", fails=False, graded=True).to_dict()
    assert [(r["label"], r["ratio"], r["mean"], r["low"], r["high"]) for r in rows(chart, "line")[0]] == [
        ("good text", 0.0, 5.0, 5.0, 5.0), ("10 %", 0.1, 4.0, 3.5, 4.5), ("20 %", 0.2, 3.0, 2.75, 3.25),
    ]  # fmt: skip
    for fails, width, colour in ((True, 4, FAIL), (False, 2, PASS)):
        (line,) = layers(curve(LEVELS, 5.0, "M", fails=fails, graded=True).to_dict(), "line")
        assert (line["mark"]["strokeWidth"], line["mark"]["color"]) == (width, colour)
    flat = curve(LEVELS, 5.0, "M", fails=True, graded=False).to_dict()["layer"]
    assert {layer["mark"]["type"] for layer in flat} == {"rule", "bar", "point"}, "levels that are no grades are not joined"  # fmt: skip


def test_ungraded_levels_are_named_on_the_axis() -> None:
    of_parts = frame("part label ratio mean", ("p", "gold", 0.0, 1.0), ("p", "x", 0.1, 2.0))
    fields = [parts(of_parts, graded=graded).to_dict()["encoding"]["x"]["field"] for graded in (True, False)]
    assert fields == ["ratio", "label"]
    others = frame("metric label ratio share verdict", ("A", "gold", 0.0, 0.0, "pass"), ("A", "x", 0.1, 0.25, "pass"))
    chart = multiples(others, graded=True).to_dict()
    assert [r["fall"] for r in next(iter(chart["datasets"].values()))] == [0.0, -0.25]  # a drop goes down
    assert chart["facet"]["field"] == "metric"


def test_a_metrics_own_kind_is_marked_by_more_than_colour() -> None:
    cells = frame("metric system mean rank own based built", ("M", "A", 0.5, 1.0, True, "X", "X"), ("M", "B", 0.25, 2.0, False, "X", "Y"))  # fmt: skip
    assert [r["words"] for r in rows(favours(cells).to_dict(), "rect")[0]] == ["◆ 1\n0.500", "2\n0.250"]
