"""Robustness: change texts, see which metrics miss the error, run test suites and stress tests, and save cases."""

from __future__ import annotations

import streamlit as st

from pages._ui.robustness import break_metric, session, suite_cases, suite_results
from pages._ui.shared import errors, page, wiring


def main() -> None:
    """Draw the page."""
    purpose = "Find errors that metrics miss, by changing texts in known ways."
    project = page.start("Robustness", purpose, empty=True)
    if project is None:
        return
    session.remember(project)
    first = session.STRESS if session.RUN in st.query_params else session.SECTIONS[0]
    section = page.choose_tab("Section", session.SECTIONS, session.SECTION, first)
    if section != session.STRESS:
        st.query_params.pop(session.RUN, None)
    if project.n_outputs > wiring.LARGE and section != session.KEPT:
        n, of = len(wiring.sampled_segments(project)), project.n_segments
        page.caption(f"Texts come from a random sample of {n:,} of the {of:,} segments, always the same.")
    with errors.boundary():
        if section == session.SUITE:
            suite_results.draw_adversarial_suite(project)
        elif section == session.STRESS:
            from pages._ui.robustness import stress_tests

            stress_tests.draw_stress_tests(project)
        elif section == session.COMBINE:
            from pages._ui.robustness import combine

            combine.draw_combine(project)
        elif section == session.KEPT:
            suite_cases.draw_saved_cases(project)
        else:
            break_metric.draw_break_metric(project)


main()
