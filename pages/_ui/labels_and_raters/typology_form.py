"""The error typology of a project: chosen, and edited in a table."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.mqm.typology import TYPOLOGIES, Category, Explained
from core.ports.projects import Project
from core.services.labels import typologies
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.glossary import definition
from pages._ui.shared.markdown import escape_markdown

WHERE = {"output": "output", "source": "source", "either": "output or source"}


def section(project: Project) -> None:
    """Draw the typology: for managers its choice and tables to edit, for others the tables."""
    store = wiring.store()
    now = typologies.of_project(store, project.id)
    if not wiring.may_change(project.id):
        st.markdown(f"Annotators choose severities and categories from **{escape_markdown(now.title)}**.")
        page.caption(now.source)
        _table(now.severities, f"severities-{project.id}-{hash(now)}", fixed=True, read_only=True)
        _table(now.categories, f"categories-{project.id}-{hash(now)}", fixed=True, read_only=True)
        return
    choices = {t.name: t for t in (*TYPOLOGIES.values(), now)}
    st.markdown("Annotators choose severities and categories from this typology. They press ? for definitions.")
    name = st.selectbox(
        "Error typology", choices, index=list(choices).index(now.name), key=f"typology-{project.id}", width=420,
        format_func=lambda n: choices[n].title + (" (in use)" if n == now.name else ""), help=definition("Error typology"),
    )  # fmt: skip
    base = choices[name]
    page.caption(base.source)
    place = f"{project.id}-{base.name}-{hash(base)}"
    with st.form(f"typology-form-{place}", border=False):
        severities = _table(base.severities, f"severities-{place}", fixed=True)
        categories = _table(base.categories, f"categories-{place}")
        page.caption("Write “Group/Category” for a category in a group. Labels that exist keep their categories.")
        wanted = st.form_submit_button("Use this typology", type="primary")
    if wanted:
        with errors.boundary():
            made = typologies.choose(store, project.id, base, severities, categories)
            st.toast(f"Annotators now use “{escape_markdown(made.title)}”")
            if made != now:
                st.rerun()


def _table(
    rows: tuple[Explained, ...] | tuple[Category, ...], key: str, *, fixed: bool = False, read_only: bool = False
) -> list[dict[str, Any]]:
    columns = st.column_config
    edited = st.data_editor(
        [row._asdict() for row in rows],
        key=key,
        hide_index=True,
        num_rows="fixed" if fixed else "dynamic",
        disabled=True if read_only else ["name"] if fixed else [],
        column_config={
            "name": columns.TextColumn("Severity"),
            "path": columns.TextColumn("Category", required=True),
            "definition": columns.TextColumn("Definition", width="medium"),
            "example": columns.TextColumn("Example", width="medium"),
            "where": columns.SelectboxColumn(
                "Marked in", options=list(WHERE), format_func=lambda where: WHERE[str(where)]
            ),
            "needs_note": columns.CheckboxColumn("Needs a note"),
        },
    )
    return [dict(row) for row in edited]
