"""A curve of the stress report as a small inline SVG: nothing is fetched, colours follow the page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

from core.services.lab.report import Cell, MetricFacts, StressTestInfo

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 220, 54, 78, 12, 40


class Line(NamedTuple):
    """A curve: its name at the end, its class, and a value a place, None where undefined."""

    name: str
    style: str
    values: tuple[float | None, ...]


def chart(cell: Cell, test: StressTestInfo, metric: MetricFacts) -> str:
    """The metric over the noise ratio, gold at 0, with one standard deviation over seeds; precision, recall and F together where
    there are all three. Tests whose levels are no grades have a place a level. "" where nothing is defined."""
    if cell.gold is None or all(p.mean is None for p in cell.points):
        return ""
    lines = _lines(cell)
    spread = [(p.mean - p.sd, p.mean + p.sd) if p.mean is not None and p.sd is not None else None for p in cell.points]
    known = [v for line in lines for v in line.values if v is not None] + [v for pair in spread if pair for v in pair]
    low, high = min(known), max(known)
    margin = (high - low) * 0.06 or max(abs(high) * 0.05, 0.01)
    low, high = low - margin, high + margin
    x = _places(cell, test)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [_axes(cell, test, x, low, high, y(cell.gold))]
    band = [(x[k + 1], y(pair[1]), y(pair[0])) for k, pair in enumerate(spread) if pair]
    if test.graded:
        band = [(x[0], y(cell.gold), y(cell.gold)), *band]
        edge = [f"{a:.1f},{t:.1f}" for a, t, _ in band] + [f"{a:.1f},{b:.1f}" for a, _, b in reversed(band)]
        parts.append(f'<polygon class="band" points="{" ".join(edge)}"/>')
    else:
        parts += [
            f'<line class="{lines[0].style}" x1="{a:.1f}" y1="{t:.1f}" x2="{a:.1f}" y2="{b:.1f}"/>' for a, t, b in band
        ]
    ends: list[tuple[float, str]] = []
    for line in lines:
        there = [(x[k], y(v)) for k, v in enumerate(line.values) if v is not None]
        if test.graded and len(there) > 1:
            points = " ".join(f"{a:.1f},{b:.1f}" for a, b in there)
            parts.append(f'<polyline class="{line.style}" points="{points}"/>')
        parts += [f'<circle class="{line.style}" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in there]
        if there:
            ends.append((there[-1][1], line.name))
    at = 0.0
    for end, name in sorted(ends):
        at = max(end + 4, at + 13)
        parts.append(f'<text x="{WIDTH - RIGHT + 8}" y="{at:.1f}">{html.escape(name)}</text>')
    told = html.escape(f"{metric.label} under {test.label}: {cell.why}", quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">{"".join(parts)}</svg>'


def _lines(cell: Cell) -> list[Line]:
    whole = (cell.gold, *(p.mean for p in cell.points))
    three = {"precision", "recall"} <= set(cell.gold_parts)
    lines = [Line("F" if three else "", "f", whole)]
    for name, style in (("precision", "p"), ("recall", "r")) if three else ():
        lines.append(Line(name, style, (cell.gold_parts[name], *(p.parts.get(name) for p in cell.points))))
    return lines


def _places(cell: Cell, test: StressTestInfo) -> list[float]:
    wide = WIDTH - LEFT - RIGHT
    if not test.graded:
        n = len(cell.points) + 1
        return [LEFT + wide * (k + 0.5) / n for k in range(n)]
    most = max((p.ratio for p in cell.points), default=0.0) or 1.0
    return [LEFT + 6.0, *(LEFT + 6 + (wide - 12) * p.ratio / most for p in cell.points)]


def _axes(cell: Cell, test: StressTestInfo, x: Sequence[float], low: float, high: float, gold: float) -> str:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [
        f'<path class="axis" d="M{LEFT},{TOP}V{bottom}H{right}"/>',
        f'<line class="gold" x1="{LEFT}" y1="{gold:.1f}" x2="{right}" y2="{gold:.1f}"/>',
        f'<text class="end" x="{LEFT - 6}" y="{TOP + 8}">{figure(high)}</text>',
        f'<text class="end" x="{LEFT - 6}" y="{bottom}">{figure(low)}</text>',
    ]
    labels = (
        ["gold", *(p.label for p in cell.points)]
        if not test.graded
        else ["0", *(f"{p.ratio:.2f}" for p in cell.points)]
    )
    last = -100.0
    for at, label in sorted(zip(x, labels, strict=True)):
        if at - last >= 30:
            short = label if len(label) <= 9 else label[:8] + "…"
            parts.append(f'<text class="mid" x="{at:.1f}" y="{bottom + 15}">{html.escape(short)}</text>')
            last = at
    name = "noise ratio" if test.graded else "level"
    parts.append(f'<text class="mid" x="{(LEFT + right) / 2}" y="{HEIGHT - 6}">{name}</text>')
    return "".join(parts)


def figure(value: float | None) -> str:
    """Four significant digits, with a true minus; a dash for None."""
    return "–" if value is None else f"{value:.4g}".replace("-", "−")
