"""Where an upload goes, the one button that says what it will do, and the import itself: it runs beside the page, so that
leaving the page, or pressing twice, neither stops nor doubles it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import add_script_run_ctx

from core.data import Judgement
from core.errors import UserError
from core.formats.files import stem
from core.formats.problems import counted
from core.ports import Project, Store
from core.services import adding, external, judgements, mqm_import
from core.services.adding import Imported, Target
from pages._ui import errors, upload, wiring
from pages._ui.upload import Ready

_RUNNING = "errorscope_import"
NEW = 0
TURN_SECONDS = 0.2


@dataclass
class Running:
    """An import at work: how far it is, and how it ended."""

    words: str
    done: int = 0
    total: int = 0
    imported: Imported | None = None
    error: Exception | None = None
    thread: Thread = field(default_factory=Thread)


class Offer(NamedTuple):
    """Where it goes, what the button says, whether it can go there, which metrics from elsewhere it replaces, and under which
    names the numbers of its raters."""

    target: Target
    label: str
    possible: bool
    replace: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()


def offer(ready: Ready, projects: Sequence[Project], current: Project | None) -> Offer:
    """Ask where it goes; say what is new there, or why it cannot go there."""
    if ready.project is not None:
        return _existing(ready, ready.project)
    names = {NEW: "a new project"} | {p.id: f"adding to “{p.name}”" for p in projects}
    left, right = st.columns(2, vertical_alignment="bottom")
    guess = 0
    if current is not None and current.n_outputs:
        with st.spinner("Comparing with the open project …"):
            goes_on = adding.goes_on(wiring.dataset(current), ready.dataset)
        guess = list(names).index(current.id) if goes_on else 0
    this = f"import-into-{guess}-" + "|".join(ready.files)
    chosen = left.selectbox("Into", list(names), guess, format_func=names.__getitem__, key=this)
    if chosen == NEW:
        return _new(ready, {p.name for p in projects}, right)
    return _existing(ready, next(p for p in projects if p.id == chosen))


def _new(ready: Ready, taken: set[str], place: DeltaGenerator) -> Offer:
    free = unused_name(stem(ready.files[0]), taken)
    name = place.text_input("Name of the new project", free, max_chars=120, key=f"import-name-{free}").strip()
    if not name:
        st.warning("The new project needs a name.", icon=":material/info:")
    if name in taken:
        text = "There is a project of that name already: choose it at “Into”, or type another name."
        st.warning(text, icon=":material/info:")
    what = ready.summary if ready.mqm else ready.summary.partition(", ")[0]
    return Offer(Target(name), f"Import {what} into “{name}”", bool(name) and name not in taken)


def _existing(ready: Ready, project: Project) -> Offer:
    into, corrected = Target(project.name, project.id), tuple[str, ...]()
    given = ready.mqm.judgements if ready.mqm else ()
    with st.spinner(f"Comparing with “{errors.plain(project.name)}” …"):
        report, contradictions = adding.compare(wiring.dataset(project), ready.dataset)
        scores = external.compare(wiring.store(), project.id, ready.external)
    if given:
        there = wiring.judgements(project)
        numbers = judgements.compare(there, given)
        if corrected := _corrected(project, judgements.replaced(there, given, numbers.clashes), numbers.clashes):
            numbers = judgements.compare(there, given, corrected)
        report = report._replace(judgements=numbers.new, unchanged=report.unchanged + numbers.unchanged)
        contradictions = (*contradictions, *numbers.problems)
    replaced = _replaced(project, scores.clashes)
    if replaced:
        scores = external.compare(wiring.store(), project.id, ready.external, replaced)
    report = report._replace(metric_scores=scores.new, unchanged=report.unchanged + scores.unchanged)
    contradictions = (*contradictions, *scores.problems)
    if contradictions:
        text = "**It cannot be added there:** the project holds something else under the same names."
        st.error(text, icon=":material/info:")
        upload.problems(contradictions)
        return Offer(into, f"Add to “{project.name}”", False)
    st.text(adding.sentence(report))
    new = [adding.news(report)] if adding.news(report) else []
    if ready.mqm and ready.mqm.rated:
        st.text("Labels that are there already are not added twice.")
        new.append(ready.mqm.labels())
    return Offer(into, f"Add {' and '.join(new) or 'nothing'} to “{project.name}”", bool(new), replaced, corrected)


def _corrected(project: Project, old: Sequence[Judgement], clashes: tuple[str, ...]) -> tuple[str, ...]:
    """The names under which raters gave other numbers before, once a person has said that these are to be replaced."""
    if not clashes:
        return ()
    text = f"Replace what “{project.name}” has of the same raters: {judgements.summary(old)}"
    help = "All that these raters gave before under these names, also what is not in the files."
    chosen = st.checkbox(errors.plain(text), key=f"import-correct-{project.id}-" + "|".join(clashes), help=help)
    return clashes if chosen else ()


def _replaced(project: Project, clashes: tuple[str, ...]) -> tuple[str, ...]:
    """The metrics from elsewhere that stand in the way, once a person has said that they are to be replaced."""
    if not clashes:
        return ()
    there = {m.name: m for m in wiring.store().scores.external(project.id)}
    said = ", ".join(f"{counted(there[n].n, 'score')} of {n}" for n in clashes if n in there)
    text = f"Replace what “{project.name}” has: {said}"
    chosen = st.checkbox(errors.plain(text), key=f"import-replace-{project.id}-" + "|".join(clashes))
    return clashes if chosen else ()


def unused_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or `wanted 2`, `wanted 3`, …, whichever is free first."""
    wanted = " ".join(wanted.split())[:100] or "Project"
    return next(n for n in (wanted, *(f"{wanted} {i}" for i in range(2, len(taken) + 3))) if n not in taken)


