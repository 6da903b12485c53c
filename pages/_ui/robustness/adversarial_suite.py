"""Adversarial suite: choose or make cases, score them, and see which ones each metric gets wrong."""

from __future__ import annotations

import streamlit as st

from core.ports.projects import Project
from pages._ui.robustness.session import latest
from pages._ui.robustness.suite_cases import cases_of, suite_form
from pages._ui.robustness.suite_results import impossible_cases, results
from pages._ui.shared import page
from pages._ui.shared.long_jobs import retry_failed


def draw(project: Project) -> None:
    """Draw the section."""
    st.caption(
        "Each case has two texts: a good one (a paraphrase of the reference) and a changed one (the reference with one error added). A metric "
        "should give the good text the better score. String metrics often do not: the changed text shares more words with the reference."
    )
    if (pressed := suite_form(project)) is not None:
        retry_failed()
    asked = latest(f"robustness_asked-{project.id}", pressed)
    if asked is None:
        return
    ready = cases_of(project, asked)
    if ready is None:
        return
    if not ready.cases:
        page.info("No case could be made. The table below lists the reasons.")
    else:
        results(project, asked, ready)
    if ready.made:
        impossible_cases(ready.made)
