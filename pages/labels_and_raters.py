"""Labels and raters: the work of each rater, their agreement, and which outputs to label next."""

from __future__ import annotations

import streamlit as st

from core.mqm.schemes import SCHEMES
from core.ports.projects import Project
from core.services.labels.agreement import Agreement
from pages._ui.calibrate.calibration_form import scheme_words
from pages._ui.labels_and_raters import batch_builder, known_labels, labelled_output
from pages._ui.labels_and_raters.agreement import (
    disputes,
    draw_number_agreement,
    figures,
    give_scores,
    of_project,
    raters,
)
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.page import definition

TABS = ("Agreement", "Largest disagreements", "Calibration sets", "Error typology")


def main() -> None:
    project = page.start("Labels and raters", "See how far annotators agree, and choose which outputs to label next.")
    if project is None:
        return
    rated = known_labels.by_output(project)
    batch_builder.missing(project, rated)
    first = TABS[0] if known_labels.raters(project) or wiring.judgements(project) else TABS[2]
    agreement, disagreements, building, typology = st.tabs(TABS, key="people-tabs", default=first)
    labels_agreement = None
    with agreement, errors.boundary():
        draw_number_agreement(project)
        if known_labels.raters(project) or not wiring.judgements(project):
            labels_agreement = labelled(project)
    with disagreements, errors.boundary():
        if labels_agreement is not None:
            disputes(project, labels_agreement)
        elif known_labels.raters(project):
            page.info("The labels were not compared: see the tab Agreement.")
        else:
            no_labels()
    with building, errors.boundary():
        if wiring.may_change(project.id):
            batch_builder.builder(project)
        batch_builder.batches(project, rated)
    with typology, errors.boundary():
        labelled_output.draw_typology_form(project)


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
    agreement = of_project(project, scheme)
    if agreement is None:
        return None
    if not agreement.raters:
        page.info("There are labels, but no segment has been submitted yet.")
        return agreement
    scored = give_scores(agreement, wiring.judgements(project))
    raters(agreement, scored=scored)
    st.subheader("Agreement of the error spans", anchor=False)
    figures(agreement, scored=scored)
    return agreement


def no_labels() -> None:
    """Say that there are no labels."""
    page.info("This project has no labels yet.")
    page.link("annotate", "Annotate outputs")


main()
