"""The list of projects, and the next step of each."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formatting import format_count, isolated
from core.metrics.registry import METRICS, label_of
from core.ports.projects import Project
from core.services.projects.next_step import Step, next_step
from pages._ui.campaigns import campaign_data
from pages._ui.projects import exports, importing, other_programs, scoring, scoring_time
from pages._ui.shared import errors, jobs, page, state, wiring
from pages._ui.shared.long_jobs import showing_progress
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
    next_up = next_step(wiring.store(), project, scoring=bool(jobs.active(project.id)))
    names = STEPS | ({"label": f"{STEPS['label']} ({next_up.imported} imported)"} if next_up.imported else {})
    words = [f":material/check: {name}" if step in next_up.done else name for step, name in names.items()]
    words = [f"**{word}**" if step == next_up.step else word for step, word in zip(STEPS, words, strict=True)]
    text, action = st.columns([3, 1], vertical_alignment="center")
    who = "" if _may_take(next_up.step, project) else f" {MANAGERS.get(next_up.step, '')}"
    text.markdown(f"**What next:** {escape_markdown(next_up.why)}{who}")
    text.caption(" → ".join(words))
    scoring_here = panel and next_up.step == "score"
    if next_up.step in BUTTONS and not scoring_here and _may_take(next_up.step, project):
        target, label = BUTTONS[next_up.step]
        if action.button(label, icon=page.icon(target), type="primary", width="stretch", key=f"next-{project.id}"):
            st.switch_page(f"pages/{target}.py", query_params={state.PROJECT: str(project.id)})
    if not _may_take(next_up.step, project):
        _instead(project, action)
    if next_up.step in ("score", "label") and "label" not in next_up.done and wiring.may_change(project.id):
        label, parameters = (
            "Set up a human evaluation",
            {state.PROJECT: str(project.id), campaign_data.CAMPAIGN: campaign_data.NEW},
        )
        if action.button(label, icon=page.icon("campaigns"), width="stretch", key=f"next-people-{project.id}"):
            st.switch_page("pages/campaigns.py", query_params=parameters)
    scoring_time.draw_cancelled_job(project)
    if panel:
        with st.expander("Compute scores", expanded=True, icon=":material/bolt:"), errors.boundary():
            scoring.draw_scoring(project, primary=scoring_here)


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


NAMED = 6


def draw_project_list(projects: Sequence[Project], current: Project | None, *, imported: bool) -> None:
    """Draw the open project with its actions first, then the others. After an import, it has the scoring panel."""
    for project in sorted(projects, key=lambda p: current is None or p.id != current.id):
        is_open = current is not None and project.id == current.id
        with st.container(border=True, key=f"project-{project.id}"):
            text, actions = st.columns([3, 2] if is_open else [5, 1], vertical_alignment="center")
            with text:
                mark = " :blue-badge[currently open]" if is_open else ""
                kind = " :gray-badge[sample]" if project.sample else ""
                st.markdown(f"**{escape_markdown(project.name)}**{mark}{kind}")
                st.caption("  \n".join(map(escape_markdown, facts(project))))
            with actions:
                if is_open:
                    _actions(project)
                else:
                    st.button("Open", key=f"open-{project.id}", on_click=errors.guarded(state.open_project),
                              args=(project.id,), width="stretch")  # fmt: skip
            if is_open:
                what_next(project, panel=imported)
                other_programs.draw_span_layers(project)


def facts(project: Project) -> list[str]:
    """Return the contents of a project in two lines: texts and human scores; metrics and labels."""
    texts = f"{format_count(project.n_segments, 'segment')} × {format_count(len(project.systems), 'system')}"
    texts += f" ({_some(project.systems)})" if project.systems else ""
    if names := project.human_scores + project.judged:
        texts += f" · human scores: {_some(names)}"
    scored = list(dict.fromkeys(s.metric for s in wiring.store().scores.signatures(project.id)))
    scored.sort(key=lambda m: (list(METRICS).index(m) if m in METRICS else len(METRICS), m))
    labels = list(map(label_of, scored))
    raters = wiring.store().labels.raters(project.id)
    said = f"scored with {_some(labels)}" if labels else "not scored yet"
    if raters:
        labelled = f"labelled by {_some(raters)}"
    else:
        labelled = "no labels outside campaigns" if wiring.store().campaigns.has_any(project.id) else "no labels yet"
    layers = [layer.name for layer in wiring.store().spans.list(project.id)]
    return [texts, f"{said} · {labelled}" + (f" · error spans from files: {_some(layers)}" if layers else "")]


def _some(names: Sequence[str]) -> str:
    shown = [isolated(n if len(n) <= 40 else n[:40] + "…") for n in names[:NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _actions(project: Project) -> None:
    with st.container(horizontal=True, horizontal_alignment="right"):
        with st.popover("Export", icon=":material/download:"):
            exports.draw_exports(project)
        if not wiring.may_change(project.id):
            return
        with st.popover("Add references", icon=":material/menu_book:"):
            _references(project)
        with st.popover("Rename", icon=":material/edit:"):
            _rename(project)
        if st.button("Delete", icon=":material/delete:", key=f"delete-{project.id}"):
            _delete(project)


def _references(project: Project) -> None:
    with st.form(f"references-{project.id}", border=False), errors.boundary():
        st.markdown("Use the outputs of a system as references, for example a human translation.")
        system = st.selectbox("System", project.systems, index=None, placeholder="Choose a system")
        st.caption("The outputs also stay in the project. Afterwards, compute again the metrics that use references.")
        if st.form_submit_button("Add as references", type="primary") and system is not None:
            importing.start_references(project, system)
            st.rerun()


def _rename(project: Project) -> None:
    with st.form(f"rename-{project.id}", border=False), errors.boundary():
        name = st.text_input("New name", project.name, max_chars=120)
        if st.form_submit_button("Rename", type="primary") and name.strip() != project.name:
            wiring.store().projects.rename(project.id, name)
            st.rerun()


@st.dialog("Delete this project?", width="medium")
@errors.guarded
def _delete(project: Project) -> None:
    """Ask for confirmation, naming what will be lost."""
    projects = wiring.store().projects

    @errors.guarded
    def delete() -> None:
        projects.delete(project.id)
        st.query_params.pop(state.PROJECT, None)

    st.markdown(f"**{escape_markdown(project.name)}** and all its content will be deleted for all users:")
    st.text("\n".join(f"• {line}" for line in losses(project)))
    st.caption("This cannot be undone. Export the labels first if you may still need them.")
    keep, go = st.columns(2)
    if keep.button("Cancel", width="stretch", key="delete-no"):
        st.rerun()
    asked = go.button("Delete project", type="primary", width="stretch", key="delete-yes", on_click=delete)
    if asked and all(p.id != project.id for p in projects.list()):
        st.rerun()


def losses(project: Project) -> list[str]:
    """Return what deleting a project removes."""
    store = wiring.store()
    lost = [
        f"{format_count(project.n_segments, 'segment')} and {format_count(project.n_outputs, 'output')} of "
        f"{format_count(len(project.systems), 'system')}"
    ]
    if names := project.human_scores + project.judged:
        lost.append(f"human scores: {_some(names)}")
    if external_metrics := store.scores.external(project.id):
        lost.append(f"external scores: {_some([m.name for m in external_metrics])}")
    if layers := store.spans.list(project.id):
        lost.append(f"error spans from files: {_some([layer.name for layer in layers])}")
    by_rater: dict[str, int] = {}
    with showing_progress("Counting labels …") as progress:
        for of in store.labels.folded(project.id, progress=progress):
            by_rater[of.rater] = by_rater.get(of.rater, 0) + sum(o.complete for o in of.labels.outputs.values())
    lost += [f"labels of {format_count(n, 'output')} by {rater}" for rater, n in by_rater.items() if n]
    if saved := store.calibrations.list(project.id):
        lost.append(f"saved λ: {_some([s.name for s in saved])}")
    return lost
