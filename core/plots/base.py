"""Colours, axes, tooltips and safe names that several charts share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.formatting import isolated

BLUE, ORANGE, GREY, GREEN = "#2f7fb0", "#cc6d24", "#82878f", "#389a72"
"""Mid tones with a contrast of at least 3:1 to light and dark pages, distinguishable for colour-blind readers."""
TEXT = "currentColor"
"""The text colour of the page. Mid tones are too pale for text."""
TINT = 0.7
"""The largest opacity of a mid tone on which the text colour is readable, on light and dark pages."""
SHAPES = (
    "circle", "square", "cross", "diamond", "triangle-up", "triangle-down", "triangle-right", "triangle-left",
)  # fmt: skip
TICKS = 8
"""About how many values an axis of numbers names."""
RIGHT = 14
"""Pixels to the right of a chart, for half of the last label."""
PADDING = {"left": 5, "top": 5, "right": RIGHT, "bottom": 5}
"""Pixels around a chart in a report."""
Line = str | tuple[str, str] | tuple[str, str, str]
"""A field with its type, such as "n:Q", with its title ("" for the name of the field) and format."""


@alt.theme.register("errorscope", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    """Return what all charts share: few ticks, and room for the last label, which is centred on its tick."""
    sides = alt.theme.PaddingKwds(left=5, top=5, right=RIGHT)  # Streamlit sets the bottom
    return {"padding": sides, "config": {"axisQuantitative": {"tickCount": TICKS}}}


def inline(rows: Iterable[Mapping[str, Any]]) -> alt.Chart:
    """Return a chart of these rows. Altair would check an `InlineData` row by row, and copy a list with every layer."""
    return alt.Chart({"values": tuple(rows)})


def distinct(names: Iterable[str]) -> list[str]:
    """Return each name once, in order of first appearance."""
    return list(dict.fromkeys(names))


def tooltip(*lines: Line) -> list[alt.Tooltip]:
    tooltips = []
    for line in lines:
        field, *rest = (line,) if isinstance(line, str) else line
        options: dict[str, Any] = {name: value for name, value in zip(("title", "format"), rest, strict=False) if value}
        tooltips.append(alt.Tooltip(field, **options))
    return tooltips


def colour_and_shape(field: str, names: list[str], legend: alt.Legend) -> tuple[alt.Color, alt.Shape]:
    """Return a colour and a shape per name, with one legend for both. No two of 64 names have both in common.

    The theme has eight colours, which come again; the shapes then begin one later. Vega draws one legend only if both domains are given.
    """
    shapes = [SHAPES[(i + i // len(SHAPES)) % len(SHAPES)] for i in range(len(names))]
    colour = alt.Color(field, sort=names, scale=alt.Scale(domain=names), legend=legend)
    return colour, alt.Shape(field, sort=names, scale=alt.Scale(domain=names, range=shapes), legend=legend)


def intervals(base: alt.Chart, value: str, title: str) -> alt.LayerChart:
    """Return a dot per row at `value`, on a bar from its field low to its field high."""
    scale = alt.Scale(zero=False, padding=12)
    data, base = base.data, base.copy(deep=False)
    base.data = alt.Undefined  # altair would print the data of each layer to compare them
    bar = base.mark_bar(size=3, opacity=0.45).encode(x=alt.X("low:Q", title=title, scale=scale), x2="high:Q")
    dot = base.mark_point(filled=True, size=90, opacity=1).encode(x=alt.X(value, title=title, scale=scale))
    return alt.LayerChart(data=data, layer=[bar, dot])


def dot_plot(
    rows: pd.DataFrame, name: str, title: str, lines: Sequence[Line], *, value: str = "value", colour: Any = alt.Undefined,
    limit: int = 180, row: int = 32, rest: int = 60,
) -> alt.LayerChart:  # fmt: skip
    """Return a dot per row of `name`, in their order, on its interval (low, high). The height is `row` pixels per row and the `rest`.

    `lines` are those of the tooltip after the name.
    """
    rows = with_labels(rows, name)
    base = alt.Chart(rows).encode(
        y=alt.Y(f"{name}:N", sort=list(rows[name]), title=None, axis=names_axis(labelLimit=limit)),
        color=colour,
        tooltip=tooltip(f"{name}:N", *lines),
    )
    return intervals(base, f"{value}:Q", chart_label(title)).properties(height=row * max(1, len(rows)) + rest)


def names_axis(**options: Any) -> alt.Axis:
    """Return an axis for names: without line and ticks, and with every name, even if they overlap."""
    return alt.Axis(domain=False, ticks=False, labelOverlap=False, **options)


_PICTURES = {
    **{c: 0x2400 + c for c in range(0x20)},
    0x5C: 0x2216,
    0x7F: 0x2421,
    0x85: 0x2424,
    0x2028: 0x23CE,
    0x2029: 0xB6,
}
"""A visible symbol for each character that ends a line of code, escapes the next one, or controls a terminal."""
_RESERVED = frozenset(
    "__proto__ constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf "
    "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ prototype image title".split()
)
"""Properties of every JavaScript object, and the two keys that tooltips show as an image and a heading."""
_INVISIBLE = "\u2060"


def chart_label(text: str) -> str:
    """Return a name as a label: `isolated`, and as `chart_text`."""
    return isolated(chart_text(text))


def chart_text(text: str) -> str:
    """Return `text` with control characters as symbols and an invisible prefix before names that JavaScript reserves."""
    shown = text.translate(_PICTURES)
    return _INVISIBLE + shown if shown in _RESERVED else shown


def chart_labels(names: Iterable[str]) -> list[str]:
    return [chart_label(name) for name in names]


def with_labels(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return `rows` with `chart_label` applied to the texts in `columns`; other values are unchanged."""

    def label(value: Any) -> Any:
        return chart_label(value) if isinstance(value, str) else value

    return rows.assign(**{c: rows[c].map(label) for c in columns if c in rows})
