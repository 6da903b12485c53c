"""Charts of rater agreement: Kendall's τ per pair of raters, and the severities that two raters give to the same characters."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from core.plots.labels import chart_label, chart_labels
from core.stats.correlation.pairs import Ints
from core.stats.raters.rater_agreement import RaterPair

BLUE, ORANGE = "#4c8bf5", "#e07b39"
"""Mid tones, readable on light and dark pages and distinguishable for colour-blind readers."""
CELL = 44
NAMES = 120
FONT = 13


def tau_matrix(raters: Sequence[str], pairs: Sequence[RaterPair], *, ink: str = "gray") -> alt.LayerChart:
    """Return a rater × rater matrix of τ-b; undefined cells are empty and have the reason in the tooltip.

    `ink` is the colour of the numbers, because themes do not set it. Show the chart with width `matrix_width`.
    """
    names, rows = chart_labels(raters), []
    for p in pairs:
        text = "–" if p.tau.value is None else f"{p.tau.value:.2f}".replace("-", "−")
        shared = {
            "tau": p.tau.value,
            "text": text,
            "n": p.tau.n,
            "why": p.tau.reason or (f"defined in {p.tau.counted} segments" if p.tau.counted else ""),
        }
        first, second = chart_label(p.first), chart_label(p.second)
        rows += [{"a": first, "b": second, **shared}, {"a": second, "b": first, **shared}]
    tooltip = [
        alt.Tooltip("a:N", title="rater"),
        alt.Tooltip("b:N", title="rater"),
        alt.Tooltip("text:N", title="Kendall τ-b"),
        alt.Tooltip("n:Q", title="outputs rated by both"),
        alt.Tooltip("why:N", title="note"),
    ]
    axis = alt.Axis(labelLimit=NAMES - 10, domain=False, ticks=False, labelOverlap=False)
    below = alt.Axis(labelLimit=NAMES - 10, domain=False, ticks=False, labelOverlap=False, labelAngle=-90)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("a:N", sort=names, title=None, axis=below),
        y=alt.Y("b:N", sort=names, title=None, axis=axis),
        tooltip=tooltip,
    )
    scale = alt.Scale(domain=[-1, 0, 1], range=[ORANGE + "99", "#8a8f9822", BLUE + "99"])
    cells = base.mark_rect(cornerRadius=3).encode(
        color=alt.condition(
            "isValid(datum.tau)", alt.Color("tau:Q", scale=scale, legend=None), alt.value("transparent")
        )
    )
    return alt.LayerChart(layer=[cells, _numbers(base, ink)]).properties(height=CELL * max(1, len(raters)) + NAMES)


def matrix_width(n_raters: int) -> int:
    """Return the width in pixels for n columns and the names of the rows."""
    return (CELL + 16) * n_raters + NAMES


def severity_confusion(
    counts: Ints, names: Sequence[str], *, rows: str, columns: str, ink: str = "gray", opacity: float = 0.55
) -> alt.LayerChart:
    """Return the number of characters per severity of one rater (`rows`) and the other (`columns`), shaded by the share of the row.

    `counts` has shape (len(names), len(names)). The last cell (marked by neither) is left out. `ink` is the colour of the numbers.
    """
    rows, columns, names = chart_label(rows), chart_label(columns), chart_labels(names)
    cells = []
    for i, given in enumerate(names):
        total = int(counts[i].sum())
        for j, other in enumerate(names):
            if (i, j) != (len(names) - 1, len(names) - 1):
                n = int(counts[i, j])
                cells.append(
                    {"row": given, "column": other, "n": n, "share": n / total if total else 0.0, "text": f"{n:,}"}
                )
    tooltip = [
        alt.Tooltip("row:N", title=rows),
        alt.Tooltip("column:N", title=columns),
        alt.Tooltip("n:Q", title="characters", format=","),
        alt.Tooltip("share:Q", title="share of the row", format=".0%"),
    ]
    axis = alt.Axis(labelAngle=0, domain=False, ticks=False, labelOverlap=False)
    base = alt.Chart(alt.InlineData(values=cells)).encode(
        x=alt.X("column:N", sort=names, title=columns, axis=axis),
        y=alt.Y("row:N", sort=names, title=rows, axis=axis),
        tooltip=tooltip,
    )
    shade = alt.Scale(domain=[0, 1], range=[0, opacity])
    rect = base.mark_rect(color=BLUE, cornerRadius=3).encode(opacity=alt.Opacity("share:Q", scale=shade, legend=None))
    return alt.LayerChart(layer=[rect, _numbers(base, ink)]).properties(height=CELL * len(names) + 60)


def _numbers(base: alt.Chart, ink: str) -> alt.Chart:
    text: alt.Chart = base.mark_text(fontSize=FONT, color=ink).encode(text="text:N")
    return text
