"""The steps of an evaluation, with links to their pages."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from pages._ui.shared import page

ACROSS = 3


class WorkflowStep(NamedTuple):
    title: str
    text: str
    links: tuple[tuple[str, str], ...]  # page, label


STEPS = (
    WorkflowStep(
        "Upload",
        "Upload the outputs of your systems, with sources and references. Labels and scores from other tools can be imported too.",
        (("projects", "Projects"),),
    ),
    WorkflowStep(
        "Score",
        "Choose metrics and compute their scores. Scoring runs in the background, and each score is computed only once.",
        (("compare", "Compare"), ("models", "Models: what can run here")),
    ),
    WorkflowStep(
        "Compare",
        "Read the outputs side by side: word differences, scores, and the sentence that BARTScore++ refines from each output.",
        (("compare", "Compare"),),
    ),
    WorkflowStep(
        "Annotate",
        "Mark the errors that you see, by mouse or keyboard. The names of the systems are hidden. At least 100 outputs with two annotators are recommended.",
        (("annotate", "Annotate"), ("labels_and_raters", "Labels and raters")),
    ),
    WorkflowStep(
        "Calibrate",
        "Fit λ, the weight of explicit errors in BARTScore++, to the human scores.",
        (("calibrate", "Calibrate λ"),),
    ),
    WorkflowStep(
        "Evaluate",
        "Measure how well each metric agrees with the human scores, and which errors it misses.",
        (("meta_evaluation", "Meta-evaluation"), ("robustness", "Robustness")),
    ),
)


def draw() -> None:
    """Draw the steps, three side by side."""
    for first in range(0, len(STEPS), ACROSS):
        for i, column in enumerate(st.columns(ACROSS), first):
            with column.container(border=True, height="stretch"):
                st.subheader(f"{i + 1}. {STEPS[i].title}", anchor=False)
                st.markdown(STEPS[i].text)
                for target, label in STEPS[i].links:
                    page.link(target, label)
    st.markdown(
        "*Projects* names the next step of the open project. The sample project is scored and labelled already."
    )
