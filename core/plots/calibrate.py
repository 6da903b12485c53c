"""Charts of the Calibrate page: learning curve, λ per annotator or scheme, and the K best systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

from core.calibration.curve import omega
from core.calibration.learning import Learning, Spread
from core.calibration.top_systems import Top
from core.plots.calibration import BLUE, GREY, MEASURE_NAMES, ORANGE, TICKS, format_lambda, lambda_axis
from core.plots.labels import chart_label

SEQUENCE = ("#4c8bf5", "#8f86c8", "#c07a7e", "#e07b39")
"""From few to many systems."""
COLOURS = (
    "#e07b39", "#4c8bf5", "#3fa37a", "#b565c9", "#c9a227", "#d9607a",
    "#2fa5b5", "#8c7355", "#7f9a3c", "#7a7fd6", "#c44fa0", "#6f8fa8",
)  # fmt: skip
CURVE_POINTS = 30
OVERLAP = 0.002
"""Cells of the heat map overlap by this much, to avoid hair lines between them."""


class NamedLambda(NamedTuple):
    """A λ with its name and 95 % CI."""

    name: str
    lam: float
    ci: tuple[float, float] | None
    text: str = ""


class AgreementAtK(NamedTuple):
    """The agreement of a metric on the K best systems."""

    label: str
    k: int
    agreement: float
    sentinel: bool = False


def _data(rows: Sequence[dict[str, Any]]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(rows)))


def _title(measure: str) -> str:
    return f"{MEASURE_NAMES.get(measure, measure)} with human scores ↑"


def _n(largest: float) -> alt.X:
    return alt.X(
        "n:Q",
        title="labelled outputs",
        scale=alt.Scale(domain=[0, largest * 1.04], nice=False),
        axis=alt.Axis(format="d", grid=False, tickCount=6),
    )


def _measured(
    rows: Sequence[tuple[float, Spread]], x: alt.X, title: str, format: str, zero: bool = False
) -> list[alt.Chart]:
    """Return a line through the means, and bars from the lowest to the highest draw."""
    values = [{"n": n, "mean": s.mean, "low": s.low, "high": s.high} for n, s in rows]
    y = alt.Y("mean:Q", title=title, scale=alt.Scale(zero=zero), axis=alt.Axis(format=".3~f"))
    tip = [
        alt.Tooltip("n:Q", title="outputs", format=".0f"),
        alt.Tooltip("mean:Q", title="mean of the draws", format=format),
        alt.Tooltip("low:Q", title="lowest", format=format),
        alt.Tooltip("high:Q", title="highest", format=format),
    ]
    return [
        _data(values).mark_rule(color=BLUE, opacity=0.45, strokeWidth=3).encode(
            x=x, y=alt.Y("low:Q", title=title, scale=alt.Scale(zero=zero)), y2="high:Q", tooltip=tip
        ),
        _data(values).mark_line(color=BLUE, strokeWidth=2, point=alt.OverlayMarkDef(color=BLUE, size=55)).encode(
            x=x, y=y, tooltip=tip
        ),
    ]  # fmt: skip


def agreement_by_labels(learning: Learning, measure: str) -> alt.LayerChart:
    """Return cross-validated agreement by number of labelled outputs."""
    rows = [(s.n, s.agreement) for s in learning.steps if s.agreement is not None]
    layers = _measured(rows, _n(max((n for n, _ in rows), default=1)), _title(measure), ".3f")
    return alt.LayerChart(layer=layers, width="container", height=260)


def width_by_labels(learning: Learning) -> alt.LayerChart:
    """Return the width of the CI of λ in ω by number of labelled outputs, with the fitted law and its forecasts."""
    rows = [(s.n, s.width) for s in learning.steps if s.width is not None]
    last = max([n for n, _ in rows] + [f.n for f in learning.forecasts], default=1)
    x, title = _n(last), "width of the 95 % CI in ω ↓"
    layers = _measured(rows, x, title, ".2f", zero=True)
    if learning.law is not None and rows:
        first = rows[0][0]
        at = [first + (last - first) * k / CURVE_POINTS for k in range(CURVE_POINTS + 1)]
        law = _data([{"n": n, "mean": learning.law.width(n)} for n in at])
        layers.append(law.mark_line(color=ORANGE, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y="mean:Q"))
        points = [
            {"n": f.n, "mean": f.width, "times": f"{f.times:g}×", "around": "–".join(map(format_lambda, f.around))}
            for f in learning.forecasts
        ]
        tip = [
            alt.Tooltip("times:N", title="forecast for"),
            alt.Tooltip("n:Q", title="outputs"),
            alt.Tooltip("mean:Q", title="width in ω", format=".2f"),
            alt.Tooltip("around:N", title="95 % CI of λ"),
        ]
        dots = _data(points).mark_point(color=ORANGE, size=80, filled=False, strokeWidth=2, opacity=1)
        layers.append(dots.encode(x=x, y="mean:Q", tooltip=tip))
        names = _data(points).mark_text(color=ORANGE, dy=-13).encode(x=x, y="mean:Q", text="times:N")
        layers.append(names)
    return alt.LayerChart(layer=layers, width="container", height=260)


def estimates(rows: Sequence[NamedLambda]) -> alt.LayerChart:
    """Return one line per λ with its optimum and 95 % CI, in the given order; the first is highlighted for comparison."""
    values = [
        {
            "name": chart_label(r.name),
            "omega": omega(r.lam),
            "lambda": format_lambda(r.lam),
            "low": omega(r.ci[0]) if r.ci else omega(r.lam),
            "high": omega(r.ci[1]) if r.ci else omega(r.lam),
            "interval": f"[{format_lambda(r.ci[0])}, {format_lambda(r.ci[1])}]" if r.ci else "none",
            "text": r.text,
            "first": k == 0,
        }
        for k, r in enumerate(rows)
    ]
    y = alt.Y(
        "name:N",
        sort=None,
        title=None,
        axis=alt.Axis(labelLimit=150, ticks=False, domain=False, labelOverlap=False, grid=False),
    )
    tip = [
        alt.Tooltip("name:N", title=" "),
        alt.Tooltip("lambda:N", title="λ"),
        alt.Tooltip("interval:N", title="95 % CI"),
        alt.Tooltip("text:N", title="agreement"),
    ]
    colour = alt.condition("datum.first", alt.value(ORANGE), alt.value(BLUE))
    base = _data(values)
    band = _data(values[:1]).mark_rect(color=ORANGE, opacity=0.12).encode(x=lambda_axis("low:Q"), x2="high:Q")
    rules = base.mark_rule(strokeWidth=3, opacity=0.6).encode(
        x=lambda_axis("low:Q"), x2="high:Q", y=y, color=colour, tooltip=tip
    )
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(x=lambda_axis(), y=y, color=colour, tooltip=tip)
    return alt.LayerChart(layer=[band, rules, dots], width="container", height=34 * len(values) + 60)


def curves_at_top(tops: Sequence[Top], measure: str) -> alt.LayerChart:
    """Return agreement by λ, one line per K with its optimum (Lu et al. 2023, Figure 2)."""
    there = [t for t in tops if t.lam is not None]
    lines = [
        {"omega": omega(p.lam), "lambda": format_lambda(p.lam), "agreement": p.agreement, "k": str(t.k)}
        for t in there
        for p in t.curve
        if p.agreement is not None
    ]
    marks = [
        {"omega": omega(t.lam), "lambda": format_lambda(t.lam), "agreement": t.agreement, "k": str(t.k)}
        for t in there
        if t.lam is not None
    ]
    x, y = lambda_axis(), alt.Y("agreement:Q", title=_title(measure), scale=alt.Scale(zero=False))
    scale = alt.Scale(domain=[str(t.k) for t in there], range=_between(len(there)))
    colour = alt.Color("k:N", title="K best systems", scale=scale, legend=alt.Legend(orient="bottom", columns=8))
    tip = [
        alt.Tooltip("k:N", title="K"),
        alt.Tooltip("lambda:N", title="λ"),
        alt.Tooltip("agreement:Q", title=_title(measure), format=".4f"),
    ]
    drawn = _data(lines).mark_line(interpolate="step-after", strokeWidth=2)
    best = _data(marks).mark_point(filled=True, size=100, opacity=1)
    layers = [layer.encode(x=x, y=y, color=colour, tooltip=tip) for layer in (drawn, best)]
    return alt.LayerChart(layer=layers, width="container", height=340)


def heatmap(tops: Sequence[Top], grid: Sequence[float], measure: str, *, loss: bool = False) -> alt.LayerChart:
    """Return a heat map of the K best systems × λ, coloured by agreement; with `loss`, by the difference to the best λ of that K.

    Dots mark the best λ and lines its 95 % CI, if they are on the grid.
    """
    axis = [omega(lam) for lam in grid]
    edges = [(a + b) / 2 for a, b in zip(axis, axis[1:], strict=False)]
    low, high = [axis[0], *edges], [*edges, axis[-1]]
    cells, spans, marks = [], [], []
    for t in tops:
        if t.agreement is None or t.lam is None:
            continue
        for k, point in enumerate(t.row(grid)):
            if point.agreement is not None:
                value = min(0.0, point.agreement - t.agreement) if loss else point.agreement
                cells.append(
                    {
                        "k": str(t.k), "from": low[k], "to": high[k], "over": min(high[k] + OVERLAP, axis[-1]),
                        "lambda": format_lambda(point.lam),
                        "agreement": point.agreement, "value": value,
                    }
                )  # fmt: skip
        ends = [min(max(omega(x), axis[0]), axis[-1]) for x in (t.ci or (t.lam, t.lam))]
        if ends[0] < ends[1]:
            spans.append({"k": str(t.k), "from": ends[0], "to": ends[1]})
        if axis[0] <= omega(t.lam) <= axis[-1]:
            marks.append({"k": str(t.k), "omega": omega(t.lam), "lambda": format_lambda(t.lam)})
    ticks = TICKS if axis[-1] == 1 else grid[::2]
    x, at = lambda_axis("from:Q", ticks), lambda_axis(ticks=ticks)
    order = [str(t.k) for t in tops]
    y = alt.Y("k:N", sort=order, title="K best systems", axis=alt.Axis(ticks=False, domain=False))
    title = "difference to the best λ of the same K" if loss else _title(measure)
    colour = alt.Color(
        "value:Q",
        title=title,
        scale=alt.Scale(scheme="blues"),
        legend=alt.Legend(orient="bottom", gradientLength=220, titleLimit=300, format=".3~f"),
    )
    tip = [
        alt.Tooltip("k:N", title="K"),
        alt.Tooltip("lambda:N", title="λ"),
        alt.Tooltip("agreement:Q", title=_title(measure), format=".4f"),
    ]
    tiles = _data(cells).mark_rect(strokeWidth=0).encode(x=x, x2="over:Q", y=y, color=colour, tooltip=tip)
    span = _data(spans).mark_rule(color=ORANGE, strokeWidth=3).encode(x=x, x2="to:Q", y=y)
    best = _data(marks).mark_point(color=ORANGE, filled=True, size=80, opacity=1)
    named = [alt.Tooltip("k:N", title="K"), alt.Tooltip("lambda:N", title="best λ")]
    return alt.LayerChart(
        layer=[tiles, span, best.encode(x=at, y=y, tooltip=named)], width="container", height=40 * len(order) + 190
    )


def metrics_at_top(rows: Sequence[AgreementAtK], measure: str) -> alt.LayerChart:
    """Return the agreement of each metric on the K best systems (Lu et al. 2023, Figure 3); baselines are grey and dotted.

    The legend is in the order of agreement on all systems; colours that come again are dashed.
    """
    ks = sorted({r.k for r in rows})
    x = alt.X("k:O", sort=[str(k) for k in ks], title="K best systems", axis=alt.Axis(labelAngle=0))
    y = alt.Y("agreement:Q", title=_title(measure), scale=alt.Scale(zero=False), axis=alt.Axis(format=".3~f"))
    tip = [
        alt.Tooltip("label:N", title="metric"),
        alt.Tooltip("k:O", title="K"),
        alt.Tooltip("agreement:Q", title=_title(measure), format=".3f"),
    ]
    layers = []
    for sentinel in (True, False):
        part = [
            {"label": chart_label(r.label), "k": str(r.k), "agreement": r.agreement}
            for r in rows
            if r.sentinel == sentinel
        ]
        final = sorted((r for r in rows if not r.sentinel), key=lambda r: (-r.k, -r.agreement))
        names = list(dict.fromkeys(chart_label(r.label) for r in final))
        if not part:
            continue
        chart = _data(part)
        if sentinel:
            line = chart.mark_line(color=GREY, strokeDash=[2, 4], point=alt.OverlayMarkDef(color=GREY, size=25))
            layers.append(line.encode(x=x, y=y, detail="label:N", tooltip=tip))
            continue
        cycle = len(COLOURS)
        colours = alt.Scale(domain=names, range=[COLOURS[k % cycle] for k in range(len(names))])
        dashes = alt.Scale(domain=names, range=[[1, 0] if k < cycle else [7, 3] for k in range(len(names))])
        legend = alt.Legend(orient="bottom", columns=2, labelLimit=170, symbolType="stroke", symbolStrokeWidth=3)
        colour = alt.Color("label:N", title=None, scale=colours, legend=legend)
        dash = alt.StrokeDash("label:N", title=None, scale=dashes, legend=legend)
        line = chart.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=45))
        layers.append(line.encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=tip))
    return alt.LayerChart(layer=layers, width="container", height=300 + 12 * len({r.label for r in rows}))


def _between(n: int) -> list[str]:
    """Return `n` colours along `SEQUENCE`."""
    ends = [[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in SEQUENCE]
    found = []
    for i in range(n):
        place = i * (len(ends) - 1) / max(1, n - 1)
        k = min(int(place), len(ends) - 2)
        mixed = [round(a + (place - k) * (b - a)) for a, b in zip(ends[k], ends[k + 1], strict=True)]
        found.append("#" + "".join(f"{v:02x}" for v in mixed))
    return found
