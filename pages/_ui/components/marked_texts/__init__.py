"""Texts side by side, each with the error spans of one rater. Nothing is sent back.

`data`: {columns: [{name, note, output, source, marks: [{severity, category, quote, note, side}]}]}; `output` and `source` are
lists of [text, severity, [number, …]] (`core.services.labels.agreement.stretches`), `source` is empty if it has no error spans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from pages._ui.components import shared

_component = partial(shared.build, "errorscope_marked_texts", __file__, "marked.css", "marked.js")


def marked_texts(columns: Sequence[Mapping[str, Any]], *, key: str) -> None:
    """Draw the columns."""
    shared.draw_component(_component(), {"columns": [dict(c) for c in columns]}, key=key, handlers={})
