"""The keys of the pages. Those of Annotate are read from its editor, so that they cannot differ."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import streamlit as st

from pages._ui.shared import tables

EDITOR = Path(__file__).parents[1] / "components" / "span_annotator" / "editor.js"
COMPARE = (("← · →", "previous · next segment"), ("/", "search"))
REFINEMENT = (
    ("← · →", "previous · next step"),
    ("↑ · ↓", "previous · next token (word part)"),
    ("Enter", "alternatives of the token"),
)


@cache
def annotate_keys() -> tuple[tuple[str, str], ...]:
    """Return the keys of the editor with what they do."""
    code = EDITOR.read_text(encoding="utf-8")
    (listed,) = re.findall(r"^const KEYS = \[\n(.*?)^\];", code, re.MULTILINE | re.DOTALL)
    return tuple(re.findall(r'\["([^"]+)", "([^"]+)"\]', listed))


def draw() -> None:
    """Draw the keys by page."""
    pages = {"Annotate": annotate_keys(), "Compare": COMPARE, "Compare, refinement step by step": REFINEMENT}
    for title, keys in pages.items():
        st.subheader(title, anchor=False)
        tables.text_table([{"key": key, "what it does": what} for key, what in keys], tall=len(keys))
