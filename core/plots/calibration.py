"""Chart of agreement by λ: the step curve with its best plateau and bootstrap CI, and reference values of λ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from core.calibration.calibrate import Calibration
from core.calibration.curve import Plateau, omega
from core.formatting import format_lambda
from core.plots.encodings import BLUE, GREEN, GREY, ORANGE, inline, tooltip
from core.plots.labels import chart_label

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
