"""Charts of Compare and Meta-evaluation: means, scatter plots, differences between metrics, length and bias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.data import SegmentKey
from core.plots.base import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    TEXT,
    TINT,
    Line,
    chart_label,
    chart_labels,
    colour_and_shape,
    distinct,
    dot_plot,
    names_axis,
    tooltip,
    with_labels,
)

PICK = "pick"
"""Name of the selection in the scatter plot; its points have doc and segment as written by `chart_label`."""


def means(rows: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return a dot plot of system means with their 95 % CIs, in the order of the rows.

    `rows` has the columns system, mean, low, high, n; systems without a mean are left out.
    """
    lines = (("mean:Q", "", ".3f"), ("low:Q", "95 % CI from", ".3f"), ("high:Q", "to", ".3f"), ("n:Q", "outputs"))
    return dot_plot(rows.dropna(subset=["mean"]), "system", title, lines, value="mean", row=34, rest=70)


def picked_segment(event: Mapping[str, Any], segments: Iterable[SegmentKey]) -> SegmentKey | None:
    """Return the segment of the point that was clicked in a scatter plot, from the event of its selection."""
    for point in list(event.get("selection", {}).get(PICK) or [])[:1]:
        where = [str(point["doc"]), str(point["segment"])]
        return next((segment for segment in segments if chart_labels(segment) == where), None)
    return None


def scatter(rows: pd.DataFrame, x_label: str, y_label: str, systems: Sequence[str] | None) -> alt.Chart:
    """Return a scatter plot with one point per output; a click selects it (selection `pick`: doc, segment).

    `rows` has the columns x, y, system, doc, segment. With `systems`, points differ by colour and shape; None hides the
    systems (blind mode).
    """
    rows = with_labels(rows, "system", "doc", "segment")
    x_label, y_label = chart_label(x_label), chart_label(y_label)
    pick = alt.selection_point(name=PICK, fields=["doc", "segment"], on="click", clear="dblclick")
    scale = alt.Scale(zero=False, nice=True, padding=8)
    lines: list[Line] = ["system:N"] if systems is not None else []
    lines += [("doc:N", "document"), "segment:N", ("x:Q", x_label, ".3f"), ("y:Q", y_label, ".3f")]
    chart: alt.Chart = alt.Chart(rows, height=340).mark_point(filled=True, size=70, cursor="pointer")
    chart = chart.add_params(pick).encode(
        x=alt.X("x:Q", title=x_label, scale=scale),
        y=alt.Y("y:Q", title=y_label, scale=scale),
        opacity=alt.condition(pick, alt.value(0.8), alt.value(0.25)),
        tooltip=tooltip(*lines),
    )
    if systems is None:
        return chart
    legend = alt.Legend(orient="bottom", title=None, columns=4, labelLimit=160)
    colour, shape = colour_and_shape("system:N", chart_labels(systems), legend)
    return chart.encode(color=colour, shape=shape)


def agreements(rows: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return a dot plot of agreements with their 95 % CIs, in the order of the rows; baselines are grey.

    `rows` has the columns metric, value, low, high, shown (the value as text) and baseline.
    """
    colour = alt.condition("datum.baseline", alt.value(GREY), alt.value(BLUE))
    return dot_plot(rows, "metric", title, [("shown:N", chart_label(title))], colour=colour, row=26, rest=70)


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
    best_point = alt.Chart(rows[rows["epsilon"] == best]).mark_point(filled=True, size=90, color=BLUE, opacity=1)
    floor = alt.Chart(rows.head(1)).mark_rule(aria=False, strokeDash=[5, 4], color=GREY).encode(y=alt.YDatum(chance))
    lines = tooltip(("epsilon:Q", "ε", ".4g"), ("accuracy:Q", "", ".3f"))
    return alt.LayerChart(layer=[line, floor, best_point.encode(x=x, y=y, tooltip=lines)]).properties(height=240)


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


def omega(rows: pd.DataFrame, epsilon: float) -> alt.LayerChart:
    """Return ω by ε as steps, a colour per question and dashes for the constant answer; ω = .5 is dashed, the chosen ε a line.

    `rows` has the columns question, answer ("judge" or "constant answer"), epsilon and omega.
    """
    x = alt.X("epsilon:Q", title="ε", scale=alt.Scale(domain=[0, 0.3], nice=False))
    y = alt.Y("omega:Q", title="ω ↑", scale=alt.Scale(domain=[0, 1]))
    who = alt.Scale(domain=["judge", "constant answer"], range=[[1, 0], [5, 4]])
    top = alt.Legend(orient="top", title=None, labelLimit=300, columns=1)
    foot = alt.Legend(orient="bottom", title=None, labelLimit=300)
    questions = distinct(rows["question"])
    line = alt.Chart(rows).mark_line(interpolate="step-after", strokeWidth=2.5, opacity=0.85).encode(
        x=x, y=y, strokeDash=alt.StrokeDash("answer:N", scale=who, legend=foot),
        color=alt.Color("question:N", scale=alt.Scale(domain=questions, range=[BLUE, ORANGE, GREEN]), legend=top),
        tooltip=tooltip("question:N", "answer:N", ("epsilon:Q", "ε", ".2f"), ("omega:Q", "ω", ".2f")),
    )  # fmt: skip
    one = alt.Chart(rows.head(1))
    half = one.mark_rule(aria=False, strokeDash=[5, 4], color=GREY).encode(y=alt.YDatum(0.5))
    chosen = one.mark_rule(aria=False, color=GREY).encode(x=alt.XDatum(epsilon))
    return alt.LayerChart(layer=[half, chosen, line]).properties(height=340)
