"""Meta-evaluation: how well each metric agrees with human scores, beside trivial baselines."""

from __future__ import annotations

import streamlit as st

from core.ports.projects import Project
from core.reports import evaluation as report
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate.evaluate import LABELS, STATISTICS, Evaluation
from pages._ui.calibrate import calibration_form
from pages._ui.meta_evaluation import (
    agreement_table,
    error_spans,
    evaluation_data,
    judge_card,
    length_and_bias,
    scatter,
    significance,
)
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

SECTIONS = (
    "Scatter plot",
    "Disagreements",
    "Differences between metrics",
    "Systems",
    "Parts of the data",
    "Length and bias",
    "All human scores",
    "Judge card",
    "Error spans",
)


def impossible(project: Project, chosen_scores: HumanScores, evaluation: Evaluation) -> dict[str, str]:
    """Return the sections that these data do not allow, with the reason."""
    unable = {SECTIONS[6]: "needs two human scores of the project."} if len(project.human_scores) < 2 else {}
    if len(evaluation.joined.systems) < 2:
        unable |= dict.fromkeys(SECTIONS[3:6], "need at least two systems.")
    if chosen_scores.of_systems:
        why = "these human scores belong to whole systems: there are none of outputs to list or resample."
        unable |= dict.fromkeys((SECTIONS[1], *SECTIONS[3:5], SECTIONS[7]), why)
    return unable


def main() -> None:
    """Draw the page."""
    project = page.start("Meta-evaluation", "Measure how well metrics and error spans agree with people.")
    if project is None:
        return
    with errors.boundary():
        compared = draw_scores(project)
    if not compared and (layers := error_spans.layers_of(project)):
        st.subheader(SECTIONS[8], anchor=False)
        error_spans.draw_error_spans(project, layers)


def draw_scores(project: Project) -> bool:
    """Draw the agreement of metrics with human scores; return False if there is nothing to compare."""
    view = wiring.view(project)
    if all(c.human for c in view.columns):
        page.info("No metric has been computed for this project yet.")
        page.link_to_scoring(project)
        return False
    with st.container(border=True):
        chosen_scores = calibration_form.choose_human_scores(project)
        if chosen_scores is None:
            return False
        options = evaluation_data.asked(project, view, chosen_scores)
        if chosen_scores.of_systems:
            st.caption(calibration_form.FIXED)
    if not options.names:
        page.info("Choose at least one metric under *More options*.")
        return False
    data = evaluation_data.joined(project, view, chosen_scores, options)
    evaluation_data.unfinished(project, view, data)
    if data.too_few:
        evaluation_data.too_few(project, data, chosen_scores, options.excluded)
        return False
    statistic = options.statistic
    evaluation = evaluation_data.evaluated(data, options.choice, statistic)
    if evaluation is None:
        return True
    st.markdown(f"#### {escape_markdown(report.sentence(evaluation, statistic))}")
    evaluation_data.unread(project, evaluation)
    for name in STATISTICS[options.choice.level]:
        if name in (statistic, "acc_eq"):  # acc_eq always: its name does not say what it is
            page.caption(f"{LABELS[name]}: {definition(LABELS[name])}")
    agreement_table.draw_agreement_table(evaluation, statistic)
    agreement_table.notes(evaluation)
    if len(data.keys) >= evaluation_data.MANY and page.comes_later(evaluation_data.SECOND_PART, "Loading charts …"):
        return True
    impossible_here = impossible(project, chosen_scores, evaluation)
    section = page.choose_tab("Details", SECTIONS, "evaluate-section", impossible=impossible_here)
    systems = None
    with errors.boundary():
        if section == SECTIONS[0]:
            scatter.scatter(project, view, evaluation, statistic)
        elif section == SECTIONS[1]:
            scatter.draw_disagreements(project, evaluation, statistic)
        elif section == SECTIONS[2]:
            significance.differences(evaluation, statistic)
        elif section == SECTIONS[3]:
            systems = significance.systems(evaluation)
        elif section == SECTIONS[4]:
            agreement_table.of_parts(view, evaluation, statistic)
        elif section == SECTIONS[6]:
            agreement_table.draw_human_scores(project, view, options)
        elif section == SECTIONS[7]:
            judge_card.draw_judge_card(project, view, chosen_scores)
        elif section == SECTIONS[8]:
            error_spans.draw_error_spans(project, error_spans.layers_of(project))
        else:
            length_and_bias.draw_length_and_bias(project, view, chosen_scores, evaluation, options)
    agreement_table.files(project, evaluation, statistic, systems)
    return True


main()
