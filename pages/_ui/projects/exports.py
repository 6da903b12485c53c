"""Export labels, scores and outputs as files; those of large projects are prepared in the background.

Streamlit would hold the file in memory, and Cancel could not interrupt a fragment that makes it. So a thread of
`core.services.export.files` makes the file, and the route sends it. A reload of the page finds the file again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock
from weakref import WeakSet

import streamlit as st

from core.ports.projects import Project
from core.ports.store import Store
from core.scoring.turns import judge_of
from core.services.export.files import (
    EXPORT_THREADS,
    JUDGEMENTS,
    LABELS,
    OUTPUTS,
    PREPARED,
    REPLIES,
    SCORES,
    ExportFile,
)
from core.settings import load_settings
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.background import BackgroundWork
from pages._ui.shared.files import download, file_name
from pages._ui.shared.markdown import escape_markdown

PACE = 0.5
"""Seconds between two updates of the progress bar."""


class Preparation(BackgroundWork[str]):
    """A file that waits for other exports, or is being made; the result is the token of the file."""

    def __init__(self, project: Project, name: str, kind: ExportFile, store: Store) -> None:
        super().__init__()
        self.of = (project, name)
        self.begun: datetime | None = None

        def make() -> str:
            self.begun = datetime.now(UTC)
            self.progress(0.0)
            made = kind.make(store, project.id, self.progress)
            self.progress(1.0)  # the last chance to cancel
            return PREPARED.keep(project.id, name, made)

        with _LOCK:
            _PREPARATIONS.add(self)
        EXPORT_THREADS.submit(self.run, make)


_PREPARATIONS: WeakSet[Preparation] = WeakSet()
_LOCK = Lock()


def cancel_all() -> None:
    """Cancel all preparations of this server, which would otherwise wait for them when it stops."""
    with _LOCK:
        running = list(_PREPARATIONS)
    for preparation in running:
        preparation.cancel()


def draw_export(project: Project, name: str, kind: ExportFile, store: Store) -> None:
    """Draw a button that prepares the file, its progress, and then what the file leaves out and the download."""
    key = drafts.kept(f"export-prepared-{project.id}")
    known = st.session_state.get(key)

    def begin() -> None:
        if isinstance(known, Preparation):
            known.cancel()
        st.session_state[key] = Preparation(project, name, kind, store)

    if not isinstance(known, Preparation) or known.of != (project, name):
        _button("Prepare the file", begin, key)
    elif not known.result.done():
        st.fragment(_watch, run_every=PACE)(known, key)
    elif known.error() is not None:
        known.draw_error(lambda: st.caption("Preparation cancelled."))
        _button("Prepare the file", begin, key)
    else:
        _offer(known)
        st.button(
            "Prepare the file again", on_click=begin, key=f"{key}-again", icon=":material/replay:", width="stretch"
        )


def _button(label: str, begin: Callable[[], None], key: str) -> None:
    st.button(
        label, on_click=begin, key=f"{key}-begin", icon=":material/hourglass_top:", width="stretch", type="primary"
    )


def _watch(job: Preparation, key: str) -> None:
    if job.result.done():
        st.rerun()
    share = job.share or 0.0
    words = "Waiting for other exports …" if job.share is None else f"Preparing the file … {share:.0%}"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(share, "Cancelling …" if job.cancelled else words)
        st.button("Cancel", on_click=job.cancel, disabled=job.cancelled, key=f"{key}-cancel")


def _offer(job: Preparation) -> None:
    project, name = job.of
    file = PREPARED.find(project.id, name, job.result.result())
    if file is None:
        st.caption("The server no longer keeps this file. Prepare it again.")
        return
    if job.begun is not None:
        st.caption(f"Reading began on {page.moment(job.begun)}. Later changes may be missing.")
    if file.made.lost:
        st.caption("  \n".join(map(escape_markdown, file.made.lost)))
    address = wiring.address(f"api/projects/{project.id}/exports/{name}?prepared={job.result.result()}")
    size = f"{file.size / 1e6:,.1f} MB" if file.size >= 1e5 else f"{file.size:,} bytes"
    st.link_button(f"Download ({size})", address, icon=":material/download:", width="stretch", type="primary")


def draw_exports(project: Project) -> None:
    """Draw the choice of a file, what it leaves out, and the download."""
    labelled, scored = bool(known_labels.raters(project)), wiring.store().scores.signatures(project.id)
    kinds = (
        (LABELS if labelled else {}) | (JUDGEMENTS if wiring.judgements(project) else {}) | (SCORES if scored else {})
    )
    if not labelled:
        st.caption("No labels to export yet.")
    if not scored:
        st.caption("No metric scores to export yet.")
    if any(judge_of(by.metric) for by in scored):
        kinds |= REPLIES
    if kinds := kinds | (OUTPUTS if project.n_outputs else {}):
        _choice(project, kinds)


@st.fragment
@errors.guarded
def _choice(project: Project, kinds: dict[str, ExportFile]) -> None:
    labels = {name: kind.label for name, kind in kinds.items()}
    chosen = drafts.select("Format", labels, next(iter(kinds)), f"export-format-{project.id}")
    kind, store = kinds[chosen], wiring.store()
    if project.n_outputs > wiring.LARGE:
        st.caption(escape_markdown(kind.holds))
        draw_export(project, chosen, kind, store)
        return
    ending, mime, lost = _about(load_settings().database, project, chosen, kind, store)
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
