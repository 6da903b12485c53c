"""Charts of length and bias on the Evaluate page: agreement by text length, and rank differences by system."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.plots.encodings import BLUE, GREY, ORANGE, TEXT, TINT, colour_and_shape, names_axis, tooltip
from core.plots.labels import chart_label, chart_labels, with_labels


def lengths(rows: pd.DataFrame, metrics: Sequence[str], y_label: str) -> alt.LayerChart:
    """Return one line per metric over length buckets from short to long, with CIs if given; 0 is dashed.

    `rows` has the columns metric, place (0, 1, …), bucket (its name), segments, value, low, high and shown (the value as
    text). Rows without a value are left out.
    """
    rows, metrics, y_label = with_labels(rows, "metric", "bucket"), chart_labels(metrics), chart_label(y_label)
    order = list(rows.sort_values("place")["bucket"].unique())
    drawn = rows.dropna(subset=["value"])
    legend = alt.Legend(orient="bottom", title=None, columns=5, labelLimit=220, symbolOpacity=1)
    colour, shape = colour_and_shape("metric:N", metrics, legend)
    base = alt.Chart(drawn).encode(
        x=alt.X("bucket:O", sort=order, title=None, axis=alt.Axis(labelAngle=0, labelLimit=200)),
        xOffset=alt.XOffset("metric:N", sort=metrics, scale=alt.Scale(domain=metrics, paddingOuter=1)),
        color=colour,
    )
    y = alt.Y("value:Q", title=y_label, scale=alt.Scale(zero=False, nice=True, padding=12))
    lines = tooltip("metric:N", ("bucket:O", "words"), "segments:Q", ("shown:N", y_label))
    zero = alt.Chart(rows.head(1)).mark_rule(aria=False, strokeDash=[5, 4], color=GREY).encode(y=alt.YDatum(0))
    bars = base.mark_rule(strokeWidth=2, opacity=0.4).encode(y=alt.Y("low:Q", title=y_label), y2="high:Q")
    line = base.mark_line(strokeWidth=1.5, opacity=0.55).encode(y=y)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(y=y, shape=shape, tooltip=lines)
    layers = [bars, line, dots] if drawn.empty else [zero, bars, line, dots]
    return alt.LayerChart(layer=layers).properties(height=340)


def rank_differences(rows: pd.DataFrame, metrics: Sequence[str], systems: Sequence[str]) -> alt.LayerChart:
    """Return one cell per metric and system: metric rank − human rank.

    Blue: the metric ranks the system higher than the human scores do; orange: lower; stronger colour for larger differences.
    Numbers that do not fit are hidden.

    `rows` has the columns metric, system, human_rank, metric_rank, difference and shown (the difference as text).
    """
    rows, metrics, systems = with_labels(rows, "metric", "system"), chart_labels(metrics), chart_labels(systems)
    size = rows["difference"].abs()
    most = max(1.0, float(size.max()) if len(rows) else 1.0)
    fill = 0.03 + (TINT - 0.03) * size / most
    across = names_axis(labelLimit=120, labelAngle=-40)
    base = alt.Chart(rows.assign(fill=fill)).encode(
        x=alt.X("system:N", sort=systems, title="systems, best human score first", axis=across),
        y=alt.Y("metric:N", sort=metrics, title=None, axis=names_axis(labelLimit=200)),
        tooltip=tooltip(
            "system:N",
            "metric:N",
            ("human_rank:Q", "human rank", ".3~g"),
            ("metric_rank:Q", "metric rank", ".3~g"),
            ("shown:N", "difference"),
        ),
    )
    tiles = base.mark_rect(stroke=GREY, strokeOpacity=0.18).encode(
        color=alt.condition(alt.datum.difference < 0, alt.value(BLUE), alt.value(ORANGE)),
        opacity=alt.Opacity("fill:Q", scale=None),
    )
    fits = f"width / {0.6 * max(1, len(systems)) * max(map(len, rows['shown']), default=1):.3g}"
    text = base.mark_text(fontSize=alt.ExprRef(f"{fits} < 8 ? 0 : min(11, {fits})"), color=TEXT).encode(text="shown:N")
    return alt.LayerChart(layer=[tiles, text]).properties(height=28 * max(1, len(metrics)) + 120)
