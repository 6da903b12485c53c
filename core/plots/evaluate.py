"""Charts of the Evaluate page: differences between metrics, acc_eq by ε, and system means."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.plots.encodings import BLUE, GREY, TEXT, TINT, intervals, names_axis, tooltip
from core.plots.labels import chart_label, chart_labels, with_labels


def agreements(rows: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return a dot plot of agreements with their 95 % CIs, in the order of the rows; baselines are grey.

    `rows` has the columns metric, value, low, high, shown (the value as text) and baseline.
    """
    rows, title = with_labels(rows, "metric"), chart_label(title)
    base = alt.Chart(rows).encode(
        y=alt.Y("metric:N", sort=list(rows["metric"]), title=None, axis=names_axis(labelLimit=180)),
        color=alt.condition("datum.baseline", alt.value(GREY), alt.value(BLUE)),
        tooltip=tooltip("metric:N", ("shown:N", title)),
    )
    return intervals(base, "value:Q", title).properties(height=26 * max(1, len(rows)) + 70)


def differences(rows: pd.DataFrame, names: Sequence[str], alpha: float = 0.05) -> alt.LayerChart:
    """Return a matrix of Holm's p for the row metric against the (worse) column metric, filled if p ≤ alpha.

    `rows` has the columns better, worse, difference, p, shown (p as text); `names` are ordered from best to worst.
    """
    rows, names = with_labels(rows, "better", "worse"), chart_labels(names)
    base = alt.Chart(rows).encode(
        x=alt.X("worse:N", sort=names[1:], title=None, axis=names_axis(labelLimit=170)),
        y=alt.Y("better:N", sort=names[:-1], title=None, axis=names_axis(labelLimit=170)),
        tooltip=tooltip("better:N", ("worse:N", "against"), ("difference:Q", "", ".3f"), ("shown:N", "p (Holm)")),
    )
    significant = alt.datum.p <= alpha
    tiles = base.mark_rect(stroke=GREY, strokeOpacity=0.25).encode(
        color=alt.condition(significant, alt.value(BLUE), alt.value(GREY)),
        opacity=alt.condition(significant, alt.value(TINT), alt.value(0.12)),
    )
    text = base.mark_text(fontSize=11, color=TEXT).encode(text="shown:N")
    return alt.LayerChart(layer=[tiles, text]).properties(height=30 * max(1, rows["better"].nunique()) + 150)


def ties(rows: pd.DataFrame, best: float, chance: float) -> alt.LayerChart:
    """Return acc_eq as a step function of ε with the chosen ε; the chance level is dashed. `rows` has the columns epsilon, accuracy."""
    x = alt.X("epsilon:Q", title="ε: a metric difference of at most ε is a tie", scale=alt.Scale(nice=False))
    y = alt.Y("accuracy:Q", title="acc_eq", scale=alt.Scale(zero=False, padding=12))
    line = alt.Chart(rows).mark_line(interpolate="step-after", color=BLUE).encode(x=x, y=y)
    here = alt.Chart(rows[rows["epsilon"] == best]).mark_point(filled=True, size=90, color=BLUE, opacity=1)
    floor = alt.Chart(rows.head(1)).mark_rule(aria=False, strokeDash=[5, 4], color=GREY).encode(y=alt.YDatum(chance))
    lines = tooltip(("epsilon:Q", "ε", ".4g"), ("accuracy:Q", "", ".3f"))
    return alt.LayerChart(layer=[line, floor, here.encode(x=x, y=y, tooltip=lines)]).properties(height=240)


def system_means(rows: pd.DataFrame, x_label: str, y_label: str) -> alt.LayerChart:
    """Return one labelled point per system: its mean metric score by its mean human score. `rows` has the columns system, x, y."""
    rows = with_labels(rows, "system")
    x_label, y_label = chart_label(x_label), chart_label(y_label)
    scale = alt.Scale(zero=False, nice=True, padding=24)
    base = alt.Chart(rows).encode(
        x=alt.X("x:Q", title=x_label, scale=scale),
        y=alt.Y("y:Q", title=y_label, scale=scale),
        tooltip=tooltip("system:N", ("x:Q", x_label, ".3f"), ("y:Q", y_label, ".3f")),
    )
    names = base.mark_text(dy=-13, limit=160, color=TEXT).encode(text="system:N")
    dots = base.mark_point(filled=True, size=90, color=BLUE, opacity=1)
    return alt.LayerChart(layer=[dots, names]).properties(height=340)
