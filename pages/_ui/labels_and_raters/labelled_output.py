"""One output beside its source and reference, with the error spans of its annotators, and links to its segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.data import OutputKey, SegmentKey, Span
from core.ports.projects import Project
from core.services.labels.agreement import stretches
from pages._ui.components.marked_texts import marked_texts
from pages._ui.shared import page, state, wiring
from pages._ui.shared.markdown import escape_markdown


def draw(project: Project, key: OutputKey, title: str, columns: Sequence[Mapping[str, Any]], name: str) -> None:
    """Draw the output with a title (Markdown) and one column per annotator; without columns, the text alone."""
    segment, texts = wiring.texts(project).segment(key.segment)
    with st.container(border=True):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(title)
            links(project, key.segment)
        left, right = st.columns([2, 3], gap="large")
        with left:
            for what, text in (("Source", segment.source), ("Reference", next(iter(segment.references), None))):
                if text:
                    st.caption(what)
                    st.text(text)
        with right:
            st.caption(f"Output of {escape_markdown(key.system)}")
            if columns:
                marked_texts(columns, key=name)
            else:
                st.text(texts.get(key.system, ""))


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
