"""Labels and raters: the work of each rater, their agreement, and which outputs to label next."""

from __future__ import annotations

import streamlit as st

from core.mqm.schemes import SCHEMES
from core.ports.projects import Project
from pages._ui.calibrate.weight_schemes import scheme_words
from pages._ui.labels_and_raters import agreement as parts
from pages._ui.labels_and_raters import batch_builder, known_labels, number_agreement, typology_form
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.glossary import definition

TABS = ("Agreement", "Largest disagreements", "Calibration sets", "Error typology")


def main() -> None:
    """Draw the page."""
    project = page.start("Labels and raters", "See how far annotators agree, and choose which outputs to label next.")
    if project is None:
        return
    labels = known_labels.submitted(project)
    batch_builder.missing(labels)
    first = TABS[0] if known_labels.raters(project) or wiring.judgements(project) else TABS[2]
    agreement, disagreements, building, typology = st.tabs(TABS, key="people-tabs", default=first)
    with agreement, errors.boundary():
        if known_labels.raters(project) or not wiring.judgements(project):
            labelled(project)
        number_agreement.section(project)
    with disagreements, errors.boundary():
        if known_labels.raters(project):
            parts.disputes(project, parts.found(project, _scheme()))
        else:
            no_labels()
    with building, errors.boundary():
        batch_builder.builder(project)
        batch_builder.batches(project, labels)
    with typology, errors.boundary():
        typology_form.section(project)


def _scheme() -> str:
    return str(st.session_state.get("people-scheme", next(iter(SCHEMES))))


def labelled(project: Project) -> None:
    """Draw the raters and their agreement."""
    if not known_labels.raters(project):
        no_labels()
        return
    st.selectbox(
        "Severity weights", SCHEMES, key="people-scheme", width=320, format_func=scheme_words,
        help=definition("Severity weights"),
    )  # fmt: skip
    found = parts.found(project, _scheme())
    if not found.raters:
        page.info("There are labels, but no segment has been submitted yet.")
        return
    st.subheader("Annotators", anchor=False)
    parts.raters(found)
    st.subheader("Agreement", anchor=False)
    parts.figures(found)


def no_labels() -> None:
    """Say that there are no labels."""
    page.info("This project has no labels yet.")
    page.link("annotate", "Annotate outputs")


main()
