"""Safe names for charts: Vega compiles names of metrics and systems into code and uses them as object keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from core.formatting import isolated

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
