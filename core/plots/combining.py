"""Charts of metric combinations and adversarial tests, after Figures 1 to 3 of Chen and Eger (2023)."""

from __future__ import annotations

import altair as alt
import pandas as pd

from core.plots.base import BLUE, ORANGE, chart_label, colour_and_shape, distinct, tooltip, with_labels

AVERAGES = ("all", "adequacy", "fluency")
ROW, COLUMN, CELL, LABELS, HEAD = 26, 92, 58, 120, 30
"""Pixels; charts with labels are fitted into the size that is given."""
QUALITY, ROBUSTNESS = "agreement with human scores", "adversarial accuracy"


def _weight() -> alt.X:
    return alt.X("w:Q", title="w (share of NLI)", scale=alt.Scale(domain=[0, 1]))


def paths(points: pd.DataFrame, measure: str = "") -> alt.LayerChart:
    """Return Figure 2: one line per metric, from the metric alone (w = 0) to the NLI metric alone (w = 1).

    `points` has the columns metric, w, quality and robustness; rows that lack quality or robustness are left out.
    """
    plotted, measure = with_labels(points.dropna(subset=["quality", "robustness"]), "metric"), chart_label(measure)
    title = f"{QUALITY}{f' ({measure})' if measure else ''} ↑"
    scale = alt.Scale(zero=False, padding=12)
    colour, shape = _metrics(plotted)
    base = alt.Chart(plotted).encode(
        x=alt.X("robustness:Q", title=f"{ROBUSTNESS} ↑", scale=scale, axis=alt.Axis(format="%")),
        y=alt.Y("quality:Q", title=title, scale=scale),
        color=colour,
        order=alt.Order("w:Q"),
        tooltip=tooltip(
            "metric:N",
            ("w:Q", "w (share of NLI)", ".2f"),
            ("robustness:Q", ROBUSTNESS, ".1%"),
            ("quality:Q", QUALITY, ".3f"),
        ),
    )
    size = alt.condition("datum.w == 0", alt.value(110), alt.value(35))
    dots = base.mark_point(filled=True, opacity=1).encode(size=size, shape=shape)
    alone = base.transform_filter("datum.w == 0").mark_text(dy=-12, limit=160).encode(text="metric:N")
    return alt.LayerChart(layer=[base.mark_line(opacity=0.7), dots, alone]).properties(height=360)


def _metrics(rows: pd.DataFrame) -> tuple[alt.Color, alt.Shape]:
    legend = alt.Legend(orient="top", title=None, labelLimit=240, columns=3)
    return colour_and_shape("metric:N", distinct(rows["metric"]), legend)


def improvements(rows: pd.DataFrame) -> alt.LayerChart:
    """Return Figure 3: the relative improvement of metrics by weight, mean and 95 % CI, for quality, robustness or both.

    `rows` has the columns w, what, change, low, high and n (number of metrics); rows without a change are left out. A single line has
    no legend and the same colour as in a chart of both.
    """
    plotted = rows.dropna(subset=["change"]).replace({"what": {"quality": QUALITY, "robustness": ROBUSTNESS}})
    names, scale = distinct(plotted["what"]), alt.Scale(domain=[QUALITY, ROBUSTNESS])
    legend = alt.Legend(orient="top", title=None, labelLimit=240) if len(names) > 1 else None
    base = alt.Chart(plotted).encode(
        x=_weight(),
        color=alt.Color("what:N", scale=scale, legend=legend),
        tooltip=tooltip(
            ("what:N", "of"),
            ("w:Q", "", ".2f"),
            ("change:Q", "", "+.1%"),
            ("low:Q", "95 % CI from", "+.1%"),
            ("high:Q", "to", "+.1%"),
            ("n:Q", "metrics"),
        ),
    )
    title = f"change of {names[0] if len(names) == 1 else 'the value'} ↑"
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title=title, axis=alt.Axis(format="+%")), y2="high:Q")
    shape = alt.Shape("what:N", scale=scale, legend=None)
    line = base.mark_line(point=True).encode(y=alt.Y("change:Q", title=title), shape=shape)
    zero = (
        alt.Chart(plotted.head(1))
        .mark_rule(aria=False, strokeDash=[4, 4], color="gray", opacity=0.6)
        .encode(y=alt.YDatum(0.0))
    )
    return alt.LayerChart(layer=[zero, band, line]).properties(height=300)


def courses(points: pd.DataFrame, what: str, measure: str = "") -> alt.Chart:
    """Return quality or robustness by w, one line per metric, for data that lacks the other axis of Figure 2.

    `points` has the columns metric, w and `what` ("quality" or "robustness"); rows without a value are left out.
    """
    plotted, measure = with_labels(points.dropna(subset=[what]), "metric"), chart_label(measure)
    share = what == "robustness"
    title = ROBUSTNESS if share else f"{QUALITY} ({measure})" if measure else QUALITY
    numbers = alt.Axis(format="%" if share else ".2f")
    colour, shape = _metrics(plotted)
    chart = alt.Chart(plotted, height=300).mark_line(point=True)
    drawn: alt.Chart = chart.encode(
        x=_weight(),
        y=alt.Y(f"{what}:Q", title=f"{title} ↑", scale=alt.Scale(zero=False), axis=numbers),
        color=colour,
        shape=shape,
        tooltip=tooltip(
            "metric:N", ("w:Q", "w (share of NLI)", ".2f"), (f"{what}:Q", title, ".1%" if share else ".3f")
        ),
    )
    return drawn


