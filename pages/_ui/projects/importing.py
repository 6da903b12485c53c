"""The import of an upload: the target and what is new there, the button, the progress, and what was imported.

Imports and *Add references* run in a thread, so that leaving the page does not stop them, and pressing twice does not start them twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from threading import Thread
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import add_script_run_ctx

from core.data import Judgement
from core.errors import UserError
from core.formats.files import stem
from core.formatting import format_count
from core.ports.projects import Project
from core.ports.store import Store
from core.services.labels import judgements
from core.services.projects import adding, label_import
from core.services.projects.adding import Imported, ImportTarget
from pages._ui.projects.upload import ReadyUpload
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.background import BackgroundWork
from pages._ui.shared.markdown import escape_markdown

_RUNNING = "errorscope_import"
DONE = "projects-imported"
"""Where the page Projects finds what was imported last, also after a reload."""
COUNT = "projects-imports"
"""Number of imports of this session."""
TURN_SECONDS = 0.2
TO_TOP = """let last
export default function ({ data }) {
  if (data.shown === last) return
  last = data.shown
  document.querySelector('[data-testid="stMain"]')?.scrollTo({ top: 0, behavior: "instant" })
}"""
"""Scrolls to the top of the page once per import: the browser keeps its place below, where the button for the import was."""


NEW = 0
"""The choice of a new project."""


class ImportOffer(NamedTuple):
    """The target of an import, the label of the button, whether the import is possible, and the names of the external
    metrics and of the scores by rater that it replaces."""

    target: ImportTarget
    label: str
    possible: bool
    replace: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()


def offer(ready: ReadyUpload, projects: Sequence[Project], current: Project | None) -> ImportOffer:
    """Draw the choice of the target project; say what is new there, or why the import is impossible."""
    if ready.project is not None:
        return _existing(ready, ready.project)
    projects = [p for p in projects if wiring.may_change(p.id)]
    names = {NEW: "New project"} if wiring.identity().manager else {}
    names |= {p.id: f"Add to “{p.name}”" for p in projects}
    left, right = st.columns(2, vertical_alignment="bottom")
    guess = 0
    if current is not None and current in projects and current.n_outputs:
        with st.spinner("Comparing with the open project …"):
            continues = wiring.store().projects.continues(current.id, ready.source)
        guess = list(names).index(current.id) if continues else 0
    key = f"import-into-{guess}-" + "|".join(ready.files)
    chosen = drafts.select("Import into", names, list(names)[guess], key, left)
    if chosen == NEW:
        return _new(ready, {p.name for p in projects}, right)
    return _existing(ready, next(p for p in projects if p.id == chosen))


def _new(ready: ReadyUpload, taken: set[str], place: DeltaGenerator) -> ImportOffer:
    free = unused_name(ready.title or stem(ready.files[0]), taken)
    key = drafts.kept(f"import-name-{free}", free)
    name = place.text_input("Name of the new project", free, max_chars=120, key=key).strip()
    if not name:
        st.warning("Enter a name for the new project.", icon=":material/info:")
    if name in taken:
        text = "A project with this name exists already. Choose it under “Import into”, or enter another name."
        st.warning(text, icon=":material/info:")
    what = ready.summary if ready.mqm else ready.summary.partition(", ")[0]
    return ImportOffer(ImportTarget(name), f"Import {what} into “{name}”", bool(name) and name not in taken)


def _existing(ready: ReadyUpload, project: Project) -> ImportOffer:
    into, corrected = ImportTarget(project.name, project.id), tuple[str, ...]()
    new_judgements = ready.mqm.judgements if ready.mqm else ()
    with st.spinner(f"Comparing with “{escape_markdown(project.name)}” …"):
        compared = wiring.store().projects.compare(project.id, ready.source)
    if replaced := _replaced(project, compared.clashes):
        compared = wiring.store().projects.compare(project.id, ready.source, replaced)
    report, contradictions = compared.report, compared.problems
    if new_judgements:
        old_judgements = wiring.judgements(project)
        numbers = judgements.compare(old_judgements, new_judgements)
        if corrected := _corrected(
            project, judgements.replaced(old_judgements, new_judgements, numbers.clashes), numbers.clashes
        ):
            numbers = judgements.compare(old_judgements, new_judgements, corrected)
        report = report._replace(judgements=numbers.new, unchanged=report.unchanged + numbers.unchanged)
        contradictions = (*contradictions, *numbers.problems)
    if contradictions:
        text = "**Cannot add to this project:** it has different content under the same names."
        text += " To import the files beside it, choose *New project*." * (
            ready.project is None and wiring.identity().manager
        )
        st.error(text, icon=":material/info:")
        tables.problem_table(contradictions)
        return ImportOffer(into, f"Add to “{project.name}”", False)
    st.text(adding.sentence(report))
    new = [adding.describe_new(report)] if adding.describe_new(report) else []
    if ready.mqm and ready.mqm.rated:
        st.text("Existing labels are not added again.")
        new.append(ready.mqm.labels())
    return ImportOffer(
        into, f"Add {' and '.join(new) or 'nothing'} to “{project.name}”", bool(new), replaced, corrected
    )


def _corrected(project: Project, old: Sequence[Judgement], clashes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of scores by rater to replace, once the user has agreed."""
    if not clashes:
        return ()
    text = f"Replace the existing scores of these annotators in “{project.name}”: {judgements.summary(old)}"
    help_text = "Replaces all scores of these annotators under these names, including those that are not in the files."
    return _if_agreed(clashes, text, f"import-correct-{project.id}", help_text)


