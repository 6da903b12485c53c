"""Meta-evaluation: how well each metric agrees with human scores, beside trivial baselines."""

from __future__ import annotations

import streamlit as st

from core.reports import evaluation as report
from core.services.evaluate.evaluate import LABELS, STATISTICS
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
from pages._ui.shared import drafts, errors, page, wiring
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
    for name in STATISTICS[wanted.choice.level]:
        if name in (statistic, "acc_eq"):  # acc_eq always: its name does not say what it is
            page.caption(f"{LABELS[name]}: {definition(LABELS[name])}")
    agreement_table.table(found, statistic)
    agreement_table.notes(found)
    if len(data.keys) >= evaluation_data.MANY and comes_later(evaluation_data.SECOND_PART, "Loading charts …"):
        return
    sections = SECTIONS if len(project.human_scores) > 1 else SECTIONS[:-1]
    section = st.segmented_control(
        "Details", sections, default=SECTIONS[0], key=drafts.kept("evaluate-section"), required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    systems = None
    with errors.boundary():
        if people.of_systems and section in (SECTIONS[1], *SECTIONS[3:5]):
            page.info(
                "These human scores belong to whole systems, not to single outputs: there is nothing to list or resample."
            )
        elif section == SECTIONS[0]:
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
