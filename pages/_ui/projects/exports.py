"""Export labels, scores and outputs as files, made on request."""

from __future__ import annotations

import streamlit as st

from core.ports.projects import Project
from core.ports.store import Store
from core.services.export.files import JUDGEMENTS, LABELS, OUTPUTS, SCORES, ExportFile
from core.settings import load as settings
from pages._ui.projects import large_exports
from pages._ui.shared import drafts, errors, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.markdown import escape_markdown


def panel(project: Project, labelled: bool, scored: bool) -> None:
    """Draw the choice of a file, what it leaves out, and the download."""
    kinds = (
        (LABELS if labelled else {}) | (JUDGEMENTS if wiring.judgements(project) else {}) | (SCORES if scored else {})
    )
    if not labelled:
        st.caption("No labels to export yet.")
    if not scored:
        st.caption("No metric scores to export yet.")
    if kinds := kinds | (OUTPUTS if project.n_outputs else {}):
        _choice(project, kinds)


@st.fragment
@errors.guarded
def _choice(project: Project, kinds: dict[str, ExportFile]) -> None:
    first = next(iter(kinds))
    chosen = st.selectbox(
        "Format", kinds, format_func=lambda name: kinds[name].label,
        key=drafts.kept(f"export-format-{project.id}", first, kinds.__contains__),
    )  # fmt: skip
    kind, store = kinds[chosen], wiring.store()
    if project.n_outputs > wiring.LARGE:
        st.caption(escape_markdown(kind.holds))
        large_exports.draw(project, chosen, kind, store)
        return
    ending, mime, lost = _about(settings().database, project, chosen, kind, store)
    st.caption("  \n".join(map(escape_markdown, (kind.holds, *lost))))
    who = wiring.identity().who

    def made() -> bytes:
        store.audit.record(who, "exported", project.id, format=chosen)
        return kind.make(store, project.id).data

    download(
        "Download", made, f"{file_name(project.name)}.{ending}", f"export-{chosen}-{project.id}",
        mime=mime, width="stretch", type="primary",
    )  # fmt: skip


@st.cache_data(ttl=30, max_entries=32, show_spinner="Preparing the file …")
def _about(
    database: str, project: Project, chosen: str, _kind: ExportFile, _store: Store
) -> tuple[str, str, tuple[str, ...]]:
    """Return the ending and type of the file, and what it leaves out; up to 30 s old."""
    made = _kind.make(_store, project.id)
    return made.ending, made.mime, made.lost
