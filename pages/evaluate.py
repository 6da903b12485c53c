"""Evaluate: how well the metrics agree with people, how sure that is, and whether what knows nothing does as well."""

from __future__ import annotations

import streamlit as st

from core.services import evaluate_report as report
from pages._ui import errors, evaluate_bias, lambda_parts, state, wiring
from pages._ui import evaluate_behind as behind
from pages._ui import evaluate_parts as parts

SECTIONS = ("Points", "Differences between metrics", "Systems", "Parts of the data", "Length and bias")


def main() -> None:
    """Draw the page."""
    store = wiring.store()
    project = state.projects(store).project
    st.title("Evaluate", anchor=False)
    if project is None or not project.n_outputs:
        st.markdown("There is nothing to evaluate yet. Upload what your systems wrote, or open the sample.")
        st.page_link("pages/projects.py", label="Go to Projects", icon=":material/folder_open:")
        return
    view = wiring.view(project)
    if all(c.human for c in view.columns):
        st.info("No metric has been scored here yet.", icon=":material/info:")
        st.page_link("pages/compare.py", label="Score metrics on Compare", icon=":material/view_column:")
        return
    with st.container(border=True):
        people = lambda_parts.people(store, project, wiring.dataset(project))
        if people is None:
            return
        wanted = parts.asked(project, view, of_systems=people.of_systems)
        if people.of_systems:
            st.caption(lambda_parts.FIXED)
    if not wanted.names:
        st.info("Choose at least one metric, behind More.", icon=":material/info:")
        return
    data = parts.joined(project, view, people, wanted)
    if data.too_few:
        parts.too_few(data, people, wanted.excluded)
        return
    found, statistic = parts.evaluated(data, wanted.choice), wanted.statistic
    st.markdown(f"#### {errors.plain(report.sentence(found, statistic))}")
    parts.table(found, statistic)
    parts.notes(found)
    section = st.segmented_control(
        "What stands behind it", SECTIONS, default=SECTIONS[0], key="evaluate-section", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    systems = None
    with errors.boundary():
        if people.of_systems and section in SECTIONS[2:4]:
            st.info(
                "People's scores are of whole systems here, so there is nothing to resample.", icon=":material/info:"
            )
        elif section == SECTIONS[0]:
            behind.scatter(project, view, found, statistic)
        elif section == SECTIONS[1]:
            behind.differences(found, statistic)
        elif section == SECTIONS[2]:
            systems = behind.systems(found)
        elif section == SECTIONS[3]:
            behind.of_parts(view, found, statistic)
        else:
            evaluate_bias.draw(project, view, people, found, wanted)
    parts.files(project, found, statistic, systems)


main()
