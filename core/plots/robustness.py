"""Charts of how much each metric's score changes when a text is changed."""

from __future__ import annotations

import altair as alt
import pandas as pd

from core.formatting import format_change
from core.plots.encodings import BLUE, GREY, ORANGE, distinct, tooltip
from core.plots.labels import with_labels
from core.ports.cases import BARELY, MISSES, NOTICES

_MARKS = {MISSES: "✕", BARELY: "≈"}
_COLOURS = alt.Scale(domain=[NOTICES, BARELY, MISSES], range=[BLUE, GREY, ORANGE])
ROW, COLUMN, LABELS, HEAD = 26, 72, 130, 110
"""Pixels; charts with labels are fitted into the size that is given."""


def changes(rows: pd.DataFrame) -> alt.LayerChart:
    """Return one bar per metric: the change of its score as a share of the metric's range, to the left if the changed text is worse.

    `rows` has the columns metric, share, good, changed, verdict and range; rows without a share are left out. Bars follow the rows.
    """
    there = with_labels(rows, "metric", "range").dropna(subset=["share"])
    there = there.assign(mark=there["verdict"].map(_MARKS).fillna(""))
    order = list(there["metric"])
    base = alt.Chart(there).encode(
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
    zero = alt.Chart(there.head(1)).mark_rule(aria=False, color="gray", opacity=0.6).encode(x=alt.XDatum(0.0))
    words.transform = [alt.CalculateTransform(calculate="max(datum.share, 0)", **{"as": "edge"})]
    return alt.LayerChart(layer=[base.mark_bar(), zero, words]).properties(height=HEAD + max(60, ROW * len(there)))


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
