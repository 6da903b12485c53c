"""The sentences of one output on Compare, side by side with those of a reference or the source."""

from __future__ import annotations

import re
from collections.abc import Callable

import streamlit as st

from core.data import OutputKey
from core.metrics.base import no_progress
from core.metrics.smart_matchers import EMBEDDING
from core.models.roles import facts
from core.ports import Project
from core.services import alignment as service
from core.services.alignment import GOOD, MATCHERS, Alignment
from core.services.segment import Shown, names_of
from core.services.view import View
from pages._ui import errors
from pages._ui.alignment import alignment
from pages._ui.markdown import escape_markdown

KEY = "alignment"


def panel(project: Project, view: View, shown: Shown) -> None:
    """Which output, against which text, matched by what; and, once an output is chosen, its sentences."""
    segment, names = view.segments[shown.row], names_of(view, shown)
    if not names:
        return
    by_name = {name: system for system, name in sorted(names.items(), key=lambda n: _natural(n[1]))}
    with st.container(horizontal=True, vertical_alignment="bottom", key="alignment-tools"):
        name = _chosen(
            f"alignment-of-{project.id}", list(by_name), lambda options, key: st.pills(
                "Match the sentences of", options, format_func=escape_markdown, key=key,
                help="How each sentence of an output matches the sentences of a reference or the source (SMART).",
            ),
        )  # fmt: skip
        if name is None:
            return
        texts = service.targets(segment)
        if texts:
            against = _chosen(
                f"alignment-against-{project.id}", list(texts), lambda options, key: st.selectbox("against", options, key=key, width=170)
            )  # fmt: skip
            matcher = st.selectbox(
                "matched by", list(MATCHERS), format_func=MATCHERS.__getitem__, key=f"alignment-by-{project.id}", width=150
            )  # fmt: skip
    if not texts:
        st.info("This segment has neither a reference nor a source to hold an output against.", icon=":material/info:")
        return
    text = view.texts[OutputKey(by_name[name], *segment.key)]
    with errors.boundary():
        found = _aligned(text, texts[str(against)], matcher)
        data = service.payload(found) | {
            "name": name,
            "against": against,
            "the": against if str(against)[-1:].isdigit() else f"the {against}",
            "matcher": matcher,
            "matched": _matched(matcher),
            "good": GOOD[matcher],
        }
        alignment(data, key=KEY)


def _chosen(key: str, options: list[str], widget: Callable[[list[str], str], str | None]) -> str | None:
    """What the widget says; a choice that another segment does not have is forgotten."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    return widget(options, key)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """M2 before M10."""
    return [(p.isdecimal(), int(p[:18]) if p.isdecimal() else 0, p) for p in re.split(r"(\d+)", name)]


def _matched(matcher: str) -> str:
    """The matcher in words; an embedding says whose."""
    return f"{MATCHERS[matcher]} ({facts('encoder')['model']})" if matcher == EMBEDDING else MATCHERS[matcher]


@st.cache_resource(max_entries=64, ttl=1800, show_spinner="Matching sentences …")
def _aligned(output: str, target: str, matcher: str) -> Alignment:
    return service.align(output, target, matcher, no_progress)
