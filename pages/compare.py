"""Compare: one segment, all systems side by side, with every metric, the refinement behind BARTScore++, and λ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from core.formats.numbers import parse_lambda
from core.ports import Project, Store
from core.services.compare import Order, Query, ordered
from core.services.segment import Shown, names_of, payload
from core.services.view import View
from pages._ui import alignment_parts, errors, inspector_parts, jobs, scoring, state, theme, wiring
from pages._ui import compare_parts as parts
from pages._ui.compare_cards import cards

CARDS = "compare-cards"
REFERENCE = "compare-reference"
BLIND_SEED = 20230


def main() -> None:
    """Draw the page."""
    store = wiring.store()
    project = state.projects(store).project
    if project is None or not project.n_outputs:
        nothing_here(project)
        return
    view, lam = wiring.view(project), state.current_lambda(project.id)
    state.show_lambda(project.id, lam)
    st.title(errors.plain(project.name), anchor=False)
    scored = any(not c.human for c in view.columns)
    if not scored:
        scoring_box(store, project, view)
    query, blind = parts.toolbar(project, view)
    order = ordered(view, query, lam)
    if parts.jumps(project, query) and len(order):
        state.go_to_segment(project.id, view.segments[order[0]].key)
    segment(project, query, blind, lam)
    if view.columns and len(order):
        st.subheader("All segments" if len(order) == len(view.segments) else "Segments found", anchor=False)
        parts.overview(project, view, query, lam, blind)
        parts.listing(project, view, query, lam, order)
        parts.download(project, view, lam, order, query.systems)
    if scored:
        scoring_box(store, project, view)


def nothing_here(project: Project | None) -> None:
    st.title("Compare", anchor=False)
    what = "This project has no outputs yet." if project else "There is no project yet."
    st.markdown(f"{what} Upload what your systems wrote, or open the sample, on the Projects page.")
    st.page_link("pages/projects.py", label="Go to Projects", icon=":material/folder_open:")


def scoring_box(store: Store, project: Project, view: View) -> None:
    """What is scored and with what; open while there is nothing to see."""
    metrics = [c for c in view.columns if not c.human]
    running = jobs.active(store, project.id)
    if not metrics:
        text = (
            "Being scored now: numbers appear here as they are ready."
            if running
            else "Not scored yet: choose metrics and start."
        )
        st.info(text, icon=":material/hourglass_empty:" if running else ":material/info:")
    label = f"Scoring: {len(metrics)} metric{'s' if len(metrics) != 1 else ''}" + (
        ", one job running" if running else ""
    )
    with st.expander(label, expanded=not metrics and not running):
        scoring.panel(store, project, wiring.dataset(project))


@st.fragment
@errors.guarded
def segment(project: Project, query: Query, blind: bool, lam: float) -> None:
    """The cards of the open segment. Moving on redraws this part only; a new λ redraws the page."""
    store, view, now = wiring.store(), wiring.view(project), state.current_lambda(project.id)
    if now != lam:
        st.rerun()
    order = ordered(view, query, lam)
    if not len(order):
        st.info("No segment matches. Clear the search or the filter to see them all.", icon=":material/search_off:")
        return
    at = position(project, view, order)
    row = int(order[at])
    key = view.segments[row].key
    state.open_segment(project.id, key)
    main = parts.refinement(project, view)
    details = store.scores.detail(project.id, main.signature, key) if main else {}
    reference = st.session_state.get(REFERENCE, (None, -1))
    shown = Shown(
        row,
        query.systems,
        reference[1] if reference[0] == key else -1,
        main.name if main else "",
        BLIND_SEED + project.id if blind else None,
    )
    extra = {
        "position": at + 1,
        "total": len(order),
        "lam": state.lambda_text(lam),
        "presets": parts.presets(store, project, main),
        "search": parts.SEARCH,
        "inspected": names_of(view, shown).get(inspector_parts.opened(project.id, key) or ""),
    }

    def go(to: int) -> None:
        state.go_to_segment(project.id, view.segments[order[min(max(to - 1, 0), len(order) - 1)]].key)

    def new_lambda(text: str) -> None:
        value = parse_lambda(text)
        if value is not None:
            state.use_lambda(project.id, value)

    def new_reference(index: int) -> None:
        st.session_state[REFERENCE] = (key, index)

    def inspect(asked: Mapping[str, Any]) -> None:
        inspector_parts.choose(project.id, key, names_of(view, shown), asked)

    data, of = payload(view, shown, details) | extra, str(project.id)
    cards(data, key=CARDS, of=of, on_go=go, on_lam=new_lambda, on_reference=new_reference, on_inspect=inspect)
    if main and (who := theme.speaker(main.signature)):
        st.caption(f"Refinements and log probabilities {who}")
    if main:
        inspector_parts.panel(project, view, main, shown, details)
    alignment_parts.panel(project, view, shown)


def position(project: Project, view: View, order: Order) -> int:
    """Where the open segment stands in the order; the first when it is not among those found."""
    key = state.place(project.id)
    if key is None or key not in view.row:
        return 0
    found = np.flatnonzero(order == view.row[key])
    return int(found[0]) if len(found) else 0


main()
