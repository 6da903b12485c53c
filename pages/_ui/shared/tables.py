"""Small tables of texts, and the reasons why values are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.formatting import format_count
from pages._ui.shared.markdown import escape_markdown

TALL = 12


def text_table(rows: Sequence[Mapping[str, str]], tall: int = TALL) -> None:
    """Draw a table of texts with wrapped cells. Empty columns are left out; more than `tall` rows scroll."""
    names = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    shown = [{escape_markdown(name): escape_markdown(row[name]) for name in names} for row in rows]
    st.table(shown, border="horizontal", hide_index=True, height=480 if len(rows) > tall else "content")


def reasons(lines: Sequence[str]) -> None:
    """Draw why values were not computed, one line per value; nothing if all were."""
    if lines:
        with st.expander(f"{format_count(len(lines), 'value')} not computed: reasons"):
            st.text("\n".join(lines))
