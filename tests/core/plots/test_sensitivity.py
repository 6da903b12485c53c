"""The dot plot of sensitivities, as Vega-Lite."""

import json

import pandas as pd
import pytest

from core.plots.sensitivity import Shown, by_type
from core.services.sensitivity import Row

ROWS = pd.DataFrame(
    [
        Row("typo", "chrf", "s", 5, 4, 0.1, 0.05, 0.2, 5, 0.8, 0.6, 1.0, 1, 0, ""),
        Row("typo", "ter", "s", 5, 5, 0.3, 0.1, 0.4, 5, 1.0, 1.0, 1.0, 0, 0, ""),
        Row("drop", "chrf", "s", 1, 1, 0.2, None, None, 1, 1.0, None, None, 0, 0, "z: …"),
        Row("drop", "ter", "s", 1, 0, None, None, None, 0, None, None, None, 1, 0, "1 × …"),
    ],
    columns=Row._fields,
)


@pytest.mark.parametrize("shown", ["z", "accuracy"])
def test_types_and_metrics_stand_in_the_order_of_the_rows_with_their_intervals(shown: Shown) -> None:
    rule, interval, dots = by_type(ROWS, shown).to_dict()["layer"]
    for layer in (interval, dots):
        assert layer["encoding"]["y"]["sort"] == ["typo", "drop"]
        assert layer["encoding"]["yOffset"]["sort"] == ["chrf", "ter"]
    assert interval["encoding"]["x"]["field"] == f"{shown}_low"
    assert interval["encoding"]["x2"]["field"] == f"{shown}_high"
    assert dots["encoding"]["x"]["field"] == shown
    assert rule["encoding"]["x"]["datum"] == (0.0 if shown == "z" else 0.5)


def test_what_has_no_value_is_left_out() -> None:
    datasets = by_type(ROWS).to_dict()["datasets"].values()
    assert {len(rows) for rows in datasets} == {1, 3}  # the rule's row, and the dots


def test_a_dot_without_an_interval_has_no_line() -> None:
    _, interval, dots = by_type(ROWS).to_dict()["layer"]
    assert [t["filter"] for t in interval["transform"]] == ["(datum['z_low'] !== null)"]
    assert "transform" not in dots


def test_metrics_differ_by_more_than_colour_and_leave_colours_to_the_theme() -> None:
    chart = by_type(ROWS).to_dict()
    assert {"color", "shape"} <= chart["layer"][2]["encoding"].keys()
    text = json.dumps({k: v for k, v in chart.items() if k != "config"})
    assert "#" not in text.replace("$schema", "")


def test_an_empty_table_draws_nothing_and_does_not_fail() -> None:
    assert by_type(ROWS.iloc[3:]).to_dict()["layer"]
