"""Where an upload is imported to, and what is new there: the choice of the target project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.data import Judgement
from core.formats.files import stem
from core.formatting import format_count
from core.ports.projects import Project
from core.services.labels import judgements
from core.services.projects import adding
from core.services.projects.adding import ImportTarget
from pages._ui.projects.upload import ReadyUpload
from pages._ui.shared import drafts, tables, wiring
from pages._ui.shared.markdown import escape_markdown

NEW = 0


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
            continues = wiring.store().imports.continues(current.id, ready.source)
        guess = list(names).index(current.id) if continues else 0
    this = drafts.kept(f"import-into-{guess}-" + "|".join(ready.files), list(names)[guess], names.__contains__)
    chosen = left.selectbox("Import into", names, guess, format_func=names.__getitem__, key=this)
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
        compared = wiring.store().imports.compare(project.id, ready.source)
    if replaced := _replaced(project, compared.clashes):
        compared = wiring.store().imports.compare(project.id, ready.source, replaced)
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