def effect(
    steps: pd.DataFrame, w: float, title: str, *, percent: bool = False, best: tuple[float, float] | None = None
) -> alt.LayerChart:
    """Return a value as a step function of w, with the current w marked and the best interval of w shaded.

    `steps` has the columns w (ascending) and value: the value from each w to the next. Rows without a value are left out.
    """
    title = chart_label(title)
    numbers = alt.Axis(format="%" if percent else ".2f")
    line = alt.Chart(steps.dropna(subset=["value"])).mark_line(interpolate="step-after", color=BLUE)
    rule = alt.Chart(pd.DataFrame([{"w": w}])).mark_rule(color=ORANGE, strokeWidth=2, strokeDash=[4, 3])
    layers = [
        line.encode(
            x=_weight(),
            y=alt.Y("value:Q", title=f"{title} ↑", scale=alt.Scale(zero=False), axis=numbers),
            tooltip=tooltip(("w:Q", "from w", ".2f"), ("value:Q", title, ".1%" if percent else ".3f")),
        ),
        rule.encode(x=_weight(), tooltip=tooltip(("w:Q", "current w", ".2f"))),
    ]
    if best is not None:
        shade = alt.Chart(pd.DataFrame([{"low": best[0], "high": best[1]}])).mark_rect(color=ORANGE, opacity=0.25)
        layers.insert(0, shade.encode(x=alt.X("low:Q", scale=alt.Scale(domain=[0, 1])), x2="high:Q"))
    return alt.LayerChart(layer=layers).properties(height=200)


def pooling(rows: pd.DataFrame, what: str, *, percent: bool = False) -> alt.LayerChart:
    """Return Table 7 for one dataset as a heat map: pooling strategies by direction and formula, with a frame around the best.

    `rows` has the columns direction, formula and value, in display order; a cell without a value is empty.
    """
    rows, what = with_labels(rows, "direction", "formula"), chart_label(what)
    directions, formulas = distinct(rows["direction"]), distinct(rows["formula"])
    low, high = rows["value"].min(), rows["value"].max()
    shown = rows.assign(shade=(rows["value"] - low) / ((high - low) or 1.0), best=rows["value"] == high)
    base = alt.Chart(shown).encode(
        x=alt.X("formula:N", sort=formulas, title=None, axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("direction:N", sort=directions, title=None, axis=alt.Axis(labelLimit=180)),
        tooltip=tooltip("direction:N", "formula:N", ("value:Q", what, ".1%" if percent else ".3f")),
    )
    with_value = base.transform_filter(alt.datum["value"] != None)  # noqa: E711
    frames = base.transform_filter(alt.datum["best"]).mark_rect(filled=False, stroke=ORANGE, strokeWidth=3)
    layers = [
        with_value.mark_rect().encode(color=_shade("shade")),
        frames,
        _words(with_value, "value", "shade", percent),
    ]
    size = {"width": LABELS + CELL * len(formulas), "height": HEAD + 1.4 * ROW * len(directions)}
    return alt.LayerChart(layer=layers).properties(**size)


def heatmap(rows: pd.DataFrame) -> alt.LayerChart:
    """Return Figure 1: accuracy by phenomenon and metric, averages last. The reason for an empty cell is in its tooltip.

    `rows` has the columns of `core.services.robustness.adversarial.Row`; the 95 % CI is in the tooltip.
    """
    rows = with_labels(rows, "phenomenon", "metric", "reason")
    metrics = distinct(rows["metric"])
    names = sorted(distinct(rows["phenomenon"]), key=lambda name: name in AVERAGES)
    base = alt.Chart(rows).encode(
        x=alt.X("metric:N", sort=metrics, title=None, axis=alt.Axis(orient="top", labelAngle=-30, labelLimit=180)),
        y=alt.Y("phenomenon:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, labelOverlap=False)),
        tooltip=tooltip(
            ("phenomenon:N", "kind of error"),
            "metric:N",
            ("accuracy:Q", "", ".1%"),
            ("low:Q", "95 % CI from", ".1%"),
            ("high:Q", "to", ".1%"),
            ("compared:Q", "cases"),
            ("tied:Q", "tied cases"),
            ("undefined:Q", "without a score"),
            "reason:N",
        ),
    )
    with_value = base.transform_filter(alt.datum["accuracy"] != None)  # noqa: E711
    layers = [
        base.mark_rect().encode(color=_shade("accuracy")),
        _words(with_value, "accuracy", "accuracy", percent=True),
    ]
    size = {"width": COLUMN * max(1, len(metrics)), "height": ROW * max(1, len(names))}
    return alt.LayerChart(layer=layers).properties(**size)


def _shade(field: str) -> alt.Color:
    return alt.Color(f"{field}:Q", scale=alt.Scale(scheme="blues", domain=[0, 1]), legend=None)


def _words(base: alt.Chart, field: str, shade: str, percent: bool) -> alt.Chart:
    """Return the numbers in the cells, in white on dark ones."""
    colour = alt.condition(f"datum.{shade} > 0.55", alt.value("white"), alt.value("black"))
    words: alt.Chart = base.mark_text().encode(
        text=alt.Text(f"{field}:Q", format=".0%" if percent else ".3f"), color=colour
    )
    return words
