"""Combinations and adversarial tests in pictures, after Figures 1 to 3 of Chen and Eger 2023."""

from __future__ import annotations

import altair as alt
import pandas as pd

AVERAGES = ("all", "adequacy", "fluency")
ROW, COLUMN = 26, 92
QUALITY, ROBUSTNESS = "agreement with people", "adversarial accuracy"


def paths(points: pd.DataFrame, measure: str = "") -> alt.LayerChart:
    """Figure 2: one line a metric, from itself (w = 0) to the NLI metric (w = 1).

    `points` has the columns metric, w, quality and robustness; rows without one of the two are left out.
    """
    there = points.dropna(subset=["quality", "robustness"])
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
    """Figure 3: by what share each weight improves metrics, the mean and its 95 % interval; one line for quality, one for
    robustness.

    `rows` has the columns w, what, change, low, high and n (metrics); rows without a change are left out.
    """
    there = rows.dropna(subset=["change"]).replace({"what": {"quality": QUALITY, "robustness": ROBUSTNESS}})
    named = alt.Color("what:N", sort=[QUALITY, ROBUSTNESS], legend=alt.Legend(orient="top", title=None, labelLimit=240))
    base = alt.Chart(there).encode(
        x=alt.X("w:Q", title="w (share of NLI)", scale=alt.Scale(domain=[0, 1])),
        color=named,
        tooltip=[
            alt.Tooltip("what:N", title="of"),
            alt.Tooltip("w:Q", format=".2f"),
            alt.Tooltip("change:Q", format="+.1%"),
            alt.Tooltip("low:Q", format="+.1%", title="95 % from"),
            alt.Tooltip("high:Q", format="+.1%", title="to"),
            alt.Tooltip("n:Q", title="metrics"),
        ],
    )
    title = "change against the metric alone ↑"
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title=title, axis=alt.Axis(format="+%")), y2="high:Q")
    line = base.mark_line(point=True).encode(
        y=alt.Y("change:Q", title=title), shape=alt.Shape("what:N", sort=[QUALITY, ROBUSTNESS], legend=None)
    )
    zero = alt.Chart(there.head(1)).mark_rule(strokeDash=[4, 4], color="gray", opacity=0.6).encode(y=alt.YDatum(0.0))
    return alt.LayerChart(layer=[zero, band, line]).properties(height=300)


def heatmap(rows: pd.DataFrame) -> alt.LayerChart:
    """Figure 1: accuracy by phenomenon and metric, averages last. A cell without a value is empty and says why.

    `rows` has the columns of `core.services.adversarial.Row`; the interval stands in the tooltip.
    """
    names, metrics = list(dict.fromkeys(rows["phenomenon"])), list(dict.fromkeys(rows["metric"]))
    names.sort(key=lambda name: name in AVERAGES)
    base = alt.Chart(rows).encode(
        x=alt.X("metric:N", sort=metrics, title=None, axis=alt.Axis(orient="top", labelAngle=-30, labelLimit=180)),
        y=alt.Y("phenomenon:N", sort=names, title=None, axis=alt.Axis(labelLimit=220)),
        tooltip=[
            alt.Tooltip("phenomenon:N"),
            alt.Tooltip("metric:N"),
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip("low:Q", format=".1%", title="95 % from"),
            alt.Tooltip("high:Q", format=".1%", title="to"),
            alt.Tooltip("compared:Q", title="cases"),
            alt.Tooltip("tied:Q", title="of these tied"),
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
