"""Elements of every page: its head, messages, links to other pages, and what to do while the project has no outputs."""

from __future__ import annotations

import streamlit as st

from core.ports.projects import Project
from pages._ui.shared import state
from pages._ui.shared.markdown import escape_markdown

ICONS = {
    "projects": "folder_open",
    "compare": "view_column",
    "annotate": "edit_note",
    "labels_and_raters": "group",
    "campaigns": "campaign",
    "meta_evaluation": "leaderboard",
    "calibrate": "tune",
    "robustness": "shield",
    "access": "key",
    "models": "memory",
    "help": "help",
}


def heading(title: str, purpose: str, project: Project | None = None) -> None:
    """Draw the title and the purpose (plain text), with the name of the project that the page shows."""
    st.title(title, anchor=False)
    name = f"**{escape_markdown(project.name)}** · " if project else ""
    st.caption(f"{name}{escape_markdown(purpose)}")


def start(title: str, purpose: str, *, empty: bool = False) -> Project | None:
    """Draw the head of a page and return the open project; without a project, say so, link to Projects and return None.

    A project without outputs counts as none, unless the page can show an `empty` one.
    """
    project = state.projects().project
    heading(title, purpose, project)
    if project is not None and (project.n_outputs or empty):
        return project
    missing = "There is no project yet." if project is None else "This project has no outputs yet."
    st.markdown(f"{missing} Upload the outputs of your systems, or open the sample project.")
    link("projects", "Open Projects")
    return None


def info(text: str) -> None:
    """Draw a message in Markdown."""
    st.info(text, icon=":material/info:")


def caption(text: str) -> None:
    """Draw a plain text in small print."""
    st.caption(escape_markdown(text))


def link(page: str, label: str) -> None:
    """Draw a link to another page, with the icon of the page."""
    st.page_link(f"pages/{page}.py", label=label, icon=icon(page))


def icon(page: str) -> str:
    """Return the icon of a page, as in the sidebar."""
    return f":material/{ICONS[page]}:"
