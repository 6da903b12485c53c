"""Prepare the files of large projects in a thread, with progress and Cancel, and download them from the route.

Streamlit holds a download in memory, and a rerun of a fragment does not interrupt another one. So the file is made beside the page, and
the route sends it.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx

from core.errors import UserError
from core.ports.projects import Project
from core.ports.store import Store
from core.progress import Cancelled
from core.services.export.files import ExportFile
from core.services.export.prepared import PREPARED
from pages._ui.shared import errors, wiring
from pages._ui.shared.markdown import escape_markdown

PACE = 0.5
"""Seconds between two updates of the progress bar."""


class Preparation:
    """A file that is being made, or its token, or why there is none. `share` is the part that is done, in [0, 1]."""

    def __init__(self, project: Project, name: str) -> None:
        self.of = (project, name)
        self.share, self.cancelled, self.token = 0.0, False, ""
        self.error: Exception | None = None
        self.thread = Thread(name="errorscope-export")

    def start(self, kind: ExportFile, store: Store) -> None:
        project, name = self.of

        def work() -> None:
            try:
                self.token = PREPARED.keep(project.id, name, kind.make(store, project.id, self.progress))
            except Exception as error:  # shown by the page
                self.error = error

        self.thread = Thread(target=work, name="errorscope-export", daemon=True)
        add_script_run_ctx(self.thread)
        self.thread.start()

    def progress(self, share: float) -> None:
        if self.cancelled:
            raise Cancelled
        self.share = share

    def cancel(self) -> None:
        self.cancelled = True


def draw(project: Project, name: str, kind: ExportFile, store: Store) -> None:
    """Draw a button that prepares the file, its progress, and then what the file leaves out and the download."""
    place = f"export-prepared-{project.id}"
    known = st.session_state.get(place)

    def begin() -> None:
        if isinstance(known, Preparation):
            known.cancel()
        st.session_state[place] = job = Preparation(project, name)
        job.start(kind, store)

    if not isinstance(known, Preparation) or known.of != (project, name):
        _button("Prepare the file", begin, place)
    elif known.thread.is_alive():
        st.fragment(_watch, run_every=PACE)(known, place)
    elif known.error is not None:
        _failed(known.error)
        _button("Prepare the file", begin, place)
    else:
        _offer(known)
        st.button("Prepare again", on_click=begin, key=f"{place}-again", icon=":material/replay:", width="stretch")


def _button(label: str, begin: Callable[[], None], place: str) -> None:
    st.button(
        label, on_click=begin, key=f"{place}-begin", icon=":material/hourglass_top:", width="stretch", type="primary"
    )


def _watch(job: Preparation, place: str) -> None:
    if not job.thread.is_alive():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, job.share), f"Preparing the file … {job.share:.0%}")
        st.button("Cancel", on_click=job.cancel, disabled=job.cancelled, key=f"{place}-cancel")


def _failed(error: Exception) -> None:
    if isinstance(error, Cancelled):
        st.caption("Cancelled.")
    elif isinstance(error, UserError):
        errors.show(error)
    else:
        errors.apologise(error)


def _offer(job: Preparation) -> None:
    project, name = job.of
    file = PREPARED.find(project.id, name, job.token)
    if file is None:
        st.caption("The server no longer has the file.")
        return
    if file.made.lost:
        st.caption("  \n".join(map(escape_markdown, file.made.lost)))
    address = wiring.address(f"api/projects/{project.id}/exports/{name}?prepared={job.token}")
    size = f"{file.size / 1e6:,.1f} MB" if file.size >= 1e5 else f"{file.size:,} bytes"
    st.link_button(f"Download ({size})", address, icon=":material/download:", width="stretch", type="primary")