def _replaced(project: Project, clashes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of external metrics to replace, once the user has agreed."""
    if not clashes:
        return ()
    metrics = {m.name: m for m in wiring.store().scores.external(project.id)}
    said = ", ".join(f"{format_count(metrics[n].n, 'score')} of {n}" for n in clashes if n in metrics)
    return _if_agreed(clashes, f"Replace in “{project.name}”: {said}", f"import-replace-{project.id}")


def _if_agreed(clashes: tuple[str, ...], text: str, key: str, help_text: str | None = None) -> tuple[str, ...]:
    chosen = st.checkbox(escape_markdown(text), key=drafts.kept(f"{key}-{'|'.join(clashes)}", False), help=help_text)
    return clashes if chosen else ()


def unused_name(name: str, taken: set[str]) -> str:
    """Return the first free name of `name`, `name 2`, `name 3`, …"""
    name = " ".join(name.split())[:100] or "Project"
    return next(n for n in (name, *(f"{name} {i}" for i in range(2, len(taken) + 3))) if n not in taken)


class ImportJob(BackgroundWork[Imported]):
    """A running import: what is done at present, the upload `what` that is imported, and what was `imported` while it is counted."""

    def __init__(self, words: str, what: str = "") -> None:
        super().__init__()
        self.words, self.what = words, what
        self.imported: Imported | None = None


def button(ready: ReadyUpload, what: ImportOffer) -> ImportJob | None:
    """Draw the button, labelled with what it will do; begin the import if it is pressed, and return it."""
    label, store, into = escape_markdown(what.label), wiring.store(), what.target
    if not st.button(label, type="primary", disabled=not what.possible, icon=":material/download_done:"):
        return None

    def work(job: ImportJob) -> Imported:
        if ready.mqm is None:
            return adding.add(store, into, ready.source, what.replace, job.progress)
        return label_import.import_labels(store, into, ready.mqm, job.progress, what.replace, what.corrected)

    _begin(f"Importing {ready.summary} …", into.project_id, work, ready.what)
    return running()


def start_references(project: Project, system: str) -> None:
    """Begin to add the outputs of a system to the references of its project."""
    store = wiring.store()
    _begin(
        f"Adding the outputs of {system} as references …",
        project.id,
        lambda job: adding.use_as_references(store, project.id, system, job.progress),
    )


def _begin(words: str, project_id: int | None, work: Callable[[ImportJob], Imported], what: str = "") -> None:
    """Start a thread for the import, unless one of this browser tab is running."""
    if running() is not None:
        return
    store, job = wiring.store(), ImportJob(words, what)

    def import_and_count() -> Imported:
        try:
            job.imported = work(job)
            job.words, job.share = "Counting outputs and scores …", 0.0
            _count(store, job.imported.project.id)
            return job.imported
        finally:
            project = project_id if job.imported is None else job.imported.project.id
            if project is not None:
                wiring.changed(project)

    thread = Thread(target=job.run, args=(import_and_count,), name="errorscope-import", daemon=False)
    add_script_run_ctx(thread)
    st.session_state[_RUNNING] = job
    drafts.kept(_RUNNING)
    thread.start()


def _count(store: Store, project_id: int) -> None:
    """Read what the page counts, while it shows progress."""
    try:
        store.projects.index(project_id)
        store.scores.signatures(project_id)
    except UserError:
        pass  # the import is complete, and the page counts again
    except Exception as error:
        errors.logged(error)


def running() -> ImportJob | None:
    """Return the import of this tab that runs, or has ended and was not shown yet. A reload does not end it."""
    job = st.session_state.get(drafts.kept(_RUNNING))
    return job if isinstance(job, ImportJob) else None


def watch(job: ImportJob) -> Imported | None:
    """Follow an import to its end; return what was imported, or show the error and return None."""
    place = st.empty()
    running_view = place.container()
    bar = running_view.progress(0.0, escape_markdown(job.words))
    aside = running_view.container(horizontal=True, vertical_alignment="center")
    aside.caption("The work continues if you leave the page.")
    button = aside.empty()
    if job.imported is None:
        button.button(
            "Cancel", icon=":material/close:", on_click=job.cancel, disabled=job.cancelled, key="import-cancel"
        )
    while not job.result.done():
        wait([job.result], TURN_SECONDS)
        if job.imported is not None:  # counting cannot be cancelled
            button.empty()
        share = f" {job.share:.0%}" if job.share else ""
        bar.progress(min(1.0, job.share or 0.0), escape_markdown(job.words + share))
    place.empty()
    drafts.forget(_RUNNING)
    if job.error() is None:
        st.session_state[COUNT] = st.session_state.get(COUNT, 0) + 1
        return job.imported
    job.draw_error(lambda: page.info("Cancelled. Nothing was changed."))
    return None


def report(done: Imported) -> None:
    """Draw what was imported and what was left out, or what adding references did. The page is shown from its top once."""
    page.small_component("errorscope_to_top", TO_TOP)(
        key="import-to-top", data={"shown": st.session_state.get(COUNT, 0)}
    )
    if done.references_of:
        st.success(escape_markdown(_references_added(done)), icon=":material/check_circle:")
        return
    lines = [
        f"**Imported into “{escape_markdown(done.project.name)}”.** {escape_markdown(adding.sentence(done.report))}"
    ]
    if done.labelled:
        lines.append(f"Labels of {format_count(done.labelled, 'output')} (counted per annotator) are new.")
    if done.typology:
        lines.append(f"Error typology for annotators: {done.typology}. You can change it on *Labels and raters*.")
    st.success("  \n".join(lines), icon=":material/check_circle:")
    if done.notes:
        with st.expander(f"{format_count(len(done.notes), 'label')} changed during import"):
            st.dataframe([{"what": note} for note in done.notes], hide_index=True, width="stretch")


def _references_added(done: Imported) -> str:
    if not done.report.references:
        return f"Nothing changed: the outputs of {done.references_of} are already references."
    return (
        f"The outputs of {done.references_of} are references now: {format_count(done.report.references, 'new reference')} for "
        f"{format_count(done.project.n_segments, 'segment')}. Compute the metrics that use references again."
    )
