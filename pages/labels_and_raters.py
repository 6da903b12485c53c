"""Labels and raters: the work of each rater, their agreement, and which outputs to label next."""

from __future__ import annotations

import streamlit as st

from core.mqm.schemes import SCHEMES
from core.ports.projects import Project
from core.services.labels.agreement import Agreement
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
    rated = known_labels.by_output(project)
    batch_builder.missing(project, rated)
    first = TABS[0] if known_labels.raters(project) or wiring.judgements(project) else TABS[2]
    agreement, disagreements, building, typology = st.tabs(TABS, key="people-tabs", default=first)
    found = None
    with agreement, errors.boundary():
        number_agreement.section(project)
        if known_labels.raters(project) or not wiring.judgements(project):
            found = labelled(project)
    with disagreements, errors.boundary():
        if found is not None:
            parts.disputes(project, found)
        elif known_labels.raters(project):
            page.info("The labels were not compared: see the tab Agreement.")
        else:
            no_labels()
    with building, errors.boundary():
        if wiring.may_change(project.id):
            batch_builder.builder(project)
        batch_builder.batches(project, rated)
    with typology, errors.boundary():
        typology_form.section(project)


def labelled(project: Project) -> Agreement | None:
    """Draw the raters and their agreement, and return it; None without labels, and if it was cancelled."""
    if not known_labels.raters(project):
        no_labels()
        return None
    st.subheader("Error spans by annotator", anchor=False)
    scheme = st.selectbox(
        "Severity weights", SCHEMES, key="people-scheme", width=320, format_func=scheme_words,
        help=definition("Severity weights"),
    )  # fmt: skip
    found = parts.found(project, scheme)
    if found is None:
        return None
    if not found.raters:
        page.info("There are labels, but no segment has been submitted yet.")
        return found
    scored = parts.give_scores(found, wiring.judgements(project))
    parts.raters(found, scored=scored)
    st.subheader("Agreement of the error spans", anchor=False)
    parts.figures(found, scored=scored)
    return found


def no_labels() -> None:
    """Say that there are no labels."""
    page.info("This project has no labels yet.")
    page.link("annotate", "Annotate outputs")


main()
