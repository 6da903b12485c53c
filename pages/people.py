"""People: who labelled what, how far they agree, where they agree least, and which outputs to label next."""

from __future__ import annotations

import streamlit as st

from core.mqm.schemes import SCHEMES
from core.ports import Project, Store
from core.services.batches import labels_of
from pages._ui import batch_parts, errors, people_numbers, state, wiring
from pages._ui import people_parts as parts

TABS = ("Agreement", "Worst disagreements", "Build a calibration set")


def main() -> None:
    """Draw the page."""
    store = wiring.store()
    project = state.projects(store).project
    st.title("People", anchor=False)
    if project is None or not project.n_outputs:
        st.markdown("There is nothing to label yet. Upload what your systems wrote, or open the sample.")
        st.page_link("pages/projects.py", label="Go to Projects", icon=":material/folder_open:")
        return
    labels = labels_of(store, project.id)
    batch_parts.missing(labels)
    agreement, disagreements, building = st.tabs(TABS, key="people-tabs", default=_first(store, project))
    with agreement, errors.boundary():
        if store.labels.raters(project.id) or not project.judged:
            labelled(store, project)
        people_numbers.section(project)
    with disagreements, errors.boundary():
        if store.labels.raters(project.id):
            parts.disputes(project, parts.found(project, _scheme()))
        else:
            nobody()
    with building, errors.boundary():
        batch_parts.builder(store, project)
        batch_parts.batches(store, project, labels)


def _first(store: Store, project: Project) -> str:
    """Where nobody has labelled or scored anything, building a set comes first."""
    return TABS[0] if store.labels.raters(project.id) or project.judged else TABS[2]


def _scheme() -> str:
    return str(st.session_state.get("people-scheme", next(iter(SCHEMES))))


def labelled(store: Store, project: Project) -> None:
    """Raters, and how far they agree."""
    if not store.labels.raters(project.id):
        nobody()
        return
    st.selectbox(
        "Weights", list(SCHEMES), key="people-scheme", width=240, help="Named MQM schemes: Major 5, Minor 1, …"
    )
    found = parts.found(project, _scheme())
    if not found.raters:
        st.info("Labels have been begun, but no segment has been submitted yet.", icon=":material/info:")
        return
    st.subheader("Raters", anchor=False)
    parts.raters(found)
    st.subheader("Agreement", anchor=False)
    parts.figures(found)


def nobody() -> None:
    """There are no labels."""
    st.info("Nobody has labelled an output of this project yet.", icon=":material/info:")
    st.page_link("pages/annotate.py", label="Label on Annotate", icon=":material/edit_note:")


main()
