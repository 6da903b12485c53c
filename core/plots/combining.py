"""Charts of metric combinations and adversarial tests, after Figures 1 to 3 of Chen and Eger (2023)."""

from __future__ import annotations

import altair as alt
import pandas as pd

from core.plots.calibration import BLUE, ORANGE
from core.plots.labels import chart_label, with_labels

AVERAGES = ("all", "adequacy", "fluency")
ROW, COLUMN, CELL, LABELS, HEAD = 26, 92, 58, 120, 30
"""Pixels; charts with labels are fitted into the size that is given."""
QUALITY, ROBUSTNESS = "agreement with human scores", "adversarial accuracy"


def paths(points: pd.DataFrame, measure: str = "") -> alt.LayerChart:
    """Return Figure 2: one line per metric, from the metric alone (w = 0) to the NLI metric alone (w = 1).

    `points` has the columns metric, w, quality and robustness; rows that lack quality or robustness are left out.
    """
    there, measure = with_labels(points.dropna(subset=["quality", "robustness"]), "metric"), chart_label(measure)
    metrics = list(dict.fromkeys(there["metric"]))
    legend = alt.Legend(orient="top", title=None, labelLimit=240, columns=3)
    base = alt.Chart(there).encode(
        x=alt.X(
            "robustness:Q", title=f"{ROBUSTNESS} ↑", scale=alt.Scale(zero=False, padding=12), axis=alt.Axis(format="%")
        ),
        y=alt.Y(
            "quality:Q",
            title=f"{QUALITY}{f' ({measure})' if measure else ''} ↑",
            scale=alt.Scale(zero=False, padding=12),
        ),
        color=alt.Color("metric:N", sort=metrics, legend=legend),
        order=alt.Order("w:Q"),
        tooltip=[
            alt.Tooltip("metric:N"),
            alt.Tooltip("w:Q", format=".2f", title="w (share of NLI)"),
            alt.Tooltip("robustness:Q", format=".1%", title=ROBUSTNESS),
            alt.Tooltip("quality:Q", format=".3f", title=QUALITY),
        ],
    )
    dots = base.mark_point(filled=True, opacity=1).encode(
        size=alt.condition("datum.w == 0", alt.value(110), alt.value(35)),
        shape=alt.Shape("metric:N", sort=metrics, legend=legend),
    )
    return alt.LayerChart(layer=[base.mark_line(opacity=0.7), dots]).properties(height=360)


def improvements(rows: pd.DataFrame) -> alt.LayerChart:
    """Return Figure 3: the relative improvement of metrics by weight, mean and 95 % CI, for quality, robustness or both.

    `rows` has the columns w, what, change, low, high and n (number of metrics); rows without a change are left out. A single line has
    no legend and the same colour as in a chart of both.
    """
    there = rows.dropna(subset=["change"]).replace({"what": {"quality": QUALITY, "robustness": ROBUSTNESS}})
    both, names = [QUALITY, ROBUSTNESS], list(dict.fromkeys(there["what"]))
    legend = alt.Legend(orient="top", title=None, labelLimit=240) if len(names) > 1 else None
    named = alt.Color("what:N", scale=alt.Scale(domain=both), legend=legend)
    base = alt.Chart(there).encode(
        x=alt.X("w:Q", title="w (share of NLI)", scale=alt.Scale(domain=[0, 1])),
        color=named,
        tooltip=[
            alt.Tooltip("what:N", title="of"),
            alt.Tooltip("w:Q", format=".2f"),
            alt.Tooltip("change:Q", format="+.1%"),
            alt.Tooltip("low:Q", format="+.1%", title="95 % CI from"),
            alt.Tooltip("high:Q", format="+.1%", title="to"),
            alt.Tooltip("n:Q", title="metrics"),
        ],
    )
    title = f"change of {names[0] if len(names) == 1 else 'the value'} ↑"
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title=title, axis=alt.Axis(format="+%")), y2="high:Q")
    line = base.mark_line(point=True).encode(
        y=alt.Y("change:Q", title=title), shape=alt.Shape("what:N", scale=alt.Scale(domain=both), legend=None)
    )
    zero = alt.Chart(there.head(1)).mark_rule(strokeDash=[4, 4], color="gray", opacity=0.6).encode(y=alt.YDatum(0.0))
    return alt.LayerChart(layer=[zero, band, line]).properties(height=300)


