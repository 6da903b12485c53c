"""What Annotate draws around the editor: the calibration set with its progress, and what is seen after revealing the systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import streamlit as st

from core.data import OutputKey, SegmentKey
from core.formatting import format_count, isolated
from core.ports.calibration import SavedBatch
from core.ports.projects import Project
from core.services.compare.segment import lanes_json, layers_json
from core.services.labels import batches as service
from core.services.labels.labels import LabelsBySegment, Outline, SegmentProgress, outline_of, reveal
from core.services.projects.view import Column, View
from pages._ui.compare import marks
from pages._ui.compare.marks import available, spans_of
from pages._ui.components import marked_texts
from pages._ui.shared import page, state, wiring
from pages._ui.shared.markdown import escape_markdown


def address(project: Project, name: str) -> dict[str, str]:
    """Return the query parameters of Annotate with this calibration set, as a link for annotators."""
    return {state.PROJECT: str(project.id), state.BATCH: name}


def asked(project: Project) -> Outline | None:
    """Return what to label: the whole project or one calibration set. Draws the choice if there are sets.

    If the address names a set that does not exist, say so and return None.
    """
    by_name = {batch.name: batch for batch in wiring.store().batches.list(project.id) if not batch.archived}
    key, in_address = f"annotate-batch-{project.id}", st.query_params.get(state.BATCH)
    if in_address and in_address not in by_name:
        _gone(in_address, by_name, key)
        return None
    if key not in st.session_state:
        st.session_state[key] = next(iter(state.kept(state.BATCH, project.id)), None)
    if st.session_state[key] not in by_name:
        st.session_state[key] = None
    if by_name:
        st.selectbox(
            "Calibration set", [None, *by_name], key=key, width=420, placeholder="All segments",
            format_func=lambda name: "All segments" if name is None else _label(by_name[name]),
            help="The outputs selected for labelling. Without one, you see all segments.",
        )  # fmt: skip
    name: str | None = st.session_state[key]
    state.keep(state.BATCH, project.id, [name] if name else [])
    return outline_of(by_name[name]) if name else wiring.index(project).outline


def _gone(name: str, by_name: Collection[str], key: str) -> None:
    st.warning(
        f"**This project has no calibration set “{escape_markdown(name)}”.** It may have been deleted. Ask for a new link "
        "where you got this one, so that you do not label other outputs than expected.",
        icon=":material/link_off:",
    )

    def choose(other: str | None) -> None:
        st.session_state[key] = other
        st.query_params.pop(state.BATCH, None)  # not by `change_address`: the buttons are in a fragment

    with st.container(horizontal=True):
        for other in (*by_name, None):
            label = f"Open “{escape_markdown(other)}”" if other else "Annotate all segments"
            st.button(label, key=f"annotate-gone-{key}-{other!r}", on_click=choose, args=(other,))


def _label(batch: SavedBatch) -> str:
    return f"{isolated(batch.name)}, {format_count(len(batch.outputs), 'output')}"


def progress(project: Project, done: SegmentProgress, asked: Outline, mine: LabelsBySegment) -> None:
    """Draw the progress: submitted segments, and in a calibration set labelled / assigned outputs."""
    of_batch = asked is not wiring.index(project).outline
    text = f"{done.submitted} of {done.total} segments submitted."
    if of_batch:
        labelled, assigned = service.outputs_done(asked, mine), sum(map(len, asked.values()))
        all_labelled = labelled == assigned
        st.badge(
            f"{labelled} / {assigned} labelled", icon=":material/checklist:", color="green" if all_labelled else "gray"
        )
        text = f"{done.submitted} of {done.total} segments of this calibration set submitted."
    if done.submitted < done.total:
        text += " Label every output of a segment, then submit it: only submitted segments count."
    st.progress(done.submitted / done.total if done.total else 0.0, text=escape_markdown(text))
    if done.total and done.submitted == done.total:
        _thanks(of_batch)


def _thanks(batch: bool) -> None:
    """Say that all is done, and what to do next."""
    what = "calibration set" if batch else "project"
    st.success(
        f"**All done. Thank you!** Every segment of this {what} is submitted and saved. If someone sent you here, tell them that "
        "you have finished. Until you reveal the system names of a segment, you can still change and resubmit it.",
        icon=":material/celebration:",
    )
    with st.container(horizontal=True):
        page.link("labels_and_raters", "Agreement of annotators, and the next calibration set")
        page.link("compare", "Outputs beside their scores")


def draw_reveal(project_id: int, rater: str, segment: SegmentKey, order: Sequence[str]) -> None:
    """Draw the button that reveals the names of the systems and locks the labels, which says so first."""
    page.ask_first(
        "Reveal system names",
        "Shows which system wrote each output, the metric scores, and the error spans of judges and of others. **Your labels of this segment are then locked**, "
        "because changes made with the names in view are not blind.",
        "Reveal and lock this segment", partial(reveal, wiring.store(), project_id, rater, segment, order),
        f"annotate-lock-{(project_id, rater, *segment)!r}", icon=":material/visibility:",
    )  # fmt: skip


def scores(view: View, segment: SegmentKey, order: Sequence[str]) -> None:
    """Draw a table with one row per output and one column per metric, with direction; signatures below."""
    if not view.columns:
        st.caption("No metric has been computed for this project yet.")
        return
    rows = [
        {"output": system}
        | {f"{c.label} {c.arrow}".strip(): cell(view, c, OutputKey(system, *segment)) for c in view.columns}
        for system in order
    ]
    st.dataframe(rows, hide_index=True)
    st.caption("  \n".join(escape_markdown(c.signature) for c in view.columns if not c.human))


def lanes(project: Project, rater: str, segment: SegmentKey, order: Sequence[str]) -> None:
    """Draw each output with a lane per layer that examined one of them; other annotators' labels as Compare shows them to this one."""
    seen = marks.seen(project, rater, everyone=False)
    layers = [of for of in spans_of(project, segment, available(project, seen), seen) if of.by_system]
    if len(layers) < 2:  # the own labels are in the editor
        return
    st.subheader("Error spans", anchor=False)
    texts = wiring.texts(project).segment(segment)[1]
    columns = [{"name": system, "text": texts[system], "lanes": lanes_json(layers, system)} for system in order]
    marked_texts(columns, key="annotate-lanes", layers=layers_json(layers))


def cell(view: View, column: Column, key: OutputKey) -> str:
    """Return the value as text, or the reason why there is none."""
    value = view.table(column.name).get(key)
    if value is None:
        return "not scored"
    return value.reason or value.status if value.value is None else f"{value.value:.{column.digits}f}"
