"""Charts of rater agreement: Kendall's τ per pair of raters, and the severities that two raters give to the same characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from core.formatting import format_number
from core.plots.encodings import BLUE, GREY, ORANGE, inline, names_axis, tooltip
from core.plots.labels import chart_label, chart_labels
from core.stats.correlation.pairs import Ints
from core.stats.raters.rater_agreement import RaterPair

CELL = 44
NAMES = 120
FONT = 13


def tau_matrix(raters: Sequence[str], pairs: Sequence[RaterPair], *, ink: str = "gray") -> alt.LayerChart:
    """Return a rater × rater matrix of τ-b; undefined cells are empty and have the reason in the tooltip.

    `ink` is the colour of the numbers, because themes do not set it. Show the chart with width `matrix_width`.
    """
    names, rows = chart_labels(raters), []
    for p in pairs:
        text = format_number(p.tau.value, 2, leading_zero=True)
        why = p.tau.reason or (f"defined in {p.tau.counted} segments" if p.tau.counted else "")
        shared = {"tau": p.tau.value, "text": text, "n": p.tau.n, "why": why}
        first, second = chart_label(p.first), chart_label(p.second)
        rows += [{"a": first, "b": second, **shared}, {"a": second, "b": first, **shared}]
    base = inline(rows).encode(
        x=alt.X("a:N", sort=names, title=None, axis=names_axis(labelLimit=NAMES - 10, labelAngle=-90)),
        y=alt.Y("b:N", sort=names, title=None, axis=names_axis(labelLimit=NAMES - 10)),
        tooltip=tooltip(
            ("a:N", "rater"),
            ("b:N", "rater"),
            ("text:N", "Kendall τ-b"),
            ("n:Q", "outputs rated by both"),
            ("why:N", "note"),
        ),
    )
    scale = alt.Scale(domain=[-1, 0, 1], range=[ORANGE + "99", GREY + "22", BLUE + "99"])
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
    counts: Ints, names: Sequence[str], *, rows: str, columns: str, ink: str = "gray"
) -> alt.LayerChart:
    """Return the number of characters per severity of one rater (`rows`) and the other (`columns`), shaded by the share of the row.

    `counts` has shape (len(names), len(names)). The last cell (marked by neither) is left out. `ink` is the colour of the numbers.
    """
    rows, columns, names = chart_label(rows), chart_label(columns), chart_labels(names)
    cells: list[dict[str, Any]] = []
    for i, given in enumerate(names):
        total = int(counts[i].sum())
        for other, n in zip(names, counts[i].tolist(), strict=True):
            share = n / total if total else 0.0
            cells.append({"row": given, "column": other, "n": n, "share": share, "text": f"{n:,}"})
    base = inline(cells[:-1]).encode(
        x=alt.X("column:N", sort=names, title=columns, axis=names_axis(labelAngle=0)),
        y=alt.Y("row:N", sort=names, title=rows, axis=names_axis(labelAngle=0)),
        tooltip=tooltip(
            ("row:N", rows), ("column:N", columns), ("n:Q", "characters", ","), ("share:Q", "share of the row", ".0%")
        ),
    )
    shade = alt.Scale(domain=[0, 1], range=[0, 0.55])
    rect = base.mark_rect(color=BLUE, cornerRadius=3).encode(opacity=alt.Opacity("share:Q", scale=shade, legend=None))
    return alt.LayerChart(layer=[rect, _numbers(base, ink)]).properties(height=CELL * len(names) + 60)


def _numbers(base: alt.Chart, ink: str) -> alt.Chart:
    text: alt.Chart = base.mark_text(fontSize=FONT, color=ink).encode(text="text:N")
    return text
