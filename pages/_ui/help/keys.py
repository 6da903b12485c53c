"""The keys of the pages. Those of Annotate are read from its editor, so that they cannot differ."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core.data import SEVERITIES
from pages._ui.shared import tables

TEXTS = Path(__file__).parents[1] / "components" / "span_annotator" / "texts.js"
COMPARE = (("← · →", "previous · next segment"), ("/", "search"))
REFINEMENT = (
    ("← · →", "previous · next step"),
    ("↑ · ↓", "previous · next token (word part)"),
    ("Enter", "alternatives of the token"),
)
PREFERENCE = frozenset({"preference", "ties"})
"""Keys of the editor that mean something else where error spans are marked."""


def _table(name: str) -> Any:
    code = TEXTS.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^export const {name} = (.*?^[\]}}]);", code, re.MULTILINE | re.DOTALL)
    return json.loads(found)


@cache
def annotate_keys(*, preference: bool = False) -> tuple[tuple[str, str], ...]:
    """Return the keys of the editor with what they do: those of a preference between outputs, or all others."""
    texts = _table("EDITOR_TEXTS")
    severities = " · ".join(SEVERITIES)
    return tuple(
        (key, texts[text].replace("{severities}", severities))
        for key, text, when in _table("KEYS")
        if (when in PREFERENCE) == preference
    )


def draw() -> None:
    """Draw the keys by page."""
    pages = {
        "Annotate": annotate_keys(),
        "Annotate, preference between two outputs": annotate_keys(preference=True),
        "Compare": COMPARE,
        "Compare, refinement step by step": REFINEMENT,
    }
    for title, keys in pages.items():
        st.subheader(title, anchor=False)
        tables.text_table([{"key": key, "what it does": what} for key, what in keys], tall=len(keys))
