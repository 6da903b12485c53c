"""Texts side by side, each with the marks of one rater drawn on it. Nothing is sent back.

`data`: {columns: [{name, note, output, source, marks: [{severity, category, quote, note, side}]}]}; `output` and `source` are
lists of [text, severity, [number, …]] (`core.services.agreement.stretches`), `source` empty where nothing is marked there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from pages._ui import component

HERE = Path(__file__).parent


@st.cache_resource
def _component() -> Any:
    return component.build("errorscope_marked_texts", HERE, "marked.css", "marked.js")


def marked_texts(columns: Sequence[Mapping[str, Any]], *, key: str) -> None:
    """Draw them."""
    component.draw(_component(), {"columns": [dict(c) for c in columns]}, key=key, handlers={})
