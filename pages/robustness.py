"""Robustness: change texts, see which metrics miss the error, run test suites and stress tests, and save cases."""

from __future__ import annotations

import streamlit as st

from pages._ui.robustness import adversarial_suite, break_metric, controls
from pages._ui.shared import errors, page, wiring


def main() -> None:
    """Draw the page."""
    purpose = "Find errors that metrics miss, by changing texts in known ways."
    project = page.start("Robustness", purpose, empty=True)
    if project is None:
        return
    controls.remember(project)
    first = controls.STRESS if controls.RUN in st.query_params else controls.SECTIONS[0]
    section = page.choose_tab("Section", controls.SECTIONS, controls.SECTION, first)
    if section != controls.STRESS:
        st.query_params.pop(controls.RUN, None)
    if project.n_outputs > wiring.LARGE and section != controls.KEPT:
        n, of = len(wiring.sampled_segments(project)), project.n_segments
        page.caption(f"Texts come from a random sample of {n:,} of the {of:,} segments, always the same.")
    with errors.boundary():
        if section == controls.SUITE:
            adversarial_suite.draw_adversarial_suite(project)
        elif section == controls.STRESS:
            from pages._ui.robustness import stress_tests

            stress_tests.draw_stress_tests(project)
        elif section == controls.COMBINE:
            from pages._ui.robustness import combine

            combine.draw_combine(project)
        elif section == controls.KEPT:
            adversarial_suite.draw_saved_cases(project)
        else:
            break_metric.draw_break_metric(project)


main()
