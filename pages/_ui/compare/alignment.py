"""The sentences of one output on Compare, side by side with those of a reference or the source."""

from __future__ import annotations

import re
from collections.abc import Callable

import streamlit as st

from core.metrics.smart_matchers import EMBEDDING
from core.models.kinds import facts
from core.ports.projects import Project
from core.progress import no_progress
from core.services.compare import alignment as service
from core.services.compare.alignment import GOOD, MATCHERS, Alignment
from core.services.compare.segment import SegmentQuery, names_of
from core.services.projects.view import View
from pages._ui.components.alignment import alignment
from pages._ui.shared import errors, page
from pages._ui.shared.markdown import escape_markdown

KEY = "alignment"


def panel(project: Project, view: View, shown: SegmentQuery) -> None:
    """Draw the choices (output, other text, matcher) and, once an output is chosen, its sentences."""
    (segment, outputs), names = view.texts.segment(view.segments[shown.row]), names_of(view, shown)
    if not names:
        return
    by_name = {name: system for system, name in sorted(names.items(), key=lambda n: _natural(n[1]))}
    with st.container(horizontal=True, vertical_alignment="bottom", key="alignment-tools"):
        name = _chosen(
            f"alignment-of-{project.id}", list(by_name), lambda options, key: st.pills(
                "Align the sentences of", options, format_func=escape_markdown, key=key,
                help="How each sentence of an output matches the sentences of a reference or the source (SMART).",
            ),
        )  # fmt: skip
        if name is None:
            return
        texts = service.targets(segment)
        if texts:
            against = _chosen(
                f"alignment-against-{project.id}", list(texts), lambda options, key: st.selectbox("Against", options, key=key, width=170)
            )  # fmt: skip
            matcher = st.selectbox(
                "Similarity measured with", MATCHERS, format_func=MATCHERS.__getitem__, key=f"alignment-by-{project.id}", width=190
            )  # fmt: skip
    if not texts:
        page.info("This segment has no reference and no source to compare an output with.")
        return
    text = outputs[by_name[name]]
    with errors.boundary():
        found = _aligned(text, texts[str(against)], matcher)
        data = service.payload(found) | {
            "name": name,
            "against": against,
            "the": against if str(against)[-1:].isdigit() else f"the {against}",
            "matcher": matcher,
            "matched": MATCHERS[matcher] + (f" ({facts('encoder')['model']})" if matcher == EMBEDDING else ""),
            "good": GOOD[matcher],
        }
        alignment(data, key=KEY)


def _chosen(key: str, options: list[str], widget: Callable[[list[str], str], str | None]) -> str | None:
    """Return the choice in the widget; a choice that this segment does not offer is reset."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    return widget(options, key)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that puts M2 before M10."""
    return [(p.isdecimal(), int(p[:18]) if p.isdecimal() else 0, p) for p in re.split(r"(\d+)", name)]


@st.cache_resource(max_entries=64, ttl=1800, show_spinner="Matching sentences …")
def _aligned(output: str, target: str, matcher: str) -> Alignment:
    return service.align(output, target, matcher, no_progress)
