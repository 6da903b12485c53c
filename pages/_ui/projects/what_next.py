"""The line *What next* of a project: the steps done, and a button for the next one. After an import, the scoring panel."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.ports.projects import Project
from core.services.projects.next_step import Step, next_step
from pages._ui.campaigns import address
from pages._ui.projects import cancelled, scoring
from pages._ui.shared import errors, jobs, page, state, wiring
from pages._ui.shared.markdown import escape_markdown

STEPS: dict[Step, str] = {
    "upload": "Upload", "score": "Score", "label": "Label", "calibrate": "Calibrate λ", "evaluate": "Evaluate",
}  # fmt: skip
BUTTONS: dict[Step, tuple[str, str]] = {
    "score": ("compare", "Compute scores"),
    "label": ("annotate", "Annotate outputs"),
    "calibrate": ("calibrate", "Calibrate λ"),
    "evaluate": ("meta_evaluation", "Evaluate metrics"),
}

MANAGERS: dict[Step, str] = {
    "upload": "Managers of the project upload outputs.",
    "score": "Managers of the project compute scores.",
    "label": "Annotators label outputs.",
    "calibrate": "Managers of the project fit λ.",
}


def what_next(project: Project, *, panel: bool) -> None:
    """Draw the line for the open project, and below it the scoring panel if wanted."""
    found = next_step(wiring.store(), project, scoring=bool(jobs.active(project.id)))
    names = STEPS | ({"label": f"{STEPS['label']} ({found.imported} imported)"} if found.imported else {})
    words = [f":material/check: {name}" if step in found.done else name for step, name in names.items()]
    words = [f"**{word}**" if step == found.step else word for step, word in zip(STEPS, words, strict=True)]
    text, action = st.columns([3, 1], vertical_alignment="center")
    who = "" if _may_take(found.step, project) else f" {MANAGERS.get(found.step, '')}"
    text.markdown(f"**What next:** {escape_markdown(found.why)}{who}")
    text.caption(" → ".join(words))
    here = panel and found.step == "score"
    if found.step in BUTTONS and not here and _may_take(found.step, project):
        target, label = BUTTONS[found.step]
        if action.button(label, icon=page.icon(target), type="primary", width="stretch", key=f"next-{project.id}"):
            st.switch_page(f"pages/{target}.py", query_params={state.PROJECT: str(project.id)})
    if not _may_take(found.step, project):
        _instead(project, action)
    if found.step in ("score", "label") and "label" not in found.done and wiring.may_change(project.id):
        label, there = "Set up a human evaluation", {state.PROJECT: str(project.id), address.CAMPAIGN: address.NEW}
        if action.button(label, icon=page.icon("campaigns"), width="stretch", key=f"next-people-{project.id}"):
            st.switch_page("pages/campaigns.py", query_params=there)
    cancelled.line(project)
    if panel:
        with st.expander("Compute scores", expanded=True, icon=":material/bolt:"), errors.boundary():
            scoring.panel(project, primary=here)


def _instead(project: Project, action: DeltaGenerator) -> None:
    """Draw a button for people who may not take the next step: adjudicators decide, viewers read."""
    decides = wiring.identity().role(project.id) == "adjudicator"
    target, label = ("campaigns", "Open campaigns") if decides else ("compare", "Compare outputs")
    if action.button(label, icon=page.icon(target), width="stretch", key=f"next-instead-{project.id}"):
        st.switch_page(f"pages/{target}.py", query_params={state.PROJECT: str(project.id)})


def _may_take(step: Step, project: Project) -> bool:
    """Return whether the person may take a step: everybody may evaluate."""
    if step == "label":
        return wiring.identity().may_label(project.id)
    return step == "evaluate" or wiring.may_change(project.id)
