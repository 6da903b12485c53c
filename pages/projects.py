"""Projects: open the sample, upload outputs or labels, choose a project, export, rename, delete."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.ports.projects import Project
from core.services.projects import sample
from pages._ui.campaigns import campaign_data
from pages._ui.projects import importing, project_list, upload
from pages._ui.projects.importing import DONE
from pages._ui.projects.upload_files import UPLOAD
from pages._ui.shared import drafts, errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.wiring import read_ahead

HEADINGS = {
    None: ("Projects", "Upload the outputs of your systems, import human scores, and open a project."),
    "outputs": ("Upload outputs", "Add the outputs of one or more systems, with their sources and references."),
    "labels": ("Import labels", "Add error spans and scores by annotators from files."),
}
# The heading for people who manage no project.
READING = "Projects", "Open a project, and see what waits for you."


def main() -> None:
    choice = state.projects()
    manages = wiring.identity().manages
    uploading = st.query_params.get(UPLOAD) if manages else None
    uploading = uploading if uploading in HEADINGS else None
    page.heading(*HEADINGS[uploading] if manages else READING)
    if (job := importing.running()) is not None:
        finish(job)
    if uploading:
        upload_steps(choice.all, choice.project, labels=uploading == "labels")
        return
    done = st.session_state.get(drafts.kept(DONE))
    imported = bool(done and choice.project and done.project.id == choice.project.id)
    campaign_data.draw_my_campaigns()
    if done and imported:
        importing.report(done._replace(project=choice.project))
    own = [p for p in choice.all if not p.sample]
    if not own and manages:
        welcome(choice.all)
    elif manages:
        with st.container(horizontal=True):
            begin("Upload outputs", "outputs", ":material/upload_file:", primary=choice.project is None)
            begin("Import labels", "labels", ":material/label:")
            if wiring.identity().manager and not any(p.sample for p in choice.all):
                open_sample(choice.all)
    if choice.all:
        project_list.draw_project_list(choice.all, choice.project, imported=imported)
    if choice.project is not None:
        read_ahead(choice.project)


WAYS = (
    ("Open the sample", "40 segments in two languages, four systems with errors put in on purpose, labels by two annotators."),
    ("Upload outputs", "Outputs of your systems with sources and references: a table (CSV, TSV, JSONL), or one text file per system."),
    ("Import labels", "Error spans and scores that annotators gave in other tools: MQM, ESA or Label Studio files, or a table."),
)  # fmt: skip


def welcome(projects: list[Project]) -> None:
    """Draw three ways to start."""
    ways: tuple[Callable[[], object], ...] = (
        lambda: open_sample(projects),
        lambda: begin("Upload outputs", "outputs", ":material/upload_file:", primary=True),
        lambda: begin("Import labels", "labels", ":material/label:"),
    )
    for number in page.cards(WAYS):
        ways[number]()


def begin(label: str, what: str, icon: str, primary: bool = False) -> None:
    """Draw a button that opens the upload."""

    @errors.guarded
    def go() -> None:
        state.change_address(upload=what, step=None)
        drafts.forget(DONE)

    st.button(label, icon=icon, type="primary" if primary else "secondary", on_click=go, key=f"begin-{what}")


def open_sample(projects: list[Project]) -> None:
    """Draw the button that opens the sample project on Compare; create it again if it was deleted."""
    if not st.button("Open the sample", icon=":material/play_arrow:", key="begin-sample"):
        return
    sample_project = next((p for p in projects if p.sample), None)
    if sample_project is None:
        with st.spinner("Creating the sample project …"):
            wiring.store().projects.create(sample.NAME, sample=True)
            sample_project = sample.ensure(wiring.store())
    if sample_project is not None:
        state.open_project(sample_project.id)
        st.switch_page("pages/compare.py", query_params={state.PROJECT: str(sample_project.id)})


def upload_steps(projects: list[Project], current: Project | None, *, labels: bool) -> None:
    """Draw the steps of an upload, one below the other."""
    to_list = {"upload": None, "step": None}
    st.button(
        "Back to projects", icon=":material/arrow_back:", on_click=state.change_address, kwargs=to_list, type="tertiary"
    )
    mine = [p for p in projects if wiring.may_change(p.id)]
    ready = upload.steps(mine, current if current in mine else None, labels=labels)
    if ready is not None:
        started = importing.button(ready, importing.offer(ready, projects, current))
        if started is not None:
            finish(started)


def finish(job: importing.ImportJob) -> None:
    """Follow an import to its end; then open its project, unless references were added."""
    done = importing.watch(job)
    if done is None:
        return
    st.session_state[DONE] = done
    name = escape_markdown(done.project.name)
    if not done.references_of:
        st.toast(f"Imported into “{name}”", icon=":material/check_circle:")
    elif done.report.references:
        st.toast(f"References added to “{name}”", icon=":material/check_circle:")
    if not done.references_of:  # they began on an open project, and something else may be open by now
        if st.query_params.get(UPLOAD) == job.what:
            state.change_address(upload=None, step=None)
        upload.forget(job.what)
        state.open_project(done.project.id)
    st.rerun()


main()
