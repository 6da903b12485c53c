"""Adversarial suite: choose or make cases, score them, and see which ones each metric gets wrong."""

from __future__ import annotations

import streamlit as st

from core.ports.projects import Project
from core.ports.store import Store
from pages._ui.robustness.suite_cases import cases_of, suite_form
from pages._ui.robustness.suite_results import impossible_cases, results
from pages._ui.shared.long_jobs import retry_failed

_ASKED = "robustness_asked"


def draw(store: Store, project: Project) -> None:
    """Draw the section."""
    asked = suite_form(project)
    key = f"{_ASKED}-{project.id}"
    if asked is not None:
        st.session_state[key] = asked
        retry_failed()
    asked = st.session_state.get(key)
    if asked is None:
        st.caption(
            "Each case has two texts: a paraphrase of the reference, and one with a planted error. A metric should prefer the paraphrase."
        )
        return
    ready = cases_of(project, asked)
    if ready is None:
        return
    if not ready.cases:
        st.info("No case could be made. The table below lists the reasons.", icon=":material/info:")
    else:
        results(project, asked, ready)
    if ready.made:
        impossible_cases(project, ready.made)
