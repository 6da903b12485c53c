"""The account of this session, at the foot of the sidebar."""

from __future__ import annotations

from html import escape

import streamlit as st

from pages._ui.shared import wiring


def draw() -> None:
    """Draw the name and the link to log out; nothing on a server without accounts."""
    found = wiring.identity().account
    if found is None:
        return
    name = f'<span style="overflow-wrap: anywhere">{escape(found.name)}</span>'
    st.sidebar.html(
        f'<p>{name} · <a href="{escape(wiring.address("logout"))}" target="_self" style="color: var(--accent)">Log out</a></p>'
    )
