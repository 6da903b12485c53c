"""λ Studio: fit the one weight of BARTScore++ to what people said, see how sure it is, save it, use it on Compare."""

from __future__ import annotations

import streamlit as st

from core.calibration.calibrate import Calibration, Point
from core.plots.calibration import calibration_chart
from core.ports import Project, Store
from core.services import calibration as service
from core.services.calibration import Choice, People
from core.services.view import Column
from pages._ui import errors, state, theme, wiring
from pages._ui import lambda_parts as parts
from pages._ui import lambda_sections as sections

SECTIONS = ("The numbers", "More labels", "Annotators", "Weights", "Best systems")


def main() -> None:
    """Draw the page."""
    store = wiring.store()
    project = state.projects(store).project
    st.title("λ Studio", anchor=False)
    if project is None or not project.n_outputs:
        st.markdown("There is nothing to calibrate yet. Upload what your systems wrote, or open the sample.")
        st.page_link("pages/projects.py", label="Go to Projects", icon=":material/folder_open:")
        return
    refinements = wiring.view(project).refinements()
    if not refinements:
        st.info("BARTScore++ has not been scored here yet; λ weighs its two distances.", icon=":material/info:")
        st.page_link("pages/compare.py", label="Score it on Compare", icon=":material/view_column:")
        return
    with st.container(border=True):
        column = parts.refinement(refinements)
        people = parts.people(store, project, wiring.dataset(project))
        choice = parts.choice(people)
        if people is not None and people.of_systems:
            st.caption(parts.FIXED)
    if people is not None:
        data = service.points(wiring.view(project).tables[column.name], people)
        batch = parts.batch(store, project, data)
        data = service.of_batch(data, batch) if batch else data
        with errors.boundary():
            found = fitted(column, people, choice, data)
            if found is not None:
                keep(store, project, column, people, found, batch.name if batch else "")
                behind(store, project, column, people, choice, data, found, SECTIONS[:2] if batch else SECTIONS)
    parts.saved(store, project, refinements)


def fitted(column: Column, people: People, choice: Choice, data: tuple[Point, ...]) -> Calibration | None:
    """Fit and show; None when there is nothing to fit, or the fit was stopped, which is said."""
    if len(data) < 2:
        parts.too_few(len(data), len(people.scores))
        return None
    found = parts.fit(data, choice)
    if found is None:
        return None
    st.markdown(parts.sentence(found, people, choice))
    parts.recommended(found)
    parts.missing(found, people)
    st.altair_chart(calibration_chart(found, choice.measure), width="stretch")
    parts.legend(found)
    if who := theme.speaker(column.signature):
        st.caption(f"The distances were {who}. Another model has another λ.")
    return found


def behind(
    store: Store, project: Project, column: Column, people: People, choice: Choice, data: tuple[Point, ...],
    found: Calibration, possible: tuple[str, ...],
) -> None:  # fmt: skip
    """One of the sections that are `possible`; only what is asked for is computed."""
    section = st.segmented_control(
        "What stands behind it", possible, default=possible[0], key="lambda-section" if possible == SECTIONS else "lambda-section-of-batch", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    with errors.boundary():
        if section == SECTIONS[0]:
            parts.details(found, people, choice, column)
        elif section == SECTIONS[1]:
            sections.labels(data, found, choice)
        elif section == SECTIONS[2]:
            sections.annotators(store, project, column, people, choice)
        elif section == SECTIONS[3]:
            sections.weights(store, project, column, people, choice)
        else:
            sections.best_systems(project, wiring.view(project), data, found, people, choice)


def keep(store: Store, project: Project, column: Column, people: People, found: Calibration, batch: str) -> None:
    """Save this λ under a name, or use it at once."""
    with st.form("lambda-save", border=False):
        lam = parts.to_save(found)
        left, middle, right = st.columns([5, 2, 4], vertical_alignment="bottom")
        name = left.text_input("Name for this λ", placeholder="e.g. de-en pilot", max_chars=80)
        wanted = middle.form_submit_button("Save", icon=":material/save:", width="stretch")
        use = right.form_submit_button("Save and use on Compare", type="primary", width="stretch")
    if wanted or use:
        with errors.boundary():
            stored = service.save(store, project, name, found, column.refinement_signature, people, batch, lam=lam)
            st.toast(f"Saved λ = {state.lambda_text(stored.value)} as “{errors.plain(stored.name)}”")
            if use:
                state.use_lambda(project.id, stored.value)
                state.use_refinement(project.id, column.name)
                st.switch_page("pages/compare.py", query_params=parts.address(project, stored.value))


main()
