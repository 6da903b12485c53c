"""The import of an upload: the button, the progress, and what was imported.

Imports and *Add references* run in a thread, so that leaving the page does not stop them, and pressing twice does not start them twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx

from core.errors import UserError
from core.formatting import format_count
from core.ports.projects import Project
from core.ports.store import Store
from core.progress import Cancelled
from core.services.projects import adding, label_import, references
from core.services.projects.adding import Imported
from pages._ui.projects.import_offer import ImportOffer
from pages._ui.projects.upload import ReadyUpload
from pages._ui.shared import drafts, errors, page, wiring
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


@dataclass
class ImportJob:
    """A running import: its progress and its result."""

    words: str
    what: str = ""  # the upload that is imported
    share: float = 0.0
    cancelled: bool = False
    imported: Imported | None = None
    error: Exception | None = None
    thread: Thread = field(default_factory=Thread)

    def cancel(self) -> None:
        self.cancelled = True

    def written(self, share: float) -> None:
        """Record the progress. Raises `Cancelled` after `cancel`."""
        if self.cancelled:
            raise Cancelled
        self.share = share


def button(ready: ReadyUpload, what: ImportOffer) -> ImportJob | None:
    """Draw the button, labelled with what it will do; return the import it started."""
    label = escape_markdown(what.label)
    if not st.button(label, type="primary", disabled=not what.possible, icon=":material/download_done:"):
        return None
    start(ready, what)
    return running()


def start(ready: ReadyUpload, what: ImportOffer) -> None:
    """Begin the import."""
    store, into = wiring.store(), what.target

    def work(job: ImportJob) -> Imported:
        if ready.mqm is None:
            return adding.add(store, into, ready.source, what.replace, job.written)
        return label_import.import_labels(store, into, ready.mqm, job.written, what.replace, what.corrected)

    _begin(f"Importing {ready.summary} …", into.project_id, work, ready.what)


def start_references(project: Project, system: str) -> None:
    """Begin to add the outputs of a system to the references of its project."""
    store = wiring.store()
    _begin(
        f"Adding the outputs of {system} as references …",
        project.id,
        lambda job: references.use(store, project.id, system, job.written),
    )


def _begin(words: str, project_id: int | None, work: Callable[[ImportJob], Imported], what: str = "") -> None:
    """Start a thread for the import, unless one of this browser tab is running."""
    if running() is not None:
        return
    store, job = wiring.store(), ImportJob(words)
    job.what = what

    def run() -> None:
        try:
            job.imported = work(job)
            job.words, job.share = "Counting outputs and scores …", 0.0
            _count(store, job.imported.project.id)
        except Exception as error:  # shown by `watch`
            job.error = error
        finally:
            project = project_id if job.imported is None else job.imported.project.id
            if project is not None:
                wiring.changed(project)

    job.thread = Thread(target=run, name="errorscope-import", daemon=False)
    add_script_run_ctx(job.thread)
    st.session_state[_RUNNING] = job
    drafts.kept(_RUNNING)
    job.thread.start()


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
    while job.thread.is_alive():
        job.thread.join(TURN_SECONDS)
        if job.imported is not None:  # counting cannot be cancelled
            button.empty()
        share = f" {job.share:.0%}" if job.share else ""
        bar.progress(min(1.0, job.share), escape_markdown(job.words + share))
    place.empty()
    drafts.forget(_RUNNING)
    if job.error is None:
        st.session_state[COUNT] = st.session_state.get(COUNT, 0) + 1
        return job.imported
    if isinstance(job.error, Cancelled):
        page.info("Cancelled. Nothing was changed.")
        return None
    if isinstance(job.error, UserError):
        errors.show(job.error)
    else:
        errors.apologise(errors.logged(job.error))
    return None


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component("errorscope_to_top", js=TO_TOP)


def report(done: Imported) -> None:
    """Draw what was imported and what was left out, or what adding references did. The page is shown from its top once."""
    _component()(key="import-to-top", data={"shown": st.session_state.get(COUNT, 0)})
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
