"""Stress tests: add errors to good texts at increasing strength; scores should drop (He et al. 2023)."""

from __future__ import annotations

import streamlit as st

from core.ports.projects import Project
from pages._ui.robustness import (
    attack,
    self_evaluation,
    stress_catalogue,
    stress_evidence,
    stress_form,
    stress_runs,
    tour,
)
from pages._ui.shared import errors, wiring


def draw(project: Project) -> None:
    """Draw the section."""
    with errors.boundary():
        _report(project)
    with (
        st.expander("Greedy attack: add errors that lower one metric least", icon=":material/bolt:"),
        errors.boundary(),
    ):
        attack.draw(project)
    with (
        st.expander("Self-evaluation: does a metric favour its own model?", icon=":material/group:"),
        errors.boundary(),
    ):
        self_evaluation.draw(project)


def _report(project: Project) -> None:
    """Draw the open run, or the form for a new one."""
    report = stress_runs.opened(project)
    if report is None:
        st.caption(
            "Each test puts errors of one kind into good texts, at increasing strength. If the score of the changed texts does not drop, the metric "
            "fails the test: it misses this kind of error."
        )
        with errors.boundary():
            tour.draw(project)
        with errors.boundary():
            if wiring.may_change(project.id):
                stress_form.draw(project)
            else:
                st.caption("A manager of this project can run stress tests. Saved runs are under *Run* above.")
        return
    with errors.boundary():
        stress_catalogue.draw(report)
    with errors.boundary():
        stress_evidence.draw(project, report)
