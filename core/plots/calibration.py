"""Charts of calibration: agreement by λ, learning curve, λ per annotator or scheme, and the K best systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from core.calibration.calibrate import Calibration
from core.calibration.curve import Plateau, omega
from core.calibration.learning import Learning, Spread, Top
from core.formatting import format_lambda
from core.plots.base import BLUE, GREEN, GREY, ORANGE, TEXT, chart_label, inline, names_axis, tooltip

TICKS = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 20.0, float("inf"))
MEASURE_NAMES = {"kendall": "Kendall τ-b", "acc_eq": "acc_eq", "spearman": "Spearman ρ", "pearson": "Pearson r"}


def measure_title(measure: str) -> str:
    return f"{MEASURE_NAMES.get(measure, measure)} with human scores ↑"


def lambda_row(lam: float, **more: Any) -> dict[str, Any]:
    return {"omega": omega(lam), "lambda": format_lambda(lam), **more}


def lambda_axis(field: str = "omega:Q", ticks: Sequence[float] = TICKS) -> alt.X:
    """Return an axis of λ on the scale of ω, from the first to the last tick."""
    title = "λ: weight of explicit relative to implicit errors"
    label = "datum.value > 0.9999 ? '∞' : format(datum.value / (1 - datum.value), '.3~g')"
    at = [omega(t) for t in ticks]
    axis = alt.Axis(values=at, labelExpr=label, title=title, grid=False)
    return alt.X(field, scale=alt.Scale(domain=[at[0], at[-1]], nice=False), axis=axis)


def agreement_axis(title: str, field: str = "agreement:Q", zero: bool = False) -> alt.Y:
    """Return an axis of agreement, or of the width of an interval."""
    return alt.Y(field, title=title, scale=alt.Scale(zero=zero), axis=alt.Axis(format=".3~f"))


def calibration_chart(c: Calibration, measure: str = "kendall") -> alt.LayerChart:
    """Return the chart of a calibration, with plain BARTScore and presets if it has them."""
    title = measure_title(measure)
    x, y = lambda_axis(), agreement_axis(title)
    value = ("agreement:Q", title, ".4f")
    layers: list[alt.Chart] = []
    if c.ribbon:
        area = inline({"omega": omega(b.lam), "low": b.low, "high": b.high} for b in c.ribbon)
        low = alt.Y("low:Q", title=title, scale=alt.Scale(zero=False))
        layers.append(area.mark_area(color=BLUE, opacity=0.15).encode(x=x, y=low, y2="high:Q"))
    ends = {"from": omega(c.plateau.low), "to": omega(c.plateau.high)}
    rect = inline([{**ends, "text": plateau_text(c.plateau), "agreement": c.agreement}])
    layers.append(
        rect.mark_rect(color=ORANGE, opacity=0.3, stroke=ORANGE).encode(
            x=lambda_axis("from:Q"), x2="to:Q", tooltip=tooltip(("text:N", "best λ"), value)
        )
    )
    steps = inline(lambda_row(p.lam, agreement=p.agreement) for p in c.curve if p.agreement is not None)
    line = steps.mark_line(interpolate="step-after", color=BLUE, strokeWidth=2)
    lines = tooltip(("lambda:N", "from λ"), value)
    layers.append(line.encode(x=x, y=y, tooltip=lines))
    if (vanilla := c.at.get("vanilla")) is not None:
        rule = inline([{"agreement": vanilla, "name": "BARTScore"}])
        rule = rule.mark_rule(color=GREY, strokeDash=[6, 4], strokeWidth=1.5)
        layers.append(rule.encode(y=y, tooltip=tooltip(("name:N", " "), value)))
    layers.append(_ticks({"λ = 1": 1.0}, GREY, x, [2, 3]))
    if c.presets:
        by_value: dict[float, list[str]] = {}
        for name, (lam, _) in c.presets.items():
            by_value.setdefault(lam, []).append(name)
        named = {", ".join(names): lam for lam, names in by_value.items()}
        layers += [_ticks(named, GREEN, x, [1, 4]), _ticks(named, GREEN, x, [], wide=True)]
    chosen = inline([lambda_row(c.lam, agreement=c.agreement)])
    layers.append(chosen.mark_point(color=ORANGE, size=90, filled=True, opacity=1).encode(x=x, y=y, tooltip=lines))
    return alt.LayerChart(layer=layers, width="container", height=320)


def _ticks(named: Mapping[str, float], color: str, x: alt.X, dash: list[float], *, wide: bool = False) -> alt.Chart:
    """Return a line per λ; `wide` ones are not seen and catch the mouse beside a thin line, so that its name shows."""
    rows = inline(lambda_row(lam, name=chart_label(name)) for name, lam in named.items())
    look: dict[str, Any] = {"strokeWidth": 9.0, "opacity": 0.01} if wide else {"strokeWidth": 1.0, "strokeDash": dash}
    rule = rows.mark_rule(color=color, **look)
    drawn: alt.Chart = rule.encode(x=x, tooltip=tooltip(("name:N", " "), ("lambda:N", "λ")))
    return drawn


def plateau_text(p: Plateau) -> str:
    """Return the plateau as text, such as [1.2, 2.4), with enough digits to distinguish its ends; one number if it is a point."""
    if p.low == p.high:
        return format_lambda(p.low)
    ends = ((format_lambda(p.low, digits), format_lambda(p.high, digits)) for digits in range(3, 17))
    low, high = next((pair for pair in ends if pair[0] != pair[1]), (repr(p.low), repr(p.high)))
    return f"{'[' if p.low_closed else '('}{low}, {high}{']' if p.high_closed else ')'}"


SEQUENCE = (BLUE, "#7d80b8", "#b0727a", ORANGE)
"""From few to many systems."""
COLOURS = (
    ORANGE, BLUE, GREEN, "#b565c9", "#a98a20", "#d9607a",
    "#24909f", "#8c7355", "#7f9a3c", "#7a7fd6", "#c44fa0", "#6f8fa8",
)  # fmt: skip
CURVE_POINTS = 30
OVERLAP = 0.002
"""Cells of the heat map overlap by this much, to avoid hair lines between them."""


class NamedLambda(NamedTuple):
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
    base = inline({"n": n, "mean": s.mean, "low": s.low, "high": s.high} for n, s in rows).encode(
        x=x,
        tooltip=tooltip(
            ("n:Q", "outputs", ".0f"),
            ("mean:Q", "mean of the draws", format),
            ("low:Q", "lowest", format),
            ("high:Q", "highest", format),
        ),
    )
    low = alt.Y("low:Q", title=title, scale=alt.Scale(zero=zero))
    line = base.mark_line(color=BLUE, strokeWidth=2, point=alt.OverlayMarkDef(color=BLUE, size=55))
    return [
        base.mark_rule(color=BLUE, opacity=0.45, strokeWidth=3).encode(y=low, y2="high:Q"),
        line.encode(y=agreement_axis(title, "mean:Q", zero)),
    ]


def agreement_by_labels(learning: Learning, measure: str) -> alt.LayerChart:
    """Return cross-validated agreement by number of labelled outputs."""
    rows = [(s.n, s.agreement) for s in learning.steps if s.agreement is not None]
    layers = _measured(rows, _n(max((n for n, _ in rows), default=1)), measure_title(measure), ".3f")
    return alt.LayerChart(layer=layers, width="container", height=260)


def width_by_labels(learning: Learning) -> alt.LayerChart:
    """Return the width of the CI of λ in ω by number of labelled outputs, with the fitted law and its forecasts."""
    rows = [(s.n, s.width) for s in learning.steps if s.width is not None]
    last = max([n for n, _ in rows] + [f.n for f in learning.forecasts], default=1)
    x = _n(last)
    layers = _measured(rows, x, "width of the 95 % CI in ω ↓", ".2f", zero=True)
    if learning.law is not None and rows:
        first = rows[0][0]
        at = [first + (last - first) * k / CURVE_POINTS for k in range(CURVE_POINTS + 1)]
        law = inline({"n": n, "mean": learning.law.width(n)} for n in at)
        forecasts = inline(
            {"n": f.n, "mean": f.width, "times": f"{f.times:g}×", "around": "–".join(map(format_lambda, f.around))}
            for f in learning.forecasts
        ).encode(x=x, y="mean:Q")
        lines = tooltip(
            ("times:N", "forecast for"),
            ("n:Q", "outputs"),
            ("mean:Q", "width in ω", ".2f"),
            ("around:N", "95 % CI of λ"),
        )
        dots = forecasts.mark_point(color=ORANGE, size=80, filled=False, strokeWidth=2, opacity=1)
        layers += [
            law.mark_line(color=ORANGE, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y="mean:Q"),
            dots.encode(tooltip=lines),
            forecasts.mark_text(color=TEXT, dy=-13).encode(text="times:N"),
        ]
    return alt.LayerChart(layer=layers, width="container", height=260)


def estimates(rows: Sequence[NamedLambda]) -> alt.LayerChart:
    """Return one line per λ with its optimum and 95 % CI, in the given order; the first is highlighted for comparison."""
    values = []
    for k, r in enumerate(rows):
        low, high = r.ci or (r.lam, r.lam)
        interval = f"[{format_lambda(low)}, {format_lambda(high)}]" if r.ci else "none"
        ends = {"low": omega(low), "high": omega(high), "interval": interval}
        values.append(lambda_row(r.lam, name=chart_label(r.name), text=r.text, first=k == 0, **ends))
    base = inline(values).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=names_axis(labelLimit=150, grid=False)),
        color=alt.condition("datum.first", alt.value(ORANGE), alt.value(BLUE)),
        tooltip=tooltip(("name:N", " "), ("lambda:N", "λ"), ("interval:N", "95 % CI"), ("text:N", "agreement")),
    )
    band = inline(values[:1]).mark_rect(color=ORANGE, opacity=0.12).encode(x=lambda_axis("low:Q"), x2="high:Q")
    rules = base.mark_rule(strokeWidth=3, opacity=0.6).encode(x=lambda_axis("low:Q"), x2="high:Q")
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(x=lambda_axis())
    return alt.LayerChart(layer=[band, rules, dots], width="container", height=34 * len(values) + 60)


def _at_k(measure: str) -> list[alt.Tooltip]:
    return tooltip(("k:N", "K"), ("lambda:N", "λ"), ("agreement:Q", measure_title(measure), ".4f"))


def curves_at_top(tops: Sequence[Top], measure: str) -> alt.LayerChart:
    """Return agreement by λ, one line per K with its optimum (Lu et al. 2023, Figure 2)."""
    with_lambda = [(t, str(t.k), t.lam) for t in tops if t.lam is not None]
    steps = inline(
        lambda_row(p.lam, agreement=p.agreement, k=k)
        for t, k, _ in with_lambda
        for p in t.curve
        if p.agreement is not None
    )
    best = inline(lambda_row(lam, agreement=t.agreement, k=k) for t, k, lam in with_lambda)
    scale = alt.Scale(domain=[k for _, k, _ in with_lambda], range=_between(len(with_lambda)))
    colour = alt.Color("k:N", title="K best systems", scale=scale, legend=alt.Legend(orient="bottom", columns=8))
    y = alt.Y("agreement:Q", title=measure_title(measure), scale=alt.Scale(zero=False))
    layers = [
        layer.encode(x=lambda_axis(), y=y, color=colour, tooltip=_at_k(measure))
        for layer in (
            steps.mark_line(interpolate="step-after", strokeWidth=2),
            best.mark_point(filled=True, size=100, opacity=1),
        )
    ]
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
        k = str(t.k)
        for start, end, point in zip(low, high, t.row(grid), strict=True):
            if point.agreement is not None:
                place = {"k": k, "from": start, "to": end, "over": min(end + OVERLAP, axis[-1])}
                value = min(0.0, point.agreement - t.agreement) if loss else point.agreement
                shown = {"lambda": format_lambda(point.lam), "agreement": point.agreement, "value": value}
                cells.append({**place, **shown})
        first, last = (min(max(omega(x), axis[0]), axis[-1]) for x in (t.ci or (t.lam, t.lam)))
        if first < last:
            spans.append({"k": k, "from": first, "to": last})
        if axis[0] <= omega(t.lam) <= axis[-1]:
            marks.append(lambda_row(t.lam, k=k))
    ticks = TICKS if axis[-1] == 1 else grid[::2]
    x = lambda_axis("from:Q", ticks)
    y = alt.Y("k:N", sort=[str(t.k) for t in tops], title="K best systems", axis=alt.Axis(ticks=False, domain=False))
    colour = alt.Color(
        "value:Q",
        title="difference to the best λ of the same K" if loss else measure_title(measure),
        scale=alt.Scale(scheme="blues"),
        legend=alt.Legend(orient="bottom", gradientLength=220, titleLimit=300, format=".3~f"),
    )
    tiles = inline(cells).mark_rect(strokeWidth=0)
    best = inline(marks).mark_point(color=ORANGE, filled=True, size=80, opacity=1)
    layers = [
        tiles.encode(x=x, x2="over:Q", y=y, color=colour, tooltip=_at_k(measure)),
        inline(spans).mark_rule(color=ORANGE, strokeWidth=3).encode(x=x, x2="to:Q", y=y),
        best.encode(x=lambda_axis(ticks=ticks), y=y, tooltip=tooltip(("k:N", "K"), ("lambda:N", "best λ"))),
    ]
    return alt.LayerChart(layer=layers, width="container", height=40 * len(tops) + 190)


def metrics_at_top(rows: Sequence[AgreementAtK], measure: str) -> alt.LayerChart:
    """Return the agreement of each metric on the K best systems (Lu et al. 2023, Figure 3); baselines are grey and dotted.

    The legend is in the order of agreement on all systems; colours that come again are dashed.
    """
    ks = sorted({r.k for r in rows})
    final = sorted((r for r in rows if not r.sentinel), key=lambda r: (-r.k, -r.agreement))
    names = list(dict.fromkeys(chart_label(r.label) for r in final))
    turn = [divmod(k, len(COLOURS)) for k in range(len(names))]
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=170, symbolType="stroke", symbolStrokeWidth=3)
    colours = alt.Scale(domain=names, range=[COLOURS[place] for _, place in turn])
    dashes = alt.Scale(domain=names, range=[[7, 3] if again else [1, 0] for again, _ in turn])
    colour = alt.Color("label:N", title=None, scale=colours, legend=legend)
    dash = alt.StrokeDash("label:N", title=None, scale=dashes, legend=legend)
    layers = []
    for sentinel in (True, False):
        of_kind = [r for r in rows if r.sentinel == sentinel]
        base = inline({"label": chart_label(r.label), "k": str(r.k), "agreement": r.agreement} for r in of_kind).encode(
            x=alt.X("k:O", sort=list(map(str, ks)), title="K best systems", axis=alt.Axis(labelAngle=0)),
            y=agreement_axis(measure_title(measure)),
            tooltip=tooltip(("label:N", "metric"), ("k:O", "K"), ("agreement:Q", measure_title(measure), ".3f")),
        )
        if of_kind and sentinel:
            dots = alt.OverlayMarkDef(color=GREY, size=25)
            layers.append(base.mark_line(color=GREY, strokeDash=[2, 4], point=dots).encode(detail="label:N"))
        elif of_kind:
            line = base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=45))
            layers.append(line.encode(color=colour, strokeDash=dash))
    return alt.LayerChart(layer=layers, width="container", height=300 + 12 * len({r.label for r in rows}))


def _between(n: int) -> list[str]:
    ends = [[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in SEQUENCE]
    colours = []
    for i in range(n):
        place = i * (len(ends) - 1) / max(1, n - 1)
        k = min(int(place), len(ends) - 2)
        mixed = [round(a + (place - k) * (b - a)) for a, b in zip(ends[k], ends[k + 1], strict=True)]
        colours.append("#" + "".join(f"{v:02x}" for v in mixed))
    return colours
