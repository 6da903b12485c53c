"""Sensitivity by type of error and metric: a dot plot with intervals, like Figure 4 of Lu et al. 2023."""

from __future__ import annotations

from typing import Literal

import altair as alt
import pandas as pd

from core.plots.labels import with_labels

Shown = Literal["z", "accuracy"]
TITLES: dict[Shown, str] = {
    "z": "sensitivity z ↑ (0: not seen, 1: as bad as an empty output)",
    "accuracy": "share of pairs ranked right ↑",
}
LINE_HEIGHT = 16


def by_type(rows: pd.DataFrame, shown: Shown = "z") -> alt.LayerChart:
    """One line a type and within it one dot a metric, in the order of the rows; what has no value is left out.

    `rows` has the columns of `core.services.sensitivity.Row`. The rule marks 0 for z, and an even chance for the accuracy.
    """
    there = with_labels(rows.dropna(subset=[shown]), "type", "metric")
    types, metrics = list(dict.fromkeys(there["type"])), list(dict.fromkeys(there["metric"]))
    low, high = f"{shown}_low", f"{shown}_high"
    n = "n" if shown == "z" else "compared"
    axis = alt.Axis(labelLimit=240, domain=False, ticks=False, labelOverlap=False)
    legend = alt.Legend(orient="top", title=None, labelLimit=240, columns=3)
    base = alt.Chart(there).encode(
        y=alt.Y("type:N", sort=types, title=None, axis=axis),
        yOffset=alt.YOffset("metric:N", sort=metrics),
        color=alt.Color("metric:N", sort=metrics, legend=legend),
        tooltip=[
            alt.Tooltip("type:N"),
            alt.Tooltip("metric:N"),
            alt.Tooltip(f"{shown}:Q", format=".3f"),
            alt.Tooltip(f"{low}:Q", format=".3f", title="95 % from"),
            alt.Tooltip(f"{high}:Q", format=".3f", title="to"),
            alt.Tooltip(f"{n}:Q", title="pairs"),
            alt.Tooltip("undefined:Q", title="pairs without a z"),
        ],
    )
    scale, title = alt.Scale(zero=shown == "z", padding=12), TITLES[shown]
    rule = alt.Chart(there.head(1)).mark_rule(strokeDash=[4, 4], opacity=0.6, color="gray")
    interval = base.transform_filter(alt.datum[low] != None).mark_rule(strokeWidth=3, opacity=0.45)  # noqa: E711
    dots = base.mark_point(filled=True, size=70, opacity=1)
    layers = [
        rule.encode(x=alt.XDatum(0.0 if shown == "z" else 0.5)),
        interval.encode(x=alt.X(f"{low}:Q", title=title, scale=scale), x2=f"{high}:Q"),
        dots.encode(
            x=alt.X(f"{shown}:Q", title=title, scale=scale),
            shape=alt.Shape("metric:N", sort=metrics, legend=legend),
        ),
    ]
    height = LINE_HEIGHT * max(1, len(metrics)) * max(1, len(types)) + 10 * len(types) + 60
    return alt.LayerChart(layer=layers).properties(height=height)
