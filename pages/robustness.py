"""Robustness: change a sentence and see which metrics notice, test them on suites and growing noise, and keep what counts."""

from __future__ import annotations

import streamlit as st

from pages._ui import errors, robustness_break, robustness_kept, robustness_parts, robustness_suite, state, wiring


def main() -> None:
    """Draw the page."""
    store = wiring.store()
    project = state.projects(store).project
    st.title("Robustness", anchor=False)
    if project is None:
        st.markdown(
            "There is no project yet, and so no text to change. Upload what your systems wrote, or open the sample."
        )
        st.page_link("pages/projects.py", label="Go to Projects", icon=":material/folder_open:")
        return
    robustness_parts.remember(project)
    first = robustness_parts.SPOTS if robustness_parts.RUN in st.query_params else robustness_parts.SECTIONS[0]
    st.session_state.setdefault(robustness_parts.SECTION, first)
    section = st.segmented_control(
        "What to do", robustness_parts.SECTIONS, key=robustness_parts.SECTION,
        required=True, label_visibility="collapsed",
    )  # fmt: skip
    if section != robustness_parts.SPOTS:
        st.query_params.pop(robustness_parts.RUN, None)
    with errors.boundary():
        if section == robustness_parts.SUITE:
            robustness_suite.draw(store, project)
        elif section == robustness_parts.SPOTS:
            from pages._ui import lab_spots

            lab_spots.draw(store, project)
        elif section == robustness_parts.COMBINE:
            from pages._ui import robustness_combine

            robustness_combine.draw(store, project)
        elif section == robustness_parts.KEPT:
            robustness_kept.draw(store, project)
        else:
            robustness_break.draw(project)


main()
