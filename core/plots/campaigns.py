"""Charts of campaigns: ratings per day and by system, means of systems, agreement over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.plots.encodings import BLUE, GREEN, GREY, ORANGE, TEXT, inline, intervals, names_axis, tooltip
from core.plots.labels import chart_label, chart_labels, with_labels

TALL_DAYS = 190
ROW = 32


def ratings_per_day(days: Sequence[Mapping[str, Any]], pace: float | None = None) -> alt.LayerChart:
    """Return bars of the submitted ratings per day. `days` have day (ISO date) and ratings.

    `pace` is drawn as a dashed line: the ratings per day of the last days.
    """
    base = inline(days).encode(
        x=alt.X("day:O", title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True, labelExpr=_DAY, ticks=False)),
        tooltip=tooltip(("day:O", "day (UTC)"), ("ratings:Q", "", ",")),
    )
    y = alt.Y("ratings:Q", title="ratings per day", axis=alt.Axis(tickMinStep=1, tickCount=4))
    layers: list[alt.Chart] = [base.mark_bar(color=BLUE, cornerRadiusEnd=2).encode(y=y)]
    if pace is not None:
        rule = inline([{"ratings": pace}]).mark_rule(color=ORANGE, strokeDash=[5, 4], strokeWidth=2)
        layers.append(rule.encode(y=y, tooltip=tooltip(("ratings:Q", "pace", ",.0f"))))
    return alt.LayerChart(layer=layers).properties(height=TALL_DAYS)


_DAY = "timeFormat(toDate(datum.value), '%d %b')"


def by_system(rows: Sequence[Mapping[str, Any]]) -> alt.LayerChart:
    """Return one bar per system: its ratings in front of those wanted. `rows` have system, ratings, wanted and text."""
    shown = [{**row, "system": chart_label(str(row["system"]))} for row in rows]
    names = [row["system"] for row in shown]
    base = inline(shown).encode(
        y=alt.Y("system:N", sort=names, title=None, axis=names_axis(labelLimit=180)),
        tooltip=tooltip("system:N", ("ratings:Q", "", ","), ("wanted:Q", "", ",")),
    )
    x = alt.X("wanted:Q", title="ratings", axis=alt.Axis(tickMinStep=1, tickCount=5))
    back = base.mark_bar(color=GREY, opacity=0.25, height=14, cornerRadius=2).encode(x=x)
    front = base.mark_bar(color=BLUE, height=14, cornerRadius=2).encode(x=alt.X("ratings:Q", title="ratings"))
    text = base.mark_text(color=TEXT, align="left", dx=6).encode(x=x, text="text:N")
    return alt.LayerChart(layer=[back, front, text]).properties(height=ROW * max(1, len(shown)) + 70)


def means(rows: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return a dot plot of means with their 95 % CIs, in the order of the rows.

    `rows` has the columns system, value, low, high and shown (the value as text).
    """
    rows, title = with_labels(rows, "system"), chart_label(title)
    base = alt.Chart(rows).encode(
        y=alt.Y("system:N", sort=list(rows["system"]), title=None, axis=names_axis(labelLimit=180)),
        color=alt.value(BLUE),
        tooltip=tooltip("system:N", ("shown:N", title)),
    )
    return intervals(base, "value:Q", title).properties(height=ROW * max(1, len(rows)) + 60)


def differences(rows: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return a dot plot of paired differences with their 95 % CIs and a line at 0; those that are not significant are grey.

    `rows` has the columns pair, value, low, high, shown, p (text) and significant.
    """
    rows, title = with_labels(rows, "pair"), chart_label(title)
    base = alt.Chart(rows).encode(
        y=alt.Y("pair:N", sort=list(rows["pair"]), title=None, axis=names_axis(labelLimit=220)),
        color=alt.condition("datum.significant", alt.value(BLUE), alt.value(GREY)),
        tooltip=tooltip("pair:N", ("shown:N", title), ("p:N", "p (Holm)")),
    )
    zero = inline([{"at": 0}]).mark_rule(color=GREY, strokeDash=[5, 4]).encode(x=alt.X("at:Q", title=title))
    return alt.LayerChart(layer=[zero, intervals(base, "value:Q", title)]).properties(
        height=ROW * max(1, len(rows)) + 60
    )


def estimates(rows: pd.DataFrame, kinds: Sequence[str], title: str) -> alt.LayerChart:
    """Return the means of several estimates beside each other. `rows` has the columns system, kind, value, low, high, shown."""
    rows, kinds, title = with_labels(rows, "system", "kind"), chart_labels(kinds), chart_label(title)
    scale = alt.Scale(zero=False, padding=12)
    colours = alt.Scale(domain=kinds, range=[BLUE, ORANGE, GREEN][: len(kinds)])
    shapes = alt.Scale(domain=kinds, range=["circle", "diamond", "square"][: len(kinds)])
    legend = alt.Legend(title=None, orient="top", labelLimit=300)
    base = alt.Chart(rows).encode(
        y=alt.Y("system:N", sort=list(dict.fromkeys(rows["system"])), title=None, axis=names_axis(labelLimit=180)),
        yOffset=alt.YOffset("kind:N", sort=kinds),
        color=alt.Color("kind:N", scale=colours, legend=legend),
        tooltip=tooltip("system:N", ("kind:N", "estimate"), ("shown:N", title)),
    )
    bar = base.mark_bar(size=3, opacity=0.45).encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q")
    dot = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("value:Q", title=title, scale=scale), shape=alt.Shape("kind:N", scale=shapes, legend=legend)
    )
    return alt.LayerChart(layer=[bar, dot]).properties(height=46 * max(1, rows["system"].nunique()) + 90)


def agreement_over_time(rows: pd.DataFrame) -> alt.LayerChart:
    """Return α by window of outputs with its 95 % CI; 0 is agreement by chance. `rows` has window, value, low, high, shown, when."""
    scale = alt.Scale(domainMax=1.0, zero=True, nice=True)
    base = alt.Chart(rows).encode(
        x=alt.X("window:O", title="outputs, in the order of completion", axis=alt.Axis(labelAngle=0, ticks=False)),
        tooltip=tooltip(("window:O", "outputs"), ("shown:N", "α"), ("when:N", "completed")),
    )
    y = alt.Y("value:Q", title="Krippendorff's α ↑", scale=scale)
    floor = inline([{"at": 0}]).mark_rule(color=GREY, strokeDash=[5, 4]).encode(y=alt.Y("at:Q", title=None))
    bar = base.mark_rule(color=BLUE, opacity=0.45, strokeWidth=3).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    line = base.mark_line(color=BLUE, point=alt.OverlayMarkDef(filled=True, size=80)).encode(y=y)
    return alt.LayerChart(layer=[floor, bar, line]).properties(height=240)
