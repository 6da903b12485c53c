"""Charts of the stress tests (He et al. 2023, Figures 4 and 5): verdicts per test and metric, and scores by noise ratio."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.plots.labels import chart_label, chart_labels, with_labels
from core.robustness.stress.report import PARTS, MetricFacts, StressTestInfo, StressTestResult

PICK = "pick"
"""Name of the selection in the table of verdicts; its points have the names of test and metric."""
VERDICT_LABELS = {"fail": "✕ fail", "pass": "✓ pass", "unclear": "? inconclusive", "untold": "– no result"}
FILL = {"fail": "#b45309", "pass": "#dbeafe", "unclear": "#9ca3af", "untold": "#e5e7eb"}
INK = {"fail": "white", "pass": "#1e3a8a", "unclear": "black", "untold": "#4b5563"}
FAIL, PASS, OTHER = "#d97706", "#2563eb", "#9ca3af"
ROW, COLUMN, LABELS, HEAD = 36, 90, 190, 110
"""Pixels; charts with labels are fitted into the size that is given."""
SMALL = 150


def catalogue(rows: pd.DataFrame, heads: Sequence[str]) -> alt.LayerChart:
    """Return test × metric with a verdict in each cell; a click selects it (selection `pick`: test, metric).

    `rows` has the columns test, metric (names), row, column (their labels), verdict, told (a short number), why, drop, p and
    published. Its attribute `order` lists the labels of the rows from top to bottom; `heads` are those labels in it that are
    headings of groups and have no cells.
    """
    heads, order = chart_labels(heads), chart_labels(rows.attrs["order"])
    rows = with_labels(rows, "row", "column", "why")
    columns = list(dict.fromkeys(rows["column"]))
    shown = rows.assign(words=[f"{VERDICT_LABELS[v]}\n{t}" for v, t in zip(rows["verdict"], rows["told"], strict=True)])
    pick = alt.selection_point(name=PICK, fields=["test", "metric"], on="click", clear="dblclick")
    bold = f"indexof({list(heads)!r}, datum.value) >= 0"
    base = alt.Chart(shown).encode(
        x=alt.X(
            "column:N", sort=columns, title=None, scale=alt.Scale(domain=columns),
            axis=alt.Axis(orient="top", labelAngle=-35, labelLimit=170, labelOverlap=False, domain=False, ticks=False),
        ),
        y=alt.Y(
            "row:N", sort=order, title=None, scale=alt.Scale(domain=order),
            axis=alt.Axis(
                labelLimit=LABELS, labelOverlap=False, domain=False, ticks=False,
                labelFontWeight=alt.condition(bold, alt.value("bold"), alt.value("normal")),
                labelFontSize=alt.condition(bold, alt.value(13), alt.value(12)),
            ),
        ),
        tooltip=[
            alt.Tooltip("row:N", title="test"), alt.Tooltip("column:N", title="metric"), alt.Tooltip("verdict:N"),
            alt.Tooltip("drop:N", title="strongest level"), alt.Tooltip("p:N", title="p"), alt.Tooltip("why:N"),
            alt.Tooltip("published:N", title="paper’s rule"),
        ],
    )  # fmt: skip
    verdicts = list(VERDICT_LABELS)
    cells = (
        base.mark_rect(cursor="pointer", cornerRadius=3, strokeWidth=2)
        .encode(
            color=alt.Color("verdict:N", legend=None, scale=alt.Scale(domain=verdicts, range=[FILL[v] for v in verdicts])),
            stroke=alt.condition(pick, alt.value("#7c3aed"), alt.value("transparent"), empty=False),
        )
        .add_params(pick)
    )  # fmt: skip
    words = base.mark_text(lineBreak="\n", fontSize=11, lineHeight=13, dy=-6, cursor="pointer").encode(
        text="words:N",
        color=alt.Color("verdict:N", legend=None, scale=alt.Scale(domain=verdicts, range=[INK[v] for v in verdicts])),
    )
    size = {"width": COLUMN * len(columns) + LABELS, "height": ROW * len(order) + HEAD}
    return alt.LayerChart(layer=[cells, words], resolve=alt.Resolve(scale={"color": "independent"})).properties(**size)


def cell_charts(cell: StressTestResult, test: StressTestInfo, metric: MetricFacts) -> list[alt.LayerChart | alt.Chart]:
    """Return the `curve` of a metric under a test, and its `parts` if the score has parts; nothing if no mean is defined."""
    if cell.gold is None or all(p.mean is None for p in cell.points):
        return []
    rows = pd.DataFrame([p._asdict() for p in cell.points])[["label", "ratio", "mean", "sd", "drop", "p"]].astype(
        dict.fromkeys(("ratio", "mean", "sd", "drop", "p"), float)
    )
    title = f"{metric.label} {'↑' if metric.higher_is_better else '↓'}"
    charts: list[alt.LayerChart | alt.Chart] = [
        curve(rows, cell.gold, title, fails=cell.verdict == "fail", graded=test.graded)
    ]
    levels = [("gold", 0.0, cell.gold_parts), *((p.label, p.ratio, p.parts) for p in cell.points)]
    of_parts = [
        {"part": name, "label": label, "ratio": ratio, "mean": values[name]}
        for label, ratio, values in levels
        for name in PARTS
        if name in values and name in cell.gold_parts
    ]
    return [*charts, parts(pd.DataFrame(of_parts), graded=test.graded)] if of_parts else charts


def curve(rows: pd.DataFrame, gold: float, title: str, *, fails: bool, graded: bool) -> alt.LayerChart:
    """Return score by noise ratio with a band of one SD over seeds, gold at 0; the line of a failing metric is bold.

    `rows` has the columns label, ratio, mean, sd, drop and p, one row per level; levels without a mean are left out. Levels that
    are not graded are shown side by side without a line.
    """
    title = chart_label(title)
    there = (
        with_labels(rows, "label")
        .dropna(subset=["mean"])
        .assign(low=lambda r: r["mean"] - r["sd"].fillna(0), high=lambda r: r["mean"] + r["sd"].fillna(0))
    )
    scale = alt.Scale(zero=False, padding=14)
    y = alt.Y("mean:Q", title=title, scale=scale)
    colour = FAIL if fails else PASS
    tooltip = [
        alt.Tooltip("label:N", title="level"), alt.Tooltip("ratio:Q", format=".2f", title="noise ratio"),
        alt.Tooltip("mean:Q", format=".4f", title=title), alt.Tooltip("sd:Q", format=".4f", title="SD over seeds"),
        alt.Tooltip("drop:Q", format="+.4f", title="worse than gold by"), alt.Tooltip("p:Q", format=".3f"),
    ]  # fmt: skip
    start = pd.DataFrame([{"label": "gold", "ratio": 0.0, "mean": gold, "sd": 0.0, "low": gold, "high": gold}])
    rule = alt.Chart(start).mark_rule(strokeDash=[5, 4], color="gray").encode(y=y)
    if not graded:
        x = alt.X("label:N", sort=list(there["label"]), title=None, axis=alt.Axis(labelAngle=0, labelLimit=150))
        base = alt.Chart(there).encode(x=x, tooltip=tooltip)
        bars = base.mark_bar(size=3, opacity=0.4, color=colour).encode(
            y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q"
        )
        dots = base.mark_point(filled=True, size=110, opacity=1, color=colour, shape=_shape(fails)).encode(y=y)
        return alt.LayerChart(layer=[rule, bars, dots]).properties(height=260)
    whole = pd.concat([start, there], ignore_index=True)
    base = alt.Chart(whole).encode(x=alt.X("ratio:Q", title="noise ratio", scale=alt.Scale(zero=True)), tooltip=tooltip)
    band = base.mark_area(opacity=0.22, color=colour).encode(y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q")
    line = base.mark_line(strokeWidth=4 if fails else 2, color=colour).encode(y=y)
    dots = base.mark_point(filled=True, size=80, opacity=1, color=colour, shape=_shape(fails)).encode(y=y)
    return alt.LayerChart(layer=[rule, band, line, dots]).properties(height=260)


def _shape(fails: bool) -> str:
    return "diamond" if fails else "circle"


def parts(rows: pd.DataFrame, *, graded: bool) -> alt.Chart:
    """Return the parts of a score, such as precision and recall, by noise ratio (Figure 5).

    `rows` has the columns part, label, ratio and mean, including gold at ratio 0.
    """
    rows = with_labels(rows, "part", "label")
    x = (
        alt.X("ratio:Q", title="noise ratio")
        if graded
        else alt.X("label:N", sort=list(dict.fromkeys(rows["label"])), title=None, axis=alt.Axis(labelAngle=0))
    )
    domain = alt.Scale(domain=list(dict.fromkeys(rows["part"])))  # the same scale, so that both legends become one
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=2)
    chart: alt.Chart = (
        alt.Chart(rows)
        .mark_line(point=alt.OverlayMarkDef(size=60, filled=True))
        .encode(
            x=x,
            y=alt.Y("mean:Q", title="mean", scale=alt.Scale(zero=False, padding=14)),
            color=alt.Color("part:N", scale=domain, legend=legend),
            strokeDash=alt.StrokeDash("part:N", scale=domain, legend=legend),
            tooltip=[alt.Tooltip("part:N"), alt.Tooltip("label:N", title="level"), alt.Tooltip("mean:Q", format=".4f")],
        )
        .properties(height=260)
    )
    return chart


def multiples(rows: pd.DataFrame, *, graded: bool, columns: int = 5) -> alt.FacetChart:
    """Return the change of each metric's score in % of gold by noise ratio, one small chart per metric; above 0, noise is rewarded.

    `rows` has the columns metric, label, ratio, share (the drop as a share of gold) and verdict, including gold at ratio 0.
    """
    rows = with_labels(rows, "metric", "label")
    names = list(dict.fromkeys(rows["metric"]))
    shown = rows.assign(fall=-rows["share"])
    colour = alt.Color(
        "verdict:N", legend=None, scale=alt.Scale(domain=list(VERDICT_LABELS), range=[FAIL, PASS, OTHER, OTHER])
    )
    levels = list(dict.fromkeys(rows["label"]))
    x = (
        alt.X("ratio:Q", title=None, axis=alt.Axis(tickCount=3))
        if graded
        else alt.X("label:N", sort=levels, title=None, axis=alt.Axis(labelLimit=70))
    )
    base = alt.Chart(shown).encode(
        x=x,
        y=alt.Y("fall:Q", title="change, % of gold", axis=alt.Axis(format="+.0%", tickCount=4)),
        color=colour,
        tooltip=[
            alt.Tooltip("metric:N"), alt.Tooltip("label:N", title="level"), alt.Tooltip("fall:Q", format="+.1%", title="change"),
            alt.Tooltip("verdict:N"),
        ],
    )  # fmt: skip
    width = alt.StrokeWidth(
        "verdict:N", legend=None, scale=alt.Scale(domain=list(VERDICT_LABELS), range=[4, 1.5, 1.5, 1.5])
    )
    rule = alt.Chart().mark_rule(color="gray", opacity=0.7).encode(y=alt.YDatum(0.0))
    layered = alt.layer(
        rule, base.mark_line().encode(strokeWidth=width), base.mark_point(filled=True, size=30), data=shown
    )
    found: alt.FacetChart = layered.properties(width=SMALL, height=110).facet(
        facet=alt.Facet("metric:N", sort=names, title=None, header=alt.Header(labelLimit=SMALL)), columns=columns
    )
    return found


def favours(rows: pd.DataFrame) -> alt.LayerChart:
    """Return metric × system with rank and mean in each cell; darker is a better rank.

    An outline and ◆ mark systems built on the same model as the metric. `rows` has the columns metric, system, mean, rank, own,
    based and built.
    """
    rows = with_labels(rows, "metric", "system", "based", "built")
    metrics, systems = list(dict.fromkeys(rows["metric"])), list(dict.fromkeys(rows["system"]))
    ranks = zip(rows["rank"], rows["mean"], rows["own"], strict=True)
    shown = rows.assign(
        words=[f"{'◆ ' if own else ''}{rank:g}\n{mean:.3f}".replace("-", "−") for rank, mean, own in ranks]
    )
    base = alt.Chart(shown).encode(
        x=alt.X(
            "system:N", sort=systems, title="systems",
            axis=alt.Axis(orient="top", labelAngle=-30, labelLimit=160, labelOverlap=False),
        ),
        y=alt.Y("metric:N", sort=metrics, title=None, axis=alt.Axis(labelLimit=LABELS, labelOverlap=False)),
        tooltip=[
            alt.Tooltip("metric:N"), alt.Tooltip("based:N", title="metric’s model"), alt.Tooltip("system:N"),
            alt.Tooltip("built:N", title="system’s model"), alt.Tooltip("rank:Q"), alt.Tooltip("mean:Q", format=".4f"),
        ],
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
