"""Compare: the outputs of all systems for one segment, with every metric, the BARTScore++ refinement, and λ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from core.formats.parsing.numbers import parse_lambda
from core.ports.projects import Project
from core.services.compare.compare import Order, Query, ordered
from core.services.compare.inspector import Marks
from core.services.compare.segment import SegmentQuery, names_of, payload
from core.services.projects.view import View
from core.services.spans.layers import LayerInfo
from pages._ui.compare import all_segments, inspector, replies, toolbar
from pages._ui.compare.marks import spans_of, visible, warning
from pages._ui.components import cards
from pages._ui.shared import errors, page, state, wiring

CARDS = "compare-cards"
REFERENCE = "compare-reference"
BLIND_SEED = 20230


def main() -> None:
    """Draw the page."""
    project = page.start("Compare", "Read the outputs of all systems side by side, with the scores of every metric.")
    if project is None:
        return
    (view, marks), lam = visible(project), state.current_lambda(project.id)
    state.show_lambda(project.id, lam)
    toolbar.scoring_box(project, view)
    query, blind, layers, place = toolbar.toolbar(project, view, marks)
    query = toolbar.valid(view, query, lam)
    order = ordered(view, query, lam)
    if toolbar.jumps(project, query) and len(order):
        state.go_to_segment(project.id, view.segments[order[0]])
    segment(project, view, marks, layers, query, blind, lam)
    if view.columns and len(order) and not all_segments.come_later(project):
        if not blind:
            toolbar.draw_system_table(project, view, query, lam, order, place)
        st.subheader("All segments" if len(order) == len(view.segments) else "Matching segments", anchor=False)
        all_segments.overview(project, view, query, lam, blind)
        kind = st.segmented_control(
            "List", ["segments", "outputs"], default="segments", required=True, key=f"compare-list-of-{project.id}",
            label_visibility="collapsed",
        )  # fmt: skip
        if kind == "outputs":
            all_segments.draw_worst_outputs(project, view, query, lam, seed_of(project, blind))
        else:
            all_segments.draw_segments(project, view, query, lam, order)
        all_segments.download_scores(project, view, lam, order, query.systems)


def seed_of(project: Project, blind: bool) -> int | None:
    """Return the seed of the names in blind mode."""
    return BLIND_SEED + project.id if blind else None


@st.fragment
@errors.guarded
def segment(
    project: Project,
    view: View,
    marks: Marks | None,
    layers: Sequence[LayerInfo],
    query: Query,
    blind: bool,
    lam: float,
) -> None:
    """Draw the cards of the open segment. Another segment redraws this part only; another λ redraws the page.

    The view and the labels are those of the page: looking for new scores takes longer than all else here, and the page is drawn again
    when a metric is done.
    """
    wiring.version(project)  # refuses who may not see the project any more: this part is drawn without the page
    store, now = wiring.store(), state.current_lambda(project.id)
    if now != lam:
        st.rerun()
    order = ordered(view, query, lam)
    if not len(order):
        st.info("No segment matches. Clear the search or the filter to see all segments.", icon=":material/search_off:")
        return
    at = position(project, view, order)
    row = int(order[at])
    key = view.segments[row]
    state.open_segment(project.id, key)
    main = toolbar.refinement(project, view)
    details = store.scores.detail(project.id, main.signature, key) if main else {}
    reference = st.session_state.get(REFERENCE, (None, -1))
    shown = SegmentQuery(
        row,
        query.systems,
        reference[1] if reference[0] == key else -1,
        main.name if main else "",
        seed_of(project, blind),
    )
    extra = {
        "position": at + 1,
        "total": len(order),
        "lam": state.lambda_parameter(lam),
        "presets": toolbar.presets(project, main),
        "search": toolbar.SEARCH,
        "inspected": names_of(view, shown).get(inspector.opened(project.id, key) or ""),
        "spot": names_of(view, shown).get(all_segments.spot(project.id, key) or ""),
    }

    def go(to: int) -> None:
        state.go_to_segment(project.id, view.segments[order[min(max(to - 1, 0), len(order) - 1)]])

    def new_lambda(text: str) -> None:
        value = parse_lambda(text)
        if value is not None:
            state.use_lambda(project.id, value)

    def new_reference(index: int) -> None:
        st.session_state[REFERENCE] = (key, index)

    def inspect(asked: Mapping[str, Any]) -> None:
        inspector.choose(project.id, key, names_of(view, shown), asked)

    def reply(asked: Mapping[str, Any]) -> None:
        replies.choose(project.id, key, names_of(view, shown), asked)

    data = payload(view, shown, details, marks, spans_of(project, key, layers, marks)) | extra
    cards(
        data, key=CARDS, of=str(project.id), on_go=go, on_lam=new_lambda, on_reference=new_reference, on_inspect=inspect, on_reply=reply,
    )  # fmt: skip
    replies.draw_chosen(project, view, key)
    if marks:
        warning(project)
    if main and (who := page.scored_by(main.signature)):
        st.caption(f"Refinements and log probabilities {who}")
    if main:
        inspector.draw_inspector(project, view, main, shown, details)
    inspector.draw_alignment(project, view, shown)


def position(project: Project, view: View, order: Order) -> int:
    """Return the position of the open segment in the order; 0 if it is not in it."""
    key = state.place(project.id)
    if key is None or key not in view.row:
        return 0
    places = np.flatnonzero(order == view.row[key])
    return int(places[0]) if len(places) else 0


main()
