"""Charts of the Compare page: system means with 95 % CIs, and one metric against another."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.plots.encodings import Line, colour_and_shape, intervals, names_axis, tooltip
from core.plots.labels import chart_label, chart_labels, with_labels

PICK = "pick"
"""Name of the selection in the scatter plot; its points have doc and segment as written by `chart_label`."""


def means(rows: pd.DataFrame, title: str) -> alt.LayerChart:
    """Return a dot plot of system means with their 95 % CIs, in the order of the rows.

    `rows` has the columns system, mean, low, high, n; systems without a mean are left out.
    """
    shown, title = with_labels(rows.dropna(subset=["mean"]), "system"), chart_label(title)
    base = alt.Chart(shown).encode(
        y=alt.Y("system:N", sort=list(shown["system"]), title=None, axis=names_axis(labelLimit=180)),
        tooltip=tooltip(
            "system:N",
            ("mean:Q", "", ".3f"),
            ("low:Q", "95 % CI from", ".3f"),
            ("high:Q", "to", ".3f"),
            ("n:Q", "outputs"),
        ),
    )
    return intervals(base, "mean:Q", title).properties(height=34 * max(1, len(shown)) + 70)


def scatter(rows: pd.DataFrame, x_label: str, y_label: str, systems: Sequence[str] | None) -> alt.Chart:
    """Return a scatter plot with one point per output; a click selects it (selection `pick`: doc, segment).

    `rows` has the columns x, y, system, doc, segment. With `systems`, points differ by colour and shape; None hides the
    systems (blind mode).
    """
    rows = with_labels(rows, "system", "doc", "segment")
    x_label, y_label = chart_label(x_label), chart_label(y_label)
    pick = alt.selection_point(name=PICK, fields=["doc", "segment"], on="click", clear="dblclick")
    scale = alt.Scale(zero=False, nice=True, padding=8)
    lines: list[Line] = ["system:N"] if systems is not None else []
    lines += [("doc:N", "document"), "segment:N", ("x:Q", x_label, ".3f"), ("y:Q", y_label, ".3f")]
    chart: alt.Chart = alt.Chart(rows, height=340).mark_point(filled=True, size=70, cursor="pointer")
    chart = chart.add_params(pick).encode(
        x=alt.X("x:Q", title=x_label, scale=scale),
        y=alt.Y("y:Q", title=y_label, scale=scale),
        opacity=alt.condition(pick, alt.value(0.8), alt.value(0.25)),
        tooltip=tooltip(*lines),
    )
    if systems is None:
        return chart
    legend = alt.Legend(orient="bottom", title=None, columns=4, labelLimit=160)
    colour, shape = colour_and_shape("system:N", chart_labels(systems), legend)
    return chart.encode(color=colour, shape=shape)
