"""The checkpoints of a role that a paper has a name for: what each is, and how to fetch it."""

from __future__ import annotations

import streamlit as st

from core.models.presets import OF_ROLE, UNKNOWN, Preset
from pages._ui.errors import plain


def draw(role: str) -> None:
    """The presets of a role; nothing of a role without any."""
    presets = OF_ROLE.get(role, {}).values()
    if not presets:
        return
    with st.expander("Models of the paper, by name", icon=":material/bookmarks:"):
        for p in presets:
            st.markdown(f"**{plain(p.label)}**  `{p.name}`" + (f"  \n{plain(p.checkpoint)}" if p.checkpoint else ""))
            st.caption(
                plain(" · ".join((p.model, p.languages, p.size if p.size != UNKNOWN else "size unknown", _licence(p))))
            )
            if p.note:
                st.caption(f"{plain(p.note[:1].upper() + p.note[1:])}.")
            if p.command:
                st.code(p.command, language="shell", wrap_lines=True)


def _licence(preset: Preset) -> str:
    return "licence unknown" if preset.licence == UNKNOWN else f"licence {preset.licence}"