def courses(points: pd.DataFrame, what: str, measure: str = "") -> alt.Chart:
    """Return quality or robustness by w, one line per metric, for data that lacks the other axis of Figure 2.

    `points` has the columns metric, w and `what` ("quality" or "robustness"); rows without a value are left out.
    """
    there, measure = with_labels(points.dropna(subset=[what]), "metric"), chart_label(measure)
    metrics, share = list(dict.fromkeys(there["metric"])), what == "robustness"
    title = ROBUSTNESS if share else f"{QUALITY} ({measure})" if measure else QUALITY
    legend = alt.Legend(orient="top", title=None, labelLimit=240, columns=3)
    y = alt.Y(
        f"{what}:Q", title=f"{title} ↑", scale=alt.Scale(zero=False), axis=alt.Axis(format="%" if share else ".2f")
    )
    tooltip = [
        alt.Tooltip("metric:N"),
        alt.Tooltip("w:Q", format=".2f", title="w (share of NLI)"),
        alt.Tooltip(f"{what}:Q", format=".1%" if share else ".3f", title=title),
    ]
    chart: alt.Chart = (
        alt.Chart(there)
        .mark_line(point=True)
        .encode(
            x=alt.X("w:Q", title="w (share of NLI)", scale=alt.Scale(domain=[0, 1])),
            y=y,
            color=alt.Color("metric:N", sort=metrics, legend=legend),
            shape=alt.Shape("metric:N", sort=metrics, legend=legend),
            tooltip=tooltip,
        )
        .properties(height=300)
    )
    return chart


def effect(
    steps: pd.DataFrame, w: float, title: str, *, percent: bool = False, best: tuple[float, float] | None = None
) -> alt.LayerChart:
    """Return a value as a step function of w, with the current w marked and the best interval of w shaded.

    `steps` has the columns w (ascending) and value: the value from each w to the next. Rows without a value are left out.
    """
    title = chart_label(title)
    there, numbers = steps.dropna(subset=["value"]), "%" if percent else ".2f"
    x = alt.X("w:Q", title="w (share of NLI)", scale=alt.Scale(domain=[0, 1]))
    y = alt.Y("value:Q", title=f"{title} ↑", scale=alt.Scale(zero=False), axis=alt.Axis(format=numbers))
    tooltip = [
        alt.Tooltip("w:Q", format=".2f", title="from w"),
        alt.Tooltip("value:Q", format=".1%" if percent else ".3f", title=title),
    ]
    layers: list[alt.Chart] = []
    if best is not None:
        shade = alt.Chart(pd.DataFrame([{"low": best[0], "high": best[1]}])).mark_rect(color=ORANGE, opacity=0.25)
        layers.append(shade.encode(x=alt.X("low:Q", scale=alt.Scale(domain=[0, 1])), x2="high:Q"))
    layers.append(alt.Chart(there).mark_line(interpolate="step-after", color=BLUE).encode(x=x, y=y, tooltip=tooltip))
    rule = alt.Chart(pd.DataFrame([{"w": w}])).mark_rule(color=ORANGE, strokeWidth=2, strokeDash=[4, 3])
    layers.append(rule.encode(x=x, tooltip=[alt.Tooltip("w:Q", format=".2f", title="current w")]))
    return alt.LayerChart(layer=layers).properties(height=200)


