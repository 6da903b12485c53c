"""The calibration set on Annotate: chosen in the address or on the page, and its progress."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from core.formatting import format_count, isolated
from core.ports.calibration import SavedBatch
from core.ports.projects import Project
from core.services.labels import batches as service
from core.services.labels.labels import LabelsBySegment, Outline, SegmentProgress
from pages._ui.shared import page, state, wiring
from pages._ui.shared.markdown import escape_markdown

BATCH = "batch"
_REMEMBERED = "errorscope_batches"
_SHOWN = "errorscope_batches_of"


def address(project: Project, name: str) -> dict[str, str]:
    """Return the query parameters of Annotate with this calibration set, as a link for annotators."""
    return {state.PROJECT: str(project.id), BATCH: name}


def asked(project: Project) -> Outline | None:
    """Return what to label: the whole project or one calibration set. Draws the choice if there are sets.

    If the address names a set that does not exist, say so and return None.
    """
    by_name = {batch.name: batch for batch in wiring.store().batches.list(project.id) if not batch.archived}
    before = st.session_state.get(_SHOWN)
    st.session_state[_SHOWN] = project.id
    batch_name = st.query_params.get(BATCH)
    if batch_name and batch_name not in by_name:
        if before in (None, project.id):
            _gone(project, batch_name, by_name)
            return None
        st.query_params.pop(BATCH)  # it belongs to the project that was open before
    batch = _choice(project, by_name)
    return service.outline(batch) if batch else wiring.index(project).outline


def _gone(project: Project, name: str, by_name: Collection[str]) -> None:
    st.warning(
        f"**This project has no calibration set “{escape_markdown(name)}”.** It may have been deleted. Ask for a new link "
        "where you got this one, so that you do not label other outputs than expected.",
        icon=":material/link_off:",
    )
    st.session_state[_SHOWN] = None
    with st.container(horizontal=True):
        for other in (*by_name, None):
            label = f"Open “{escape_markdown(other)}”" if other else "Annotate all segments"
            st.button(label, key=f"annotate-gone-{project.id}-{other!r}", on_click=_open, args=(project.id, other))


def _open(project_id: int, name: str | None) -> None:
    st.session_state.setdefault(_REMEMBERED, {})[project_id] = name
    st.session_state.pop(f"annotate-batch-{project_id}", None)
    st.query_params.pop(BATCH, None)


def _choice(project: Project, by_name: Mapping[str, SavedBatch]) -> SavedBatch | None:
    remembered: dict[int, str | None] = st.session_state.setdefault(_REMEMBERED, {})
    key = f"annotate-batch-{project.id}"
    batch_name = st.query_params.get(BATCH)
    if key not in st.session_state:
        st.session_state[key] = batch_name if batch_name in by_name else remembered.get(project.id)
    if st.session_state[key] not in by_name:
        st.session_state[key] = None
    if not by_name:
        st.query_params.pop(BATCH, None)
        return None
    name = st.selectbox(
        "Calibration set",
        [None, *by_name],
        format_func=lambda n: "All segments" if n is None else _label(by_name[n]),
        key=key,
        width=420,
        placeholder="All segments",
        help="The outputs selected for labelling. Without one, you see all segments.",
    )
    remembered[project.id] = name
    if name is None:
        st.query_params.pop(BATCH, None)
    elif batch_name != name:
        st.query_params[BATCH] = name
    return by_name.get(name) if name else None


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
