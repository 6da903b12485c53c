"""Small tables to read, their text wrapped and shown as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from pages._ui.errors import plain

TALL = 12


def reading(rows: Sequence[Mapping[str, str]], tall: int = TALL) -> None:
    """A table of texts; a column in which nothing stands is left out, and one of more than `tall` rows scrolls."""
    names = [name for name in rows[0] if any(row[name] for row in rows)] if rows else []
    shown = [{plain(name): plain(row[name]) for name in names} for row in rows]
    st.table(shown, border="horizontal", hide_index=True, height=480 if len(rows) > tall else "content")
