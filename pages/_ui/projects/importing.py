"""The import of an upload: its target project, the button, and the import itself.

Imports and *Add references* run in a thread, so that leaving the page does not stop them, and pressing twice does not start them twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import add_script_run_ctx

from core.data import Judgement
from core.errors import UserError
from core.formats.files import stem
from core.formats.streams.staged import StagedImport
from core.formatting import format_count
from core.ports.projects import Project
from core.progress import Cancelled
from core.services.labels import judgements
from core.services.projects import adding, external_scores, label_import, references
from core.services.projects.adding import Imported, ImportTarget
from pages._ui.projects import upload
from pages._ui.projects.upload import ReadyUpload
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

_RUNNING = "errorscope_import"
DONE = "projects-imported"
"""Where the page Projects finds what was imported last."""
NEW = 0
TURN_SECONDS = 0.2


@dataclass
class ImportJob:
    """A running import: its progress and its result."""

    words: str
    done: int | None = None  # labels, once the texts are there
    total: int = 0
    share: float = 0.0  # of the outputs that are written
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
    names = {NEW: "New project"} | {p.id: f"Add to “{p.name}”" for p in projects}
    left, right = st.columns(2, vertical_alignment="bottom")
    guess = 0
    if current is not None and current.n_outputs:
        with st.spinner("Comparing with the open project …"):
            goes_on = adding.goes_on_with(wiring.store(), current.id, ready.dataset)
        guess = list(names).index(current.id) if goes_on else 0
    this = f"import-into-{guess}-" + "|".join(ready.files)
    chosen = left.selectbox("Import into", names, guess, format_func=names.__getitem__, key=this)
    if chosen == NEW:
        return _new(ready, {p.name for p in projects}, right)
    return _existing(ready, next(p for p in projects if p.id == chosen))


def _new(ready: ReadyUpload, taken: set[str], place: DeltaGenerator) -> ImportOffer:
    free = unused_name(stem(ready.files[0]), taken)
    name = place.text_input("Name of the new project", free, max_chars=120, key=f"import-name-{free}").strip()
    if not name:
        st.warning("Enter a name for the new project.", icon=":material/info:")
    if name in taken:
        text = "A project with this name exists already. Choose it under “Import into”, or enter another name."
        st.warning(text, icon=":material/info:")
    what = ready.summary if ready.mqm else ready.summary.partition(", ")[0]
    return ImportOffer(ImportTarget(name), f"Import {what} into “{name}”", bool(name) and name not in taken)


def _existing(ready: ReadyUpload, project: Project) -> ImportOffer:
    into, corrected = ImportTarget(project.name, project.id), tuple[str, ...]()
    given = ready.mqm.judgements if ready.mqm else ()
    with st.spinner(f"Comparing with “{escape_markdown(project.name)}” …"):
        external = ready.dataset.external() if isinstance(ready.dataset, StagedImport) else ready.external
        report, contradictions = adding.compare_with(wiring.store(), project.id, ready.dataset)
        scores = external_scores.compare(wiring.store(), project.id, external)
    if given:
        there = wiring.judgements(project)
        numbers = judgements.compare(there, given)
        if corrected := _corrected(project, judgements.replaced(there, given, numbers.clashes), numbers.clashes):
            numbers = judgements.compare(there, given, corrected)
        report = report._replace(judgements=numbers.new, unchanged=report.unchanged + numbers.unchanged)
        contradictions = (*contradictions, *numbers.problems)
    replaced = _replaced(project, scores.clashes)
    if replaced:
        scores = external_scores.compare(wiring.store(), project.id, external, replaced)
    report = report._replace(metric_scores=scores.new, unchanged=report.unchanged + scores.unchanged)
    contradictions = (*contradictions, *scores.problems)
    if contradictions:
        text = "**Cannot add to this project:** it has different content under the same names."
        st.error(text, icon=":material/info:")
        upload.problems(contradictions)
        return ImportOffer(into, f"Add to “{project.name}”", False)
    st.text(adding.sentence(report))
    new = [adding.news(report)] if adding.news(report) else []
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
    there = {m.name: m for m in wiring.store().scores.external(project.id)}
    said = ", ".join(f"{format_count(there[n].n, 'score')} of {n}" for n in clashes if n in there)
    return _if_agreed(clashes, f"Replace in “{project.name}”: {said}", f"import-replace-{project.id}")


def _if_agreed(clashes: tuple[str, ...], text: str, key: str, help_text: str | None = None) -> tuple[str, ...]:
    chosen = st.checkbox(escape_markdown(text), key=f"{key}-{'|'.join(clashes)}", help=help_text)
    return clashes if chosen else ()


def unused_name(wanted: str, taken: set[str]) -> str:
    """Return the first free name of `wanted`, `wanted 2`, `wanted 3`, …"""
    wanted = " ".join(wanted.split())[:100] or "Project"
    return next(n for n in (wanted, *(f"{wanted} {i}" for i in range(2, len(taken) + 3))) if n not in taken)


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

    def work(job: ImportJob) -> Imported | None:
        def on_total(total: int) -> None:
            job.total = total

        def progress(share: float) -> None:
            if job.cancelled:
                raise Cancelled
            job.done = round(share * job.total)

        if isinstance(ready.dataset, StagedImport):
            return adding.add_staged(store, into, ready.dataset, what.replace, job.written)
        if ready.mqm is None:
            return None
        return label_import.import_labels(store, into, ready.mqm, progress, what.replace, what.corrected, on_total)

    _begin(f"Importing {ready.summary} …", into.project_id, work)


def start_references(project: Project, system: str) -> None:
    """Begin to add the outputs of a system to the references of its project."""
    store = wiring.store()
    _begin(
        f"Adding the outputs of {system} as references …",
        project.id,
        lambda job: references.use(store, project.id, system, job.written),
    )


def _begin(words: str, project_id: int | None, work: Callable[[ImportJob], Imported | None]) -> None:
    """Start a thread for the import, unless one of this browser session is running."""
    if running() is not None:
        return
    store, job = wiring.store(), ImportJob(words)

    def run() -> None:
        try:
            job.imported = work(job)
            if job.imported is not None:
                job.words, job.share, job.done = "Counting outputs and scores …", 0.0, None
                with suppress(UserError):  # the page counts them again
                    store.projects.index(job.imported.project.id)
                    store.scores.signatures(job.imported.project.id)
        except Exception as error:  # shown by `watch`
            job.error = error
        finally:
            project = project_id if job.imported is None else job.imported.project.id
            if project is not None:
                wiring.changed(project)

    job.thread = Thread(target=run, name="errorscope-import", daemon=False)
    add_script_run_ctx(job.thread)
    st.session_state[_RUNNING] = job
    job.thread.start()


def running() -> ImportJob | None:
    """Return the import of this session that runs, or has ended and was not shown yet."""
    found = st.session_state.get(_RUNNING)
    return found if isinstance(found, ImportJob) else None


def watch(job: ImportJob) -> Imported | None:
    """Follow an import to its end; return what was imported, or show the error and return None."""
    place = st.empty()
    running_view = place.container()
    bar = running_view.progress(0.0, escape_markdown(job.words))
    aside = running_view.container(horizontal=True, vertical_alignment="center")
    aside.caption("The work continues if you leave the page.")
    aside.button("Cancel", icon=":material/close:", on_click=job.cancel, disabled=job.cancelled, key="import-cancel")
    while job.thread.is_alive():
        job.thread.join(TURN_SECONDS)
        share = f" {job.share:.0%}" if job.share else ""
        bar.progress(min(1.0, job.share), escape_markdown(job.words + share))
        if (done := job.done) is not None:
            text = f"{job.words} Labels: {done:,} of {job.total:,}"
            bar.progress(done / job.total, escape_markdown(text))
    place.empty()
    st.session_state.pop(_RUNNING, None)
    if job.error is None:
        return job.imported
    if isinstance(job.error, Cancelled):
        page.info("Cancelled. Nothing was changed.")
        return None
    if isinstance(job.error, UserError):
        errors.show(job.error)
    else:
        errors.apologise(errors.logged(job.error))
    return None


def report(done: Imported) -> None:
    """Draw what was imported and what was left out, or what adding references did."""
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
