"""Charts of the stress tests (He et al. 2023, Figures 4 and 5): verdicts per test and metric, and scores by noise ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.formatting import format_number
from core.plots.encodings import BLUE, GREY, ORANGE, distinct, names_axis, tooltip
from core.plots.labels import chart_label, chart_labels, with_labels
from core.robustness.stress.report import PARTS, MetricFacts, StressTestInfo, StressTestResult

PICK = "pick"
"""Name of the selection in the table of verdicts; its points have the names of test and metric."""
VERDICT_LABELS = {"fail": "✕ fail", "pass": "✓ pass", "unclear": "? inconclusive", "untold": "– no result"}
FILL = {"fail": "#b45309", "pass": "#dbeafe", "unclear": "#9ca3af", "untold": "#e5e7eb"}
INK = {"fail": "white", "pass": "#1e3a8a", "unclear": "black", "untold": "#4b5563"}
FAIL, PASS, OTHER = ORANGE, BLUE, GREY
ROW, COLUMN, LABELS, HEAD = 36, 90, 190, 110
"""Pixels; charts with labels are fitted into the size that is given."""
SMALL = 150
GOOD = "good text"
"""The label of level 0."""


def catalogue(rows: pd.DataFrame, heads: Sequence[str]) -> alt.LayerChart:
    """Return test × metric with a verdict in each cell; a click selects it (selection `pick`: test, metric).

    `rows` has the columns test, metric (names), row, column (their labels), verdict, told (a short number), why, drop, p and
    published. Its attribute `order` lists the labels of the rows from top to bottom; `heads` are those labels in it that are
    headings of groups and have no cells.
    """
    heads, order = chart_labels(heads), chart_labels(rows.attrs["order"])
    rows = with_labels(rows, "row", "column", "why")
    columns = distinct(rows["column"])
    shown = rows.assign(words=[f"{VERDICT_LABELS[v]}\n{t}" for v, t in zip(rows["verdict"], rows["told"], strict=True)])
    pick = alt.selection_point(name=PICK, fields=["test", "metric"], on="click", clear="dblclick")
    bold = f"indexof({list(heads)!r}, datum.value) >= 0"
    across = names_axis(orient="top", labelAngle=-35, labelLimit=170)
    down = names_axis(
        labelLimit=LABELS,
        labelFontWeight=alt.condition(bold, alt.value("bold"), alt.value("normal")),
        labelFontSize=alt.condition(bold, alt.value(13), alt.value(12)),
    )
    base = alt.Chart(shown).encode(
        x=alt.X("column:N", sort=columns, title=None, scale=alt.Scale(domain=columns), axis=across),
        y=alt.Y("row:N", sort=order, title=None, scale=alt.Scale(domain=order), axis=down),
        tooltip=tooltip(
            ("row:N", "test"), ("column:N", "metric"), "verdict:N", ("drop:N", "strongest level"), ("p:N", "p"), "why:N",
            ("published:N", "rule of He et al. (2023)"),
        ),
    )  # fmt: skip
    cells = base.mark_rect(cursor="pointer", cornerRadius=3, strokeWidth=2).encode(
        color=_verdict(alt.Color, FILL.values()),
        stroke=alt.condition(pick, alt.value("#7c3aed"), alt.value("transparent"), empty=False),
    )
    words = base.mark_text(lineBreak="\n", fontSize=11, lineHeight=13, dy=-6, cursor="pointer").encode(
        text="words:N", color=_verdict(alt.Color, INK.values())
    )
    size = {"width": COLUMN * len(columns) + LABELS, "height": ROW * len(order) + HEAD}
    layers = [cells.add_params(pick), words]
    return alt.LayerChart(layer=layers, resolve=alt.Resolve(scale={"color": "independent"})).properties(**size)


def _verdict(channel: Callable[..., Any], values: Iterable[Any]) -> Any:
    """Return the encoding of verdicts, in the order of `VERDICT_LABELS`, by a channel of a chart such as its colour."""
    return channel("verdict:N", legend=None, scale=alt.Scale(domain=list(VERDICT_LABELS), range=list(values)))


def cell_charts(cell: StressTestResult, test: StressTestInfo, metric: MetricFacts) -> list[alt.LayerChart | alt.Chart]:
    """Return the `curve` of a metric under a test, and its `parts` if the score has parts; nothing if no mean is defined."""
    if cell.gold is None or all(p.mean is None for p in cell.points):
        return []
    numbers = ["ratio", "mean", "sd", "drop", "p"]
    rows = pd.DataFrame([p._asdict() for p in cell.points])[["label", *numbers]].astype(dict.fromkeys(numbers, float))
    title = f"{metric.label} {'↑' if metric.higher_is_better else '↓'}"
    whole = curve(rows, cell.gold, title, fails=cell.verdict == "fail", graded=test.graded)
    levels = [(GOOD, 0.0, cell.gold_parts), *((p.label, p.ratio, p.parts) for p in cell.points)]
    of_parts = [
        {"part": name, "label": label, "ratio": ratio, "mean": values[name]}
        for label, ratio, values in levels
        for name in PARTS
        if name in values and name in cell.gold_parts
    ]
    return [whole, parts(pd.DataFrame(of_parts), graded=test.graded)] if of_parts else [whole]


def curve(rows: pd.DataFrame, gold: float, title: str, *, fails: bool, graded: bool) -> alt.LayerChart:
    """Return score by noise ratio with a band of one SD over seeds, gold at 0; the line of a failing metric is bold.

    `rows` has the columns label, ratio, mean, sd, drop and p, one row per level; levels without a mean are left out. Levels that
    are not graded are shown side by side without a line.
    """
    title = chart_label(title)
    there = with_labels(rows, "label").dropna(subset=["mean"])
    sd = there["sd"].fillna(0)
    there = there.assign(low=there["mean"] - sd, high=there["mean"] + sd)
    start = pd.DataFrame([{"label": GOOD, "ratio": 0.0, "mean": gold, "sd": 0.0, "low": gold, "high": gold}])
    scale = alt.Scale(zero=False, padding=14)
    y, low = (alt.Y(field, title=title, scale=scale) for field in ("mean:Q", "low:Q"))
    if graded:
        shown, x = (
            pd.concat([start, there], ignore_index=True),
            alt.X("ratio:Q", title="noise ratio", scale=alt.Scale(zero=True)),
        )
    else:
        labels = alt.Axis(labelAngle=0, labelLimit=150)
        shown, x = there, alt.X("label:N", sort=list(there["label"]), title=None, axis=labels)
    base = alt.Chart(shown).encode(
        x=x,
        tooltip=tooltip(
            ("label:N", "level"), ("ratio:Q", "noise ratio", ".2f"), ("mean:Q", title, ".4f"),
            ("sd:Q", "SD over seeds", ".4f"), ("drop:Q", "worse than the good texts by", "+.4f"), ("p:Q", "", ".3f"),
        ),
    )  # fmt: skip
    colour, shape = (FAIL, "diamond") if fails else (PASS, "circle")
    rule = alt.Chart(start).mark_rule(aria=False, strokeDash=[5, 4], color="gray").encode(y=y)
    dots = base.mark_point(filled=True, size=80 if graded else 110, opacity=1, color=colour, shape=shape).encode(y=y)
    if graded:
        band = base.mark_area(opacity=0.22, color=colour).encode(y=low, y2="high:Q")
        layers = [rule, band, base.mark_line(strokeWidth=4 if fails else 2, color=colour).encode(y=y), dots]
    else:
        layers = [rule, base.mark_bar(size=3, opacity=0.4, color=colour).encode(y=low, y2="high:Q"), dots]
    return alt.LayerChart(layer=layers).properties(height=260)


def parts(rows: pd.DataFrame, *, graded: bool) -> alt.Chart:
    """Return the parts of a score, such as precision and recall, by noise ratio (Figure 5).

    `rows` has the columns part, label, ratio and mean, including gold at ratio 0.
    """
    rows = with_labels(rows, "part", "label")
    flat = alt.X("label:N", sort=distinct(rows["label"]), title=None, axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(domain=distinct(rows["part"]))  # the same scale, so that both legends become one
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=2)
    lines = alt.Chart(rows, height=260).mark_line(point=alt.OverlayMarkDef(size=60, filled=True))
    chart: alt.Chart = lines.encode(
        x=alt.X("ratio:Q", title="noise ratio") if graded else flat,
        y=alt.Y("mean:Q", title="mean", scale=alt.Scale(zero=False, padding=14)),
        color=alt.Color("part:N", scale=scale, legend=legend),
        strokeDash=alt.StrokeDash("part:N", scale=scale, legend=legend),
        tooltip=tooltip("part:N", ("label:N", "level"), ("mean:Q", "", ".4f")),
    )
    return chart


def multiples(rows: pd.DataFrame, *, graded: bool) -> alt.FacetChart:
    """Return the change of each metric's score in % of gold by noise ratio, one small chart per metric; above 0, noise is rewarded.

    `rows` has the columns metric, label, ratio, share (the drop as a share of gold) and verdict, including gold at ratio 0.
    """
    rows = with_labels(rows, "metric", "label")
    shown = rows.assign(fall=-rows["share"])
    flat = alt.X("label:N", sort=distinct(rows["label"]), title=None, axis=alt.Axis(labelLimit=70))
    base = alt.Chart(shown).encode(
        x=alt.X("ratio:Q", title=None, axis=alt.Axis(tickCount=3)) if graded else flat,
        y=alt.Y("fall:Q", title="change, % of the good texts’ score", axis=alt.Axis(format="+.0%", tickCount=4)),
        color=_verdict(alt.Color, [FAIL, PASS, OTHER, OTHER]),
        tooltip=tooltip("metric:N", ("label:N", "level"), ("fall:Q", "change", "+.1%"), "verdict:N"),
    )
    rule = alt.Chart().mark_rule(aria=False, color="gray", opacity=0.7).encode(y=alt.YDatum(0.0))
    line = base.mark_line().encode(strokeWidth=_verdict(alt.StrokeWidth, [4, 1.5, 1.5, 1.5]))
    layered = alt.layer(rule, line, base.mark_point(filled=True, size=30), data=shown)
    names = alt.Facet("metric:N", sort=distinct(rows["metric"]), title=None, header=alt.Header(labelLimit=SMALL))
    chart: alt.FacetChart = layered.properties(width=SMALL, height=110).facet(facet=names, columns=5)
    return chart


def favours(rows: pd.DataFrame) -> alt.LayerChart:
    """Return metric × system with rank and mean in each cell; darker is a better rank.

    An outline and ◆ mark systems built on the same model as the metric. `rows` has the columns metric, system, mean, rank, own,
    based and built.
    """
    rows = with_labels(rows, "metric", "system", "based", "built")
    metrics, systems = distinct(rows["metric"]), distinct(rows["system"])
    ranks = zip(rows["rank"], rows["mean"], rows["own"], strict=True)
    shown = rows.assign(
        words=[f"{'◆ ' if own else ''}{rank:g}\n{format_number(mean, leading_zero=True)}" for rank, mean, own in ranks]
    )
    above = alt.Axis(orient="top", labelAngle=-30, labelLimit=160, labelOverlap=False)
    base = alt.Chart(shown).encode(
        x=alt.X("system:N", sort=systems, title="systems", axis=above),
        y=alt.Y("metric:N", sort=metrics, title=None, axis=alt.Axis(labelLimit=LABELS, labelOverlap=False)),
        tooltip=tooltip(
            "metric:N", ("based:N", "metric’s model"), "system:N", ("built:N", "system’s model"), "rank:Q", ("mean:Q", "", ".4f"),
        ),
    )  # fmt: skip
    worst = max(2, len(systems))
    cells = base.mark_rect(strokeWidth=3, cornerRadius=3).encode(
        color=alt.Color("rank:Q", legend=None, scale=alt.Scale(scheme="blues", domain=[worst, 1])),
        stroke=alt.condition("datum.own", alt.value(FAIL), alt.value("transparent")),
    )
    words = base.mark_text(lineBreak="\n", fontSize=11, lineHeight=13, dy=-6).encode(
        text="words:N", color=alt.condition(f"datum.rank < {(1 + worst) / 2}", alt.value("white"), alt.value("black"))
    )
    return alt.LayerChart(layer=[cells, words]).properties(
        width=(COLUMN + 20) * len(systems) + LABELS, height=ROW * len(metrics) + HEAD
    )
