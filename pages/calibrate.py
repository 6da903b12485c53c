"""Calibrate λ: fit the weight of explicit errors in BARTScore++ to human scores, and save it."""

from __future__ import annotations

import streamlit as st

from core.calibration.calibrate import Calibration, CalibrationPoint
from core.calibration.learning import FEWEST_SYSTEMS, ranking
from core.ports.projects import Project
from core.services.calibrate import calibration as service
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.projects.view import Column
from pages._ui.calibrate import calibration_form, lambda_sensitivity
from pages._ui.calibrate import calibration_result as result
from pages._ui.shared import drafts, errors, jobs, page, state, wiring
from pages._ui.shared.markdown import escape_markdown

SECTIONS = ("Agreement", "More labels", "Annotators", "Severity weights", "Best systems")


def main() -> None:
    """Draw the page."""
    project = page.start("Calibrate λ", "Fit λ, the weight of explicit errors in BARTScore++, to human scores.")
    if project is None:
        return
    refinements = wiring.view(project).refinements()
    if not refinements:
        page.info("BARTScore++ has not been computed for this project yet. λ is its weight of explicit errors.")
        page.link_to_scoring(project)
        return
    with st.container(border=True):
        column = calibration_form.choose_metric(refinements)
        human_scores = calibration_form.choose_human_scores(project)
        choice = calibration_form.choose_measure(human_scores)
        if human_scores is not None and human_scores.of_systems:
            st.caption(calibration_form.FIXED)
    if human_scores is not None:
        unfinished(project, column, human_scores)
        data = service.points(wiring.view(project).table(column.name).picked(human_scores.scores), human_scores)
        batch = calibration_form.choose_calibration_set(project, data)
        data = service.of_batch(data, batch) if batch else data
        with errors.boundary():
            calibration = fitted(project, column, human_scores, choice, data)
            if calibration is not None:
                if wiring.may_change(project.id):
                    keep(project, column, human_scores, calibration, batch.name if batch else "")
                details(
                    project,
                    column,
                    human_scores,
                    choice,
                    data,
                    calibration,
                    impossible(human_scores, data, batch=batch is not None),
                )
    result.saved(project, refinements)


def unfinished(project: Project, column: Column, human_scores: HumanScores) -> None:
    """Draw how many outputs with human scores BARTScore++ has not scored yet, and the button that scores them."""
    view = wiring.view(project)
    rated = [key for key in human_scores.scores if view.index.cell(key) is not None]
    if (n := len(view.scored(column.name, rated))) < len(rated):
        text = (
            f"{column.label} has scored {n:,} of {len(rated):,} outputs with human scores. λ is fitted on these only."
        )
        jobs.draw_partly_scored(project, text, [column], "calibrate")


def fitted(
    project: Project,
    column: Column,
    human_scores: HumanScores,
    choice: LambdaFitOptions,
    data: tuple[CalibrationPoint, ...],
) -> Calibration | None:
    """Draw the fit and return it; None if there is too little data or the fit was stopped."""
    if len(data) < 2:
        result.too_few(len(data), len(human_scores.scores))
        return None
    calibration = result.fit(data, human_scores, choice, project.n_outputs)
    if calibration is None:
        return None
    st.markdown(result.sentence(calibration, human_scores, choice))
    result.recommended(calibration)
    result.missing(calibration, human_scores, project, column)
    result.chart(calibration, human_scores, choice.measure)
    if who := page.scored_by(column.signature):
        st.caption(f"BARTScore++ was {who}. λ is different for another model.")
    return calibration


def impossible(human_scores: HumanScores, data: tuple[CalibrationPoint, ...], *, batch: bool) -> dict[str, str]:
    """Return the sections that these data do not allow, with the reason."""
    if batch:
        return dict.fromkeys(SECTIONS[2:], "only with all labelled outputs, not with a calibration set.")
    reasons = dict.fromkeys(SECTIONS[2:4], lambda_sensitivity.OF_LABELS) if human_scores.scheme is None else {}
    if (n := len(ranking(data))) < FEWEST_SYSTEMS:
        reasons[SECTIONS[4]] = f"needs at least {FEWEST_SYSTEMS} systems with both scores; found {n}."
    return reasons


def details(
    project: Project, column: Column, human_scores: HumanScores, choice: LambdaFitOptions, data: tuple[CalibrationPoint, ...],
    calibration: Calibration, unable: dict[str, str],
) -> None:  # fmt: skip
    """Draw the chosen section; the others are not computed. `unable` are the reasons why sections are disabled."""
    section = page.choose_tab("Details", SECTIONS, "lambda-section", impossible=unable)
    with errors.boundary():
        if section == SECTIONS[0]:
            result.details(calibration, human_scores, choice, column)
        elif section == SECTIONS[1]:
            lambda_sensitivity.labels(data, calibration, choice)
        elif section == SECTIONS[2]:
            lambda_sensitivity.annotators(project, column, human_scores, choice)
        elif section == SECTIONS[3]:
            lambda_sensitivity.weights(project, column, human_scores, choice)
        else:
            lambda_sensitivity.best_systems(project, wiring.view(project), data, calibration, human_scores, choice)


def keep(project: Project, column: Column, human_scores: HumanScores, calibration: Calibration, batch: str) -> None:
    """Draw the form that saves this λ under a name."""
    lam = result.to_save(calibration)
    left, middle, right = st.columns([5, 2, 4], vertical_alignment="bottom")
    usual = result.usual_name(project, human_scores, batch)
    key = drafts.kept(f"lambda-name-{project.id}", usual)
    name = left.text_input("Name for this λ", usual, max_chars=result.LONGEST_NAME, key=key)
    pressed = middle.button("Save λ", icon=":material/save:", width="stretch", key="lambda-save")
    use = right.button("Save and use on Compare", type="primary", width="stretch", key="lambda-save-use")
    if pressed or use:
        with errors.boundary():
            stored = service.save(
                wiring.store(), project, name, calibration, column.refinement_signature, human_scores, batch, lam=lam
            )
            st.toast(f"Saved λ = {result.text_of(stored)} as “{escape_markdown(stored.name)}”")
            if use:
                state.use_lambda(project.id, stored.value)
                state.use_refinement(project.id, column.name)
                st.switch_page("pages/compare.py", query_params=result.address(project, stored.value))


main()
