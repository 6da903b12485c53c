"""Chart of agreement by λ: the step curve with its best plateau and bootstrap CI, and reference values of λ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from core.calibration.calibrate import Calibration
from core.calibration.curve import CurvePoint, Plateau, omega
from core.calibration.resampling import Band
from core.plots.labels import chart_label

BLUE, ORANGE, GREY, GREEN = "#4c8bf5", "#e07b39", "#8a8f98", "#3fa37a"
"""Mid tones, readable on light and dark pages and distinguishable for colour-blind readers."""
TICKS = (0.0, 0.25, 0.5, 1.0, 2.0, 5.0, 20.0, float("inf"))
MEASURE_NAMES = {"kendall": "Kendall τ-b", "acc_eq": "acc_eq", "spearman": "Spearman ρ", "pearson": "Pearson r"}


def format_lambda(lam: float, digits: int = 3) -> str:
    """Return λ with `digits` significant digits, or ∞."""
    return "∞" if lam == float("inf") else f"{lam:.{digits}g}"


def _rows(named: Mapping[str, float]) -> alt.InlineData:
    return alt.InlineData(
        values=[
            {"omega": omega(lam), "lambda": format_lambda(lam), "name": chart_label(name)}
            for name, lam in named.items()
        ]
    )


def lambda_axis(field: str = "omega:Q", ticks: Sequence[float] = TICKS) -> alt.X:
    """Return an axis of λ on the scale of ω, from the first to the last tick."""
    title = "λ: weight of explicit relative to implicit errors"
    label = "datum.value > 0.9999 ? '∞' : format(datum.value / (1 - datum.value), '.3~g')"
    at = [omega(t) for t in ticks]
    axis = alt.Axis(values=at, labelExpr=label, title=title, grid=False)
    return alt.X(field, scale=alt.Scale(domain=[at[0], at[-1]], nice=False), axis=axis)


def _y(title: str) -> alt.Y:
    return alt.Y("agreement:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(format=".3~f"))


def agreement_by_lambda(
    curve: Sequence[CurvePoint],
    plateau: Plateau,
    lam: float,
    agreement: float,
    *,
    ribbon: Sequence[Band] = (),
    vanilla: float | None = None,
    presets: Mapping[str, float] | None = None,
    measure: str = "kendall",
) -> alt.LayerChart:
    """Return the chart; `vanilla` is the agreement of plain BARTScore, `presets` maps names to λ."""
    title = f"{MEASURE_NAMES.get(measure, measure)} with human scores ↑"
    x, y = lambda_axis(), _y(title)
    layers: list[alt.Chart] = []
    if ribbon:
        values = [{"omega": omega(b.lam), "low": b.low, "high": b.high} for b in ribbon]
        area = alt.Chart(alt.InlineData(values=values)).mark_area(color=BLUE, opacity=0.15)
        layers.append(area.encode(x=x, y=alt.Y("low:Q", title=title, scale=alt.Scale(zero=False)), y2="high:Q"))
    shade = [
        {"from": omega(plateau.low), "to": omega(plateau.high), "text": plateau_text(plateau), "agreement": agreement}
    ]
    rect = alt.Chart(alt.InlineData(values=shade)).mark_rect(color=ORANGE, opacity=0.3, stroke=ORANGE)
    tooltip = [alt.Tooltip("text:N", title="best λ"), alt.Tooltip("agreement:Q", title=title, format=".4f")]
    layers.append(rect.encode(x=lambda_axis("from:Q"), x2="to:Q", tooltip=tooltip))
    steps = [
        {"omega": omega(p.lam), "agreement": p.agreement, "lambda": format_lambda(p.lam)}
        for p in curve
        if p.agreement is not None
    ]
    line = alt.Chart(alt.InlineData(values=steps)).mark_line(interpolate="step-after", color=BLUE, strokeWidth=2)
    tip = [alt.Tooltip("lambda:N", title="from λ"), alt.Tooltip("agreement:Q", title=title, format=".4f")]
    layers.append(line.encode(x=x, y=y, tooltip=tip))
    if vanilla is not None:
        rule = alt.Chart(alt.InlineData(values=[{"agreement": vanilla, "name": "BARTScore"}]))
        named = [alt.Tooltip("name:N", title=" "), alt.Tooltip("agreement:Q", title=title, format=".4f")]
        layers.append(rule.mark_rule(color=GREY, strokeDash=[6, 4], strokeWidth=1.5).encode(y=y, tooltip=named))
    layers.append(_ticks({"λ = 1": 1.0}, GREY, x, [2, 3], 1.0))
    if presets:
        layers.append(_ticks(presets, GREEN, x, [1, 4], 1.0))
    chosen = alt.InlineData(values=[{"omega": omega(lam), "agreement": agreement, "lambda": format_lambda(lam)}])
    layers.append(
        alt.Chart(chosen).mark_point(color=ORANGE, size=90, filled=True, opacity=1).encode(x=x, y=y, tooltip=tip)
    )
    return alt.LayerChart(layer=layers, width="container", height=320)


def _ticks(named: Mapping[str, float], color: str, x: alt.X, dash: list[float], width: float) -> alt.Chart:
    rule = alt.Chart(_rows(named)).mark_rule(color=color, strokeDash=dash, strokeWidth=width)
    drawn: alt.Chart = rule.encode(x=x, tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("lambda:N", title="λ")])
    return drawn


def plateau_text(p: Plateau) -> str:
    """Return the plateau as text, such as [1.2, 2.4), with enough digits to distinguish its ends; one number if it is a point."""
    if p.low == p.high:
        return format_lambda(p.low)
    ends = ((format_lambda(p.low, digits), format_lambda(p.high, digits)) for digits in range(3, 17))
    low, high = next((pair for pair in ends if pair[0] != pair[1]), (repr(p.low), repr(p.high)))
    return f"{'[' if p.low_closed else '('}{low}, {high}{']' if p.high_closed else ')'}"


def calibration_chart(c: Calibration, measure: str = "kendall") -> alt.LayerChart:
    """Return the chart of a calibration."""
    presets = {name: lam for name, (lam, _) in c.presets.items()}
    return agreement_by_lambda(
        c.curve,
        c.plateau,
        c.lam,
        c.agreement,
        ribbon=c.ribbon,
        vanilla=c.at.get("vanilla"),
        presets=presets,
        measure=measure,
    )
