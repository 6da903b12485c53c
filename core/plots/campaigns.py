"""Charts of campaigns: ratings per day, means of systems, planned power, and agreement of raters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.formatting import format_count, format_number
from core.plots.base import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    TEXT,
    chart_label,
    chart_labels,
    dot_plot,
    inline,
    names_axis,
    tooltip,
    with_labels,
)
from core.stats.correlation.pairs import Ints
from core.stats.raters.rater_agreement import RaterPair

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
    return dot_plot(rows, "system", title, [("shown:N", chart_label(title))], colour=alt.value(BLUE))


def differences(rows: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return a dot plot of paired differences with their 95 % CIs and a line at 0; those that are not significant are grey.

    `rows` has the columns pair, value, low, high, shown, p (text) and significant.
    """
    title, colour = chart_label(title), alt.condition("datum.significant", alt.value(BLUE), alt.value(GREY))
    zero = inline([{"at": 0}]).mark_rule(color=GREY, strokeDash=[5, 4]).encode(x=alt.X("at:Q", title=title))
    dots = dot_plot(rows, "pair", title, [("shown:N", title), ("p:N", "p (Holm)")], colour=colour, limit=220)
    return alt.LayerChart(layer=[zero, dots], height=dots.height)


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


HEIGHT = 320


def planning_chart(
    points: Iterable[tuple[int, int, float]], segments: int, raters: int, title: str = "detectable difference (points)"
) -> alt.LayerChart:
    """Return a line per number of annotators per output, from (segments, raters, difference); the plan is marked."""
    all_points = tuple(points)
    rows = [
        {"segments": n, "raters": format_count(k, "annotator"), "k": k, "difference": difference}
        for n, k, difference in all_points
    ]
    x = alt.X("segments:Q", title="segments", scale=alt.Scale(zero=False), axis=alt.Axis(tickMinStep=1))
    y = alt.Y("difference:Q", title=f"{title} ↓", scale=alt.Scale(zero=False))
    names = [format_count(k, "annotator") for k in sorted({k for _, k, _ in all_points})]
    lines = tooltip(
        ("segments:Q", "segments"), ("raters:N", "per output"), ("difference:Q", "detectable difference", ".2f")
    )
    colour = alt.Color("raters:N", sort=names, legend=alt.Legend(title="per output", orient="top"))
    dash = alt.StrokeDash("raters:N", sort=names, legend=None)
    curve = inline(rows).mark_line(point=alt.OverlayMarkDef(size=22)).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=lines)  # fmt: skip
    planned = inline(row for row in rows if row["segments"] == segments and row["k"] == raters)
    mark = planned.mark_point(color=ORANGE, size=140, filled=True, opacity=1, shape="diamond").encode(
        x=x, y=y, tooltip=lines
    )
    return alt.LayerChart(layer=[curve, mark], width="container", height=HEIGHT)


CELL = 44
NAMES = 120
FONT = 13


def tau_matrix(raters: Sequence[str], pairs: Sequence[RaterPair], *, ink: str = "gray") -> alt.LayerChart:
    """Return a rater × rater matrix of τ-b; undefined cells are empty and have the reason in the tooltip.

    `ink` is the colour of the numbers, because themes do not set it. Show the chart with width `matrix_width`.
    """
    names, rows = chart_labels(raters), []
    for p in pairs:
        text = format_number(p.tau.value, 2, leading_zero=True)
        why = p.tau.reason or (f"defined in {p.tau.counted} segments" if p.tau.counted else "")
        shared = {"tau": p.tau.value, "text": text, "n": p.tau.n, "why": why}
        first, second = chart_label(p.first), chart_label(p.second)
        rows += [{"a": first, "b": second, **shared}, {"a": second, "b": first, **shared}]
    base = inline(rows).encode(
        x=alt.X("a:N", sort=names, title=None, axis=names_axis(labelLimit=NAMES - 10, labelAngle=-90)),
        y=alt.Y("b:N", sort=names, title=None, axis=names_axis(labelLimit=NAMES - 10)),
        tooltip=tooltip(
            ("a:N", "rater"),
            ("b:N", "rater"),
            ("text:N", "Kendall τ-b"),
            ("n:Q", "outputs rated by both"),
            ("why:N", "note"),
        ),
    )
    scale = alt.Scale(domain=[-1, 0, 1], range=[ORANGE + "99", GREY + "22", BLUE + "99"])
    cells = base.mark_rect(cornerRadius=3).encode(
        color=alt.condition(
            "isValid(datum.tau)", alt.Color("tau:Q", scale=scale, legend=None), alt.value("transparent")
        )
    )
    return alt.LayerChart(layer=[cells, _numbers(base, ink)]).properties(height=CELL * max(1, len(raters)) + NAMES)


def matrix_width(n_raters: int) -> int:
    """Return the width in pixels for n columns and the names of the rows."""
    return (CELL + 16) * n_raters + NAMES


def severity_confusion(
    counts: Ints, names: Sequence[str], *, rows: str, columns: str, ink: str = "gray"
) -> alt.LayerChart:
    """Return the number of characters per severity of one rater (`rows`) and the other (`columns`), shaded by the share of the row.

    `counts` has shape (len(names), len(names)). The last cell (marked by neither) is left out. `ink` is the colour of the numbers.
    """
    rows, columns, names = chart_label(rows), chart_label(columns), chart_labels(names)
    cells: list[dict[str, Any]] = []
    for i, severity in enumerate(names):
        total = int(counts[i].sum())
        for other, n in zip(names, counts[i].tolist(), strict=True):
            share = n / total if total else 0.0
            cells.append({"row": severity, "column": other, "n": n, "share": share, "text": f"{n:,}"})
    base = inline(cells[:-1]).encode(
        x=alt.X("column:N", sort=names, title=columns, axis=names_axis(labelAngle=0)),
        y=alt.Y("row:N", sort=names, title=rows, axis=names_axis(labelAngle=0)),
        tooltip=tooltip(
            ("row:N", rows), ("column:N", columns), ("n:Q", "characters", ","), ("share:Q", "share of the row", ".0%")
        ),
    )
    shade = alt.Scale(domain=[0, 1], range=[0, 0.55])
    rect = base.mark_rect(color=BLUE, cornerRadius=3).encode(opacity=alt.Opacity("share:Q", scale=shade, legend=None))
    return alt.LayerChart(layer=[rect, _numbers(base, ink)]).properties(height=CELL * len(names) + 60)


def _numbers(base: alt.Chart, ink: str) -> alt.Chart:
    text: alt.Chart = base.mark_text(fontSize=FONT, color=ink).encode(text="text:N")
    return text
