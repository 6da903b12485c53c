"""Blind spots: texts are spoilt bit by bit, and metrics are watched while they should fall (He et al. 2023)."""

from __future__ import annotations

import streamlit as st

from core.ports import Project, Store
from pages._ui import errors, lab_attack, lab_catalogue, lab_evidence, lab_form, lab_runs, lab_self, lab_tour


def draw(store: Store, project: Project) -> None:
    """The section."""
    with errors.boundary():
        _report(store, project)
    with st.expander("Greedy attack: spoil a text until a metric gives in", icon=":material/bolt:"), errors.boundary():
        lab_attack.draw(project)
    with (
        st.expander("Self-evaluation: does a metric favour its own kind of model?", icon=":material/group:"),
        errors.boundary(),
    ):
        lab_self.draw(store, project)


def _report(store: Store, project: Project) -> None:
    """The run that is open, or what begins one."""
    report = lab_runs.opened(store, project)
    if report is None:
        st.caption(
            "Good texts are spoilt in known ways, a little and then more. A metric that does not fall has a blind spot there."
        )
        with errors.boundary():
            lab_tour.draw(project)
        with errors.boundary():
            lab_form.draw(store, project)
        return
    with errors.boundary():
        lab_catalogue.draw(report)
    with errors.boundary():
        lab_evidence.draw(project, report)