def button(store: Store, ready: Ready, what: Offer) -> Running | None:
    """The one button, which says what it will do. Returns the import that it started."""
    label = errors.plain(what.label)
    if not st.button(label, type="primary", disabled=not what.possible, icon=":material/download_done:"):
        return None
    start(store, ready, what)
    return running()


def start(store: Store, ready: Ready, what: Offer) -> None:
    """Begin, unless an import of this browser session is at work already."""
    if running() is not None:
        return
    into = what.target
    job = Running(f"Importing {ready.summary} …")

    def tell(done: int, total: int) -> None:
        job.done, job.total = done, total

    def work() -> None:
        try:
            if ready.mqm is not None:
                job.imported = mqm_import.import_labels(store, into, ready.mqm, tell, what.replace, what.corrected)
            else:
                job.imported = adding.add(store, into, ready.dataset, ready.external, what.replace)
        except Exception as error:  # shown by `watch`
            job.error = error
        finally:
            project = into.project_id if job.imported is None else job.imported.project.id
            if project is not None:
                wiring.changed(project)

    job.thread = Thread(target=work, name="errorscope-import", daemon=False)
    add_script_run_ctx(job.thread)
    st.session_state[_RUNNING] = job
    job.thread.start()


def running() -> Running | None:
    """The import of this session that is at work, or has ended and was not looked at yet."""
    found = st.session_state.get(_RUNNING)
    return found if isinstance(found, Running) else None


def watch(job: Running) -> Imported | None:
    """Follow an import to its end. Returns what was imported; shows what went wrong and returns None."""
    bar = st.progress(0.0, errors.plain(job.words))
    aside = st.caption("It goes on when you leave the page.")
    while job.thread.is_alive():
        job.thread.join(TURN_SECONDS)
        if job.total:
            text = f"{job.words} Labels: {job.done:,} of {job.total:,}"
            bar.progress(job.done / job.total, errors.plain(text))
    bar.empty()
    aside.empty()
    st.session_state.pop(_RUNNING, None)
    if job.error is None:
        return job.imported
    if isinstance(job.error, UserError):
        errors.show(job.error)
    else:
        errors.apologise(job.error)
    return None


def report(done: Imported) -> None:
    """What was imported, and what of it was left out."""
    lines = [f"**Imported into “{errors.plain(done.project.name)}”.** {errors.plain(adding.sentence(done.report))}"]
    if done.labelled:
        lines.append(f"Labels of {counted(done.labelled, 'output')} (rater by rater) are new.")
    st.success("  \n".join(lines), icon=":material/check_circle:")
    if done.notes:
        with st.expander(f"{counted(len(done.notes), 'label')} not taken over as in the file"):
            st.dataframe([{"what": note} for note in done.notes], hide_index=True, width="stretch")
