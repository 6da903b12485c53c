"""One output with the error spans of its annotators, and the error typology of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.data import OutputKey, SegmentKey, Span
from core.mqm.typology import TYPOLOGIES, Category, Explained
from core.ports.projects import Project
from core.services.labels import protocols
from core.services.labels.agreement import stretches
from pages._ui.components import marked_texts
from pages._ui.shared import errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition


def draw_labelled_output(
    project: Project, key: OutputKey, title: str, columns: Sequence[Mapping[str, Any]], name: str
) -> None:
    """Draw the output with a title (Markdown) and one column per annotator; without columns, the text alone."""
    segment, texts = wiring.texts(project).segment(key.segment)
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(title)
            links(project, key.segment)
        left, right = st.columns([2, 3], gap="large")
        with left:
            captioned("Source", segment.source)
            captioned("Reference", next(iter(segment.references), None))
        with right:
            st.caption(f"Output of {escape_markdown(key.system)}")
            if columns:
                marked_texts(columns, key=name)
            else:
                st.text(texts.get(key.system, ""))


def captioned(what: str, text: str | None) -> None:
    """Draw a text of a segment below what it is; nothing without a text."""
    if text:
        st.caption(what)
        st.text(text)


def links(project: Project, key: SegmentKey) -> None:
    """Draw the links that open this segment on Annotate and on Compare."""
    to = {state.PROJECT: str(project.id), state.DOC: key.doc_id, state.SEGMENT: key.segment_id}
    with st.container(horizontal=True, width="content"):
        for name, label in (("annotate", "Annotate"), ("compare", "Compare")):
            icon = f":material/{page.ICONS[name]}:"
            st.page_link(f"pages/{name}.py", label=label, icon=icon, query_params=to)


def column(rater: str, note: str, spans: Sequence[Span], text: str, source: str) -> dict[str, Any]:
    """Return the column of one annotator: the output with the error spans, and the source if it has some."""
    in_source = any(s.side == "source" for s in spans)
    return {
        "name": rater,
        "note": note,
        "output": [list(piece) for piece in stretches(text, spans)],
        "source": [list(piece) for piece in stretches(source, spans, "source")] if in_source else [],
        "marks": [
            {"severity": s.severity, "category": s.category, "quote": s.quote, "note": s.note, "side": s.side}
            for s in spans
        ],
    }


WHERE = {"output": "output", "source": "source", "either": "output or source"}


def category_columns() -> dict[str, Any]:
    """Return the configuration of the columns of categories, for tables of them."""
    columns = st.column_config
    return {
        "path": columns.TextColumn("Category", required=True),
        "definition": columns.TextColumn("Definition", width="medium"),
        "example": columns.TextColumn("Example", width="medium"),
        "where": columns.SelectboxColumn("Marked in", options=list(WHERE), format_func=lambda where: WHERE[str(where)]),
        "needs_note": columns.CheckboxColumn("Needs a note"),
    }


def draw_typology_form(project: Project) -> None:
    """Draw the typology: for managers its choice and tables to edit, for others the tables."""
    store = wiring.store()
    now = protocols.typology_of(store, project.id)
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
        pressed = st.form_submit_button("Use this typology", type="primary")
    if pressed:
        with errors.boundary():
            made = protocols.use_typology(store, project.id, base, severities, categories)
            st.toast(f"Annotators now use “{escape_markdown(made.title)}”")
            if made != now:
                st.rerun()


def _table(
    rows: tuple[Explained, ...] | tuple[Category, ...], key: str, *, fixed: bool = False, read_only: bool = False
) -> list[dict[str, Any]]:
    edited = st.data_editor(
        [row._asdict() for row in rows],
        key=key,
        hide_index=True,
        num_rows="fixed" if fixed else "dynamic",
        disabled=True if read_only else ["name"] if fixed else [],
        column_config={"name": st.column_config.TextColumn("Severity"), **category_columns()},
    )
    return [dict(row) for row in edited]
