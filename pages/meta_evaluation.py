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
    data_parts,
    disagreements,
    evaluation_data,
    evaluation_form,
    human_scores,
    length_and_bias,
    scatter,
    significance,
)
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.deferred import comes_later
from pages._ui.shared.glossary import definition
from pages._ui.shared.markdown import escape_markdown

SECTIONS = (
    "Scatter plot",
    "Disagreements",
    "Differences between metrics",
    "Systems",
    "Parts of the data",
    "Length and bias",
    "All human scores",
)


def impossible(project: Project, people: HumanScores, found: Evaluation) -> dict[str, str]:
    """Return the sections that these data do not allow, with the reason."""
    unable = {SECTIONS[6]: "needs two human scores of the project."} if len(project.human_scores) < 2 else {}
    if len(found.joined.systems) < 2:
        unable |= dict.fromkeys(SECTIONS[3:6], "need at least two systems.")
    if people.of_systems:
        why = "these human scores belong to whole systems: there are none of outputs to list or resample."
        unable |= dict.fromkeys((SECTIONS[1], *SECTIONS[3:5]), why)
    return unable


def main() -> None:
    """Draw the page."""
    project = page.start("Meta-evaluation", "Measure how well each metric agrees with human scores.")
    if project is None:
        return
    view = wiring.view(project)
    if all(c.human for c in view.columns):
        page.info("No metric has been computed for this project yet.")
        page.link_to_scoring(project)
        return
    with st.container(border=True):
        people = calibration_form.choose_human_scores(project)
        if people is None:
            return
        wanted = evaluation_form.asked(project, view, people)
        if people.of_systems:
            st.caption(calibration_form.FIXED)
    if not wanted.names:
        page.info("Choose at least one metric under *More options*.")
        return
    data = evaluation_data.joined(project, view, people, wanted)
    evaluation_data.unfinished(project, view, data)
    if data.too_few:
        evaluation_form.too_few(project, data, people, wanted.excluded)
        return
    statistic = wanted.statistic
    found = evaluation_data.evaluated(data, wanted.choice, statistic)
    if found is None:
        return
    st.markdown(f"#### {escape_markdown(report.sentence(found, statistic))}")
    evaluation_data.unread(project, found)
    for name in STATISTICS[wanted.choice.level]:
        if name in (statistic, "acc_eq"):  # acc_eq always: its name does not say what it is
            page.caption(f"{LABELS[name]}: {definition(LABELS[name])}")
    agreement_table.table(found, statistic)
    agreement_table.notes(found)
    if len(data.keys) >= evaluation_data.MANY and comes_later(evaluation_data.SECOND_PART, "Loading charts …"):
        return
    impossible_here = impossible(project, people, found)
    section = page.choose_tab("Details", SECTIONS, "evaluate-section", impossible=impossible_here)
    systems = None
    with errors.boundary():
        if section == SECTIONS[0]:
            scatter.scatter(project, view, found, statistic)
        elif section == SECTIONS[1]:
            disagreements.draw(project, found, statistic)
        elif section == SECTIONS[2]:
            significance.differences(found, statistic)
        elif section == SECTIONS[3]:
            systems = significance.systems(found)
        elif section == SECTIONS[4]:
            data_parts.of_parts(view, found, statistic)
        elif section == SECTIONS[6]:
            human_scores.draw(project, view, wanted)
        else:
            length_and_bias.draw(project, view, people, found, wanted)
    agreement_table.files(project, found, statistic, systems)


main()
