"""Checkpoints that a paper names for a job: what each is, and how to download it."""

from __future__ import annotations

import streamlit as st

from core.models.presets import OF_KIND, UNKNOWN
from pages._ui.models.preparing import for_this_machine
from pages._ui.shared import page
from pages._ui.shared.markdown import escape_markdown


def draw(role: str) -> None:
    """Draw the presets for a job; nothing if there are none."""
    presets = OF_KIND.get(role, {}).values()
    if not presets:
        return
    with st.expander("Models named in papers", icon=":material/bookmarks:"):
        for p in presets:
            checkpoint = f"  \n{escape_markdown(p.checkpoint)}" if p.checkpoint else ""
            st.markdown(f"**{escape_markdown(p.label)}**  `{p.name}`{checkpoint}")
            size = "size unknown" if p.size == UNKNOWN else p.size
            licence = "licence unknown" if p.licence == UNKNOWN else f"licence {p.licence}"
            page.caption(" · ".join((p.model, p.languages, size, licence)))
            if p.note:
                st.caption(f"{escape_markdown(p.note[:1].upper() + p.note[1:])}.")
            if p.command:
                st.code(for_this_machine(p.command), language=None, wrap_lines=True)
