"""The head of a page: its title, one sentence on its purpose, and what to do while the project has no outputs."""

from __future__ import annotations

from typing import TypeGuard

import streamlit as st

from core.ports.projects import Project
from pages._ui.shared.markdown import escape_markdown


def heading(title: str, purpose: str, project: Project | None = None) -> None:
    """Draw the title and the purpose (plain text), with the name of the project that the page shows."""
    st.title(title, anchor=False)
    name = f"**{escape_markdown(project.name)}** · " if project else ""
    st.caption(f"{name}{escape_markdown(purpose)}")


def has_outputs(project: Project | None) -> TypeGuard[Project]:
    """Return whether the project has outputs; otherwise say what is missing and link to Projects."""
    if project is not None and project.n_outputs:
        return True
    missing = "There is no project yet." if project is None else "This project has no outputs yet."
    st.markdown(f"{missing} Upload the outputs of your systems, or open the sample project.")
    st.page_link("pages/projects.py", label="Open Projects", icon=":material/folder_open:")
    return False
