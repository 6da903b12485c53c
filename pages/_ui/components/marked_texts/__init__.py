"""Texts side by side, each with the error spans of one rater. Nothing is sent back.

`data`: {columns: [{name, note, output, source, marks: [{severity, category, quote, note, side}]}]}; `output` and `source` are
lists of [text, severity, [number, …]] (`core.services.labels.agreement.stretches`), `source` is empty if it has no error spans.
With `layers` (`core.services.compare.segment.layers_json`), columns are {name, text, lanes}, and each text has lanes (shared/lanes.js).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pages._ui.components import shared

_component = partial(
    shared.build, "errorscope_marked_texts", __file__, "marked.css", "marked.js", "../shared/lanes.css"
)


def marked_texts(
    columns: Sequence[Mapping[str, Any]], *, key: str, layers: Sequence[Mapping[str, Any]] | None = None
) -> None:
    """Draw the columns, with lanes if there are `layers`."""
    data = {"columns": [dict(c) for c in columns], "layers": None if layers is None else [dict(of) for of in layers]}
    shared.draw_component(_component(), data, key=key, handlers={})