def pooling(rows: pd.DataFrame, what: str, *, percent: bool = False) -> alt.LayerChart:
    """Return Table 7 for one dataset as a heat map: pooling strategies by direction and formula, with a frame around the best.

    `rows` has the columns direction, formula and value, in display order; a cell without a value is empty.
    """
    rows, what = with_labels(rows, "direction", "formula"), chart_label(what)
    directions, formulas = list(dict.fromkeys(rows["direction"])), list(dict.fromkeys(rows["formula"]))
    low, high = rows["value"].min(), rows["value"].max()
    shown = rows.assign(shade=(rows["value"] - low) / ((high - low) or 1.0), best=rows["value"] == high)
    base = alt.Chart(shown).encode(
        x=alt.X("formula:N", sort=formulas, title=None, axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("direction:N", sort=directions, title=None, axis=alt.Axis(labelLimit=180)),
        tooltip=[
            alt.Tooltip("direction:N"),
            alt.Tooltip("formula:N"),
            alt.Tooltip("value:Q", format=".1%" if percent else ".3f", title=what),
        ],
    )
    there = alt.datum["value"] != None  # noqa: E711
    scale = alt.Scale(scheme="blues", domain=[0, 1])
    cells = base.transform_filter(there).mark_rect().encode(color=alt.Color("shade:Q", scale=scale, legend=None))
    frames = base.transform_filter(alt.datum["best"]).mark_rect(filled=False, stroke=ORANGE, strokeWidth=3)
    words = (
        base.transform_filter(there)
        .mark_text()
        .encode(
            text=alt.Text("value:Q", format=".0%" if percent else ".3f"),
            color=alt.condition("datum.shade > 0.55", alt.value("white"), alt.value("black")),
        )
    )
    size = {"width": LABELS + CELL * len(formulas), "height": HEAD + 1.4 * ROW * len(directions)}
    return alt.LayerChart(layer=[cells, frames, words]).properties(**size)


def heatmap(rows: pd.DataFrame) -> alt.LayerChart:
    """Return Figure 1: accuracy by phenomenon and metric, averages last. The reason for an empty cell is in its tooltip.

    `rows` has the columns of `core.services.robustness.adversarial.Row`; the 95 % CI is in the tooltip.
    """
    rows = with_labels(rows, "phenomenon", "metric", "reason")
    names, metrics = list(dict.fromkeys(rows["phenomenon"])), list(dict.fromkeys(rows["metric"]))
    names.sort(key=lambda name: name in AVERAGES)
    base = alt.Chart(rows).encode(
        x=alt.X("metric:N", sort=metrics, title=None, axis=alt.Axis(orient="top", labelAngle=-30, labelLimit=180)),
        y=alt.Y("phenomenon:N", sort=names, title=None, axis=alt.Axis(labelLimit=220)),
        tooltip=[
            alt.Tooltip("phenomenon:N"),
            alt.Tooltip("metric:N"),
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip("low:Q", format=".1%", title="95 % CI from"),
            alt.Tooltip("high:Q", format=".1%", title="to"),
            alt.Tooltip("compared:Q", title="cases"),
            alt.Tooltip("tied:Q", title="tied cases"),
            alt.Tooltip("undefined:Q", title="without a score"),
            alt.Tooltip("reason:N"),
        ],
    )
    there = alt.datum["accuracy"] != None  # noqa: E711
    scale = alt.Scale(scheme="blues", domain=[0, 1])
    cells = base.mark_rect().encode(color=alt.Color("accuracy:Q", scale=scale, legend=None))
    words = (
        base.transform_filter(there)
        .mark_text()
        .encode(
            text=alt.Text("accuracy:Q", format=".0%"),
            color=alt.condition("datum.accuracy > 0.55", alt.value("white"), alt.value("black")),
        )
    )
    size = {"width": COLUMN * max(1, len(metrics)), "height": ROW * max(1, len(names))}
    return alt.LayerChart(layer=[cells, words]).properties(**size)
