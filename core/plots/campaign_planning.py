"""Chart of the detectable difference of a planned campaign by its number of segments and raters."""

from __future__ import annotations

from collections.abc import Iterable

import altair as alt

from core.formatting import format_count
from core.plots.encodings import ORANGE, inline, tooltip

HEIGHT = 320


def planning_chart(
    points: Iterable[tuple[int, int, float]], segments: int, raters: int, title: str = "detectable difference (points)"
) -> alt.LayerChart:
    """Return a line per number of annotators per output, from (segments, raters, difference); the plan is marked."""
    given = tuple(points)
    rows = [
        {"segments": n, "raters": format_count(k, "annotator"), "k": k, "difference": difference}
        for n, k, difference in given
    ]
    x = alt.X("segments:Q", title="segments", scale=alt.Scale(zero=False), axis=alt.Axis(tickMinStep=1))
    y = alt.Y("difference:Q", title=f"{title} ↓", scale=alt.Scale(zero=False))
    names = [format_count(k, "annotator") for k in sorted({k for _, k, _ in given})]
    lines = tooltip(
        ("segments:Q", "segments"), ("raters:N", "per output"), ("difference:Q", "detectable difference", ".2f")
    )
    colour = alt.Color("raters:N", sort=names, legend=alt.Legend(title="per output", orient="top"))
    dash = alt.StrokeDash("raters:N", sort=names, legend=None)
    curve = inline(rows).mark_line(point=alt.OverlayMarkDef(size=22)).encode(x=x, y=y, color=colour, strokeDash=dash, tooltip=lines)  # fmt: skip
    planned = inline(row for row in rows if row["segments"] == segments and row["k"] == raters)
    mark = planned.mark_point(color=ORANGE, size=140, filled=True, opacity=1, shape="diamond").encode(
        x=x, y=y, tooltip=lines
    )
    return alt.LayerChart(layer=[curve, mark], width="container", height=HEIGHT)
