"""Annotate: mark MQM errors in the outputs of each segment; the names of the systems are hidden."""

from __future__ import annotations

import streamlit as st

from core.data import SegmentKey
from core.ports.projects import Project
from core.services.labels import labels as work
from core.services.labels.editor import choose_segment, editor_data, nearby
from core.services.labels.protocols import is_protocol_stored, protocol_of
from pages._ui.annotate import annotate_parts, identity
from pages._ui.components import span_editor
from pages._ui.shared import errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown

EDITOR = "annotate-editor"
GO = "annotate-go"


def main() -> None:
    purpose = "Mark the errors in each output. The names of the systems are hidden; you can show them after you submit."
    project = page.start("Annotate", purpose)
    if project is None:
        return
    if not wiring.identity().may_label(project.id):
        page.info("Your role in this project does not include labelling. Ask a manager for another role.")
        return
    rater = identity.ask()
    if rater is None:
        return
    workspace(project, rater)
    identity.remember(rater)


@st.fragment
@errors.guarded
def workspace(project: Project, rater: str) -> None:
    """Draw progress, navigation and the editor. Changes in the editor redraw this part only."""
    store = wiring.store()
    mine = store.labels.of_rater(project.id, rater)
    asked = annotate_parts.asked(project)
    if asked is None:
        return
    segment = open_segment(project, asked, mine)
    systems = asked[segment]
    recorded = work.open_segment(store, project.id, rater, segment, systems)
    order = work.shown_order(recorded.labels, systems)
    rest = work.next_unlabelled(asked, mine, segment)
    header(project, asked, rater, mine, segment)
    data = editor_data(
        nearby(store, project.id, segment), project.id, rater, segment, systems, recorded,
        more=rest not in (None, segment), protocol=protocol_of(store, project.id),
        declines=is_protocol_stored(store, project.id),
    )  # fmt: skip
    span_editor(data | wiring.labels_route(), key=EDITOR, on_go=go)
    if recorded.labels.revealed.issuperset(order):
        annotate_parts.scores(wiring.view(project), segment, order)
        annotate_parts.lanes(project, rater, segment, order)
    elif work.finished(mine.get(segment), order):
        annotate_parts.draw_reveal(project.id, rater, segment, order)


def open_segment(project: Project, asked: work.Outline, mine: work.LabelsBySegment) -> SegmentKey:
    """Return the segment to show: the one the annotator went to, else from the address, else the next unlabelled one."""
    segment, steps = state.place(project.id), st.session_state.pop(GO, ())
    chosen = choose_segment(asked, mine, segment, "here")
    for step in steps if segment in asked else ():
        if step != "stay":
            chosen = choose_segment(asked, mine, chosen, step)
    state.open_segment(project.id, chosen)
    return chosen


def header(project: Project, asked: work.Outline, rater: str, mine: work.LabelsBySegment, segment: SegmentKey) -> None:
    done = work.progress(asked, mine)
    keys = list(asked)
    at = keys.index(segment)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.button("Previous", icon=":material/chevron_left:", on_click=go, args=("previous",), disabled=at == 0)
            st.button(
                "Next", icon=":material/chevron_right:", on_click=go, args=("next",), disabled=at + 1 == len(keys)
            )
            st.button("Next unsubmitted", on_click=go, args=("unlabelled",), disabled=done.submitted == done.total)
            st.markdown(f"**{at + 1}** / {len(keys)} · {' · '.join(escape_markdown(part) for part in segment if part)}")
        identity.switch(rater)
    annotate_parts.progress(project, done, asked, mine)


def go(to: str) -> None:
    st.session_state[GO] = (*st.session_state.get(GO, ()), to)


main()
