"""Working through a batch: which one, from the address or chosen on Annotate, and how far it is."""

from __future__ import annotations

import streamlit as st

from core.data import Dataset, SegmentKey
from core.mqm.log import SegmentLabels
from core.ports import Project, SavedBatch, Store
from core.services import batches as service
from core.services.labels import Counted
from pages._ui import errors, state

BATCH = "batch"
_REMEMBERED = "errorscope_batches"


def address(project: Project, name: str) -> dict[str, str]:
    """The address of Annotate with this batch, to give to annotators."""
    return {state.PROJECT: str(project.id), BATCH: name}


def asked(store: Store, project: Project, dataset: Dataset) -> Dataset:
    """What is to be labelled: all of the project, or one batch of it; the choice is drawn where there are batches."""
    batch = _choice(store, project)
    return service.within(dataset, batch) if batch else dataset


def _choice(store: Store, project: Project) -> SavedBatch | None:
    by_name = {batch.name: batch for batch in store.batches.list(project.id)}
    remembered: dict[int, str | None] = st.session_state.setdefault(_REMEMBERED, {})
    key = f"annotate-batch-{project.id}"
    wanted = st.query_params.get(BATCH)
    if key not in st.session_state:
        st.session_state[key] = wanted if wanted in by_name else remembered.get(project.id)
    if st.session_state[key] not in by_name:
        st.session_state[key] = None
    if not by_name:
        st.query_params.pop(BATCH, None)
        return None
    name = st.selectbox(
        "Work through",
        [None, *by_name],
        format_func=lambda n: "all segments" if n is None else _label(by_name[n]),
        key=key,
        width=420,
    )
    remembered[project.id] = name
    if name is None:
        st.query_params.pop(BATCH, None)
    elif wanted != name:
        st.query_params[BATCH] = name
    return by_name.get(name) if name else None


def _label(batch: SavedBatch) -> str:
    return f"batch “{batch.name}”, {len(batch.outputs)} outputs"


def progress(done: Counted, whole: Dataset, of_batch: Dataset, mine: dict[SegmentKey, SegmentLabels]) -> None:
    """How far the annotator is: segments, and within a batch labelled / assigned outputs."""
    text = f"{done.submitted} of {done.total} segments submitted."
    if of_batch is not whole:
        labelled, assigned = service.outputs_done(of_batch, mine), len(of_batch.outputs)
        colour = "green" if labelled == assigned else "gray"
        st.badge(f"{labelled} / {assigned} labelled", icon=":material/checklist:", color=colour)
        text = f"{done.submitted} of {done.total} segments of this batch submitted."
    everything = " All done: thank you." if done.submitted == done.total else ""
    st.progress(done.submitted / done.total if done.total else 0.0, text=errors.plain(text + everything))
