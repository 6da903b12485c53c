"""Charts of robustness: changes of each metric's score, and verdicts and curves of stress tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.formatting import format_change, format_number
from core.plots.base import BLUE, GREY, ORANGE, chart_label, chart_labels, distinct, names_axis, tooltip, with_labels
from core.ports.robustness import BARELY, MISSES, NOTICES
from core.robustness.stress.report import PARTS, MetricFacts, StressTestInfo, StressTestResult

_MARKS = {MISSES: "✕", BARELY: "≈"}
_COLOURS = alt.Scale(domain=[NOTICES, BARELY, MISSES], range=[BLUE, GREY, ORANGE])
ROW, COLUMN, LABELS, HEAD = 26, 72, 130, 110
"""Pixels; charts with labels are fitted into the size that is given."""


def changes(rows: pd.DataFrame) -> alt.LayerChart:
    """Return one bar per metric: the change of its score as a share of the metric's range, to the left if the changed text is worse.

    `rows` has the columns metric, share, good, changed, verdict and range; rows without a share are left out. Bars follow the rows.
    """
    plotted = with_labels(rows, "metric", "range").dropna(subset=["share"])
    plotted = plotted.assign(mark=plotted["verdict"].map(_MARKS).fillna(""))
    order = list(plotted["metric"])
    base = alt.Chart(plotted).encode(
        y=alt.Y("metric:N", sort=order, title=None, axis=alt.Axis(labelLimit=220, labelOverlap=False)),
        x=alt.X(
            "share:Q",
            title="change, % of range (left: worse)",
            axis=alt.Axis(format="+.0%", labelOverlap=True, titleAnchor="end"),  # a narrow chart has room at the left
        ),
        color=alt.Color(
            "verdict:N", scale=_COLOURS, legend=alt.Legend(orient="top", title=None, labelLimit=0, columns=1)
        ),
        tooltip=tooltip(
            "metric:N",
            ("good:Q", "good text", ".3f"),
            ("changed:Q", "changed text", ".3f"),
            ("share:Q", "change", "+.1%"),
            "range:N",
            "verdict:N",
        ),
    )
    words = base.mark_text(align="left", dx=5, fontWeight="bold").encode(
        text="mark:N", x=alt.X("edge:Q"), tooltip=alt.value(None)
    )
    zero = alt.Chart(plotted.head(1)).mark_rule(aria=False, color="gray", opacity=0.6).encode(x=alt.XDatum(0.0))
    words.transform = [alt.CalculateTransform(calculate="max(datum.share, 0)", **{"as": "edge"})]
    return alt.LayerChart(layer=[base.mark_bar(), zero, words]).properties(height=HEAD + max(60, ROW * len(plotted)))


def sweep(rows: pd.DataFrame) -> alt.LayerChart:
    """Return perturbation × metric: the change of the score as a share of the metric's range; ✕ if it misses the error, ≈ if it barely notices.

    `rows` has the columns phenomenon, metric, share, verdict, good and changed; other verdicts are reasons why there is no score.
    """
    rows = with_labels(rows, "phenomenon", "metric")
    names, metrics = distinct(rows["phenomenon"]), distinct(rows["metric"])
    shown = rows.assign(
        fall=-rows["share"].clip(upper=0),
        mark=[
            ""
            if v not in (MISSES, BARELY, NOTICES)
            else f"{_MARKS.get(v, '')} {'' if pd.isna(s) else _percent(s)}".strip()
            for v, s in zip(rows["verdict"], rows["share"], strict=True)
        ],
    )
    above = alt.Axis(orient="top", labelAngle=-30, labelLimit=180, labelOverlap=False)
    base = alt.Chart(shown).encode(
        x=alt.X("metric:N", sort=metrics, title=None, axis=above),
        y=alt.Y("phenomenon:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, labelOverlap=False)),
        tooltip=tooltip(
            ("phenomenon:N", "kind of error"),
            "metric:N",
            ("good:Q", "good text", ".3f"),
            ("changed:Q", "changed text", ".3f"),
            ("share:Q", "change", "+.1%"),
        ),
    )
    drop = alt.Color("fall:Q", scale=alt.Scale(scheme="blues", domain=[0, 0.6]), legend=None)
    cells = base.mark_rect().encode(color=alt.condition(f"datum.verdict === '{MISSES}'", alt.value("#b45309"), drop))
    dark = f"datum.verdict === '{MISSES}' || datum.fall > 0.44"
    words = base.mark_text().encode(text="mark:N", color=alt.condition(dark, alt.value("white"), alt.value("black")))
    return alt.LayerChart(layer=[cells, words]).properties(
        width=COLUMN * len(metrics) + LABELS, height=ROW * len(names) + LABELS
    )


def _percent(share: float) -> str:
    """Return a change as a percentage; a small drop is not called 0."""
    text = format_change(100 * share, 0)
    return "> −1 %" if share < 0 and text == "±0" else f"{text} %"


PICK = "pick"
"""Name of the selection in the table of verdicts; its points have the names of test and metric."""
VERDICT_LABELS = {"fail": "✕ fail", "pass": "✓ pass", "unclear": "? inconclusive", "untold": "– no result"}
FILL = {"fail": "#b45309", "pass": "#dbeafe", "unclear": "#9ca3af", "untold": "#e5e7eb"}
INK = {"fail": "white", "pass": "#1e3a8a", "unclear": "black", "untold": "#4b5563"}
FAIL, PASS, OTHER = ORANGE, BLUE, GREY
STRESS_ROW, STRESS_COLUMN, STRESS_LABELS, STRESS_HEAD = 36, 90, 190, 110
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
        labelLimit=STRESS_LABELS,
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
    size = {"width": STRESS_COLUMN * len(columns) + STRESS_LABELS, "height": STRESS_ROW * len(order) + STRESS_HEAD}
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
    plotted = with_labels(rows, "label").dropna(subset=["mean"])
    sd = plotted["sd"].fillna(0)
    plotted = plotted.assign(low=plotted["mean"] - sd, high=plotted["mean"] + sd)
    start = pd.DataFrame([{"label": GOOD, "ratio": 0.0, "mean": gold, "sd": 0.0, "low": gold, "high": gold}])
    scale = alt.Scale(zero=False, padding=14)
    y, low = (alt.Y(field, title=title, scale=scale) for field in ("mean:Q", "low:Q"))
    if graded:
        shown, x = (
            pd.concat([start, plotted], ignore_index=True),
            alt.X("ratio:Q", title="noise ratio", scale=alt.Scale(zero=True)),
        )
    else:
        labels = alt.Axis(labelAngle=0, labelLimit=150)
        shown, x = plotted, alt.X("label:N", sort=list(plotted["label"]), title=None, axis=labels)
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
        y=alt.Y("metric:N", sort=metrics, title=None, axis=alt.Axis(labelLimit=STRESS_LABELS, labelOverlap=False)),
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
        width=(STRESS_COLUMN + 20) * len(systems) + STRESS_LABELS, height=STRESS_ROW * len(metrics) + STRESS_HEAD
    )
