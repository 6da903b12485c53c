"""Annotate: mark MQM errors in the outputs of each segment; the names of the systems are hidden."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import streamlit as st

from core.data import Dataset, SegmentKey
from core.mqm.log import SegmentLabels, fold_segment
from core.ports.projects import Project
from core.services.labels import labels as work
from core.services.labels.typologies import of_project
from pages._ui.annotate import batches, identity, reveal
from pages._ui.annotate.scores import scores
from pages._ui.components.span_annotator import sent, span_editor
from pages._ui.components.span_annotator.exchange import OutboxAnswer, editor_data, receive
from pages._ui.shared import errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown

EDITOR = "annotate-editor"
GO = "annotate-go"
LABELS = "annotate-labels"
ANSWER = "annotate-answer"


def main() -> None:
    """Draw the page."""
    purpose = "Mark the errors in each output. The names of the systems are hidden; you can show them after you submit."
    project = page.start("Annotate", purpose)
    if project is None:
        return
    rater = identity.ask()
    if rater is None:
        return
    st.session_state.pop(LABELS, None)
    workspace(project, rater)
    identity.remember(rater)


@st.fragment
@errors.guarded
def workspace(project: Project, rater: str) -> None:
    """Draw progress, navigation and the editor. Changes in the editor redraw this part only."""
    store, dataset = wiring.store(), wiring.dataset(project)
    mine, answer = recorded(project, rater)
    asked = batches.asked(project, dataset)
    if asked is None:
        return
    segment = open_segment(project, asked, mine)
    systems = [output.system for output in asked.outputs_of()[segment]]
    order = work.open_segment(store, project.id, rater, segment, systems, seed_of(project.id, rater, segment))
    rest = work.next_unlabelled(asked, mine, segment)
    header(dataset, asked, rater, mine, segment)
    events = store.labels.events(project.id, rater=rater, segment=segment)
    data = editor_data(
        dataset, project.id, rater, segment, order, events, answer,
        more=rest not in (None, segment), typology=of_project(store, project.id),
    )  # fmt: skip
    span_editor(data, key=EDITOR, on_go=go)
    revealed = fold_segment(events).revealed
    if revealed.issuperset(order):
        scores(wiring.view(project), segment, order)
    elif work.finished(mine.get(segment), order) and reveal.asked(project.id, rater, segment):
        work.reveal(store, project.id, rater, segment, order)
        st.rerun()


def recorded(project: Project, rater: str) -> tuple[dict[SegmentKey, SegmentLabels], OutboxAnswer]:
    """Save what the editor sent, once; return the annotator's labels and the answer for the editor."""
    store, outbox = wiring.store(), sent(EDITOR)
    answer: OutboxAnswer = st.session_state.get(ANSWER, OutboxAnswer())
    owner, mine = st.session_state.get(LABELS, (None, {}))
    if outbox and (outbox.get("n"), outbox.get("rater")) != (answer.received, rater):
        answer = st.session_state[ANSWER] = receive(store, rater, outbox, systems_of)
        mine.update({key: labels for (of, key), labels in answer.labels.items() if of == project.id})
        owner = owner if answer.acknowledged else None
    if owner != (project.id, rater):
        mine = work.current(store, project.id, rater)
    st.session_state[LABELS] = ((project.id, rater), mine)
    return mine, answer


def systems_of(project_id: int, segment: SegmentKey) -> Sequence[str]:
    """Return the systems with an output for this segment."""
    dataset = wiring.dataset(wiring.store().projects.get(project_id))
    return [o.system for o in dataset.outputs_of().get(segment, ())]


def open_segment(project: Project, dataset: Dataset, mine: dict[SegmentKey, SegmentLabels]) -> SegmentKey:
    """Return the segment to show: the one the annotator went to, else from the address, else the next unlabelled one."""
    keys = [key for key, outputs in dataset.outputs_of().items() if outputs]
    here = state.place(project.id)
    steps = st.session_state.pop(GO, ())
    if here not in keys:
        here, steps = work.next_unlabelled(dataset, mine) or keys[0], ()
    for to in steps:
        if to == "unlabelled":
            here = work.next_unlabelled(dataset, mine, here) or here
        elif to in ("next", "previous"):
            at = keys.index(here) + (1 if to == "next" else -1)
            here = keys[max(0, min(at, len(keys) - 1))]
    state.open_segment(project.id, here)
    return here


def header(
    whole: Dataset, asked: Dataset, rater: str, mine: dict[SegmentKey, SegmentLabels], segment: SegmentKey
) -> None:
    done = work.progress(asked, mine)
    keys = [key for key, outputs in asked.outputs_of().items() if outputs]
    at = keys.index(segment)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.button("Previous", icon=":material/chevron_left:", on_click=go, args=("previous",), disabled=at == 0)
            st.button(
                "Next", icon=":material/chevron_right:", on_click=go, args=("next",), disabled=at + 1 == len(keys)
            )
            st.button("Next not submitted", on_click=go, args=("unlabelled",), disabled=done.submitted == done.total)
            st.markdown(f"**{at + 1}** / {len(keys)} · {' · '.join(escape_markdown(part) for part in segment)}")
        identity.switch(rater)
    batches.progress(done, whole, asked, mine)


def go(to: str) -> None:
    st.session_state[GO] = (*st.session_state.get(GO, ()), to)


def seed_of(project_id: int, rater: str, segment: SegmentKey) -> int:
    """Return the seed of the order of outputs, from project, rater and segment; it is stored with the order."""
    text = "\x1f".join([str(project_id), rater, *segment])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:4], "big")


main()
