"""Labels and raters: the work of each rater, their agreement, and which outputs to label next."""

from __future__ import annotations

import streamlit as st

from core.mqm.schemes import SCHEMES
from core.ports.projects import Project
from core.ports.store import Store
from core.services.labels.labels import submitted
from pages._ui.labels_and_raters import agreement as parts
from pages._ui.labels_and_raters import batch_builder, number_agreement
from pages._ui.shared import errors, state, wiring
from pages._ui.shared.glossary import definition
from pages._ui.shared.page import has_outputs, heading

TABS = ("Agreement", "Largest disagreements", "Calibration sets")


def main() -> None:
    """Draw the page."""
    store = wiring.store()
    project = state.projects(store).project
    heading("Labels and raters", "See how far raters agree, and choose which outputs to label next.", project)
    if not has_outputs(project):
        return
    labels = submitted(store, project.id)
    batch_builder.missing(labels)
    agreement, disagreements, building = st.tabs(TABS, key="people-tabs", default=_first(store, project))
    with agreement, errors.boundary():
        if store.labels.raters(project.id) or not project.judged:
            labelled(store, project)
        number_agreement.section(project)
    with disagreements, errors.boundary():
        if store.labels.raters(project.id):
            parts.disputes(project, parts.found(project, _scheme()))
        else:
            no_labels()
    with building, errors.boundary():
        batch_builder.builder(store, project)
        batch_builder.batches(store, project, labels)


def _first(store: Store, project: Project) -> str:
    """Return the first tab: calibration sets if there are no labels and no scores by rater."""
    return TABS[0] if store.labels.raters(project.id) or project.judged else TABS[2]


def _scheme() -> str:
    return str(st.session_state.get("people-scheme", next(iter(SCHEMES))))


def labelled(store: Store, project: Project) -> None:
    """Draw the raters and their agreement."""
    if not store.labels.raters(project.id):
        no_labels()
        return
    st.selectbox("Severity weights", list(SCHEMES), key="people-scheme", width=240, help=definition("Severity weights"))
    found = parts.found(project, _scheme())
    if not found.raters:
        st.info("There are labels, but no segment has been submitted yet.", icon=":material/info:")
        return
    st.subheader("Raters", anchor=False)
    parts.raters(found)
    st.subheader("Agreement", anchor=False)
    parts.figures(found)


def no_labels() -> None:
    """Say that there are no labels."""
    st.info("This project has no labels yet.", icon=":material/info:")
    st.page_link("pages/annotate.py", label="Annotate outputs", icon=":material/edit_note:")


main()
