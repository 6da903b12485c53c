"""Prepare the files of large projects in the background, with progress and Cancel, and download them from the route.

Streamlit holds a download in memory, and a rerun of a fragment does not interrupt another one. So the file is made in the threads of
`core.services.export.prepared`, and the route sends it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import streamlit as st

from core.errors import UserError
from core.ports.projects import Project
from core.ports.store import Store
from core.progress import Cancelled
from core.services.export.files import ExportFile
from core.services.export.prepared import EXPORT_THREADS, PREPARED
from pages._ui.shared import errors, wiring
from pages._ui.shared.markdown import escape_markdown

PACE = 0.5
"""Seconds between two updates of the progress bar."""


class Preparation:
    """A file that waits or is being made. `share` is the part that is done, in [0, 1], or None while the file waits for other exports.

    `token` is the future token of the finished file.
    """

    def __init__(self, project: Project, name: str, kind: ExportFile, store: Store) -> None:
        self.of = (project, name)
        self.share: float | None = None
        self.cancelled = False
        self.token: Future[str] = EXPORT_THREADS.submit(self._make, kind, store)

    def _make(self, kind: ExportFile, store: Store) -> str:
        project, name = self.of
        self.progress(0.0)
        return PREPARED.keep(project.id, name, kind.make(store, project.id, self.progress))

    def progress(self, share: float) -> None:
        if self.cancelled:
            raise Cancelled
        self.share = share

    def cancel(self) -> None:
        self.cancelled = True
        self.token.cancel()  # a file that still waits is not made

    def error(self) -> BaseException | None:
        """Return why there is no file, or None if there is one. Waits until it is known."""
        return Cancelled() if self.token.cancelled() else self.token.exception()


def draw(project: Project, name: str, kind: ExportFile, store: Store) -> None:
    """Draw a button that prepares the file, its progress, and then what the file leaves out and the download."""
    place = f"export-prepared-{project.id}"
    known = st.session_state.get(place)

    def begin() -> None:
        if isinstance(known, Preparation):
            known.cancel()
        st.session_state[place] = Preparation(project, name, kind, store)

    if not isinstance(known, Preparation) or known.of != (project, name):
        _button("Prepare the file", begin, place)
    elif not known.token.done():
        st.fragment(_watch, run_every=PACE)(known, place)
    elif error := known.error():
        _failed(error)
        _button("Prepare the file", begin, place)
    else:
        _offer(known)
        st.button("Prepare again", on_click=begin, key=f"{place}-again", icon=":material/replay:", width="stretch")


def _button(label: str, begin: Callable[[], None], place: str) -> None:
    st.button(
        label, on_click=begin, key=f"{place}-begin", icon=":material/hourglass_top:", width="stretch", type="primary"
    )


def _watch(job: Preparation, place: str) -> None:
    if job.token.done():
        st.rerun()
    share = job.share
    with st.container(horizontal=True, vertical_alignment="center"):
        if share is None:
            st.progress(0.0, "Waiting for other exports …")
        else:
            st.progress(min(1.0, share), f"Preparing the file … {share:.0%}")
        st.button("Cancel", on_click=job.cancel, disabled=job.cancelled, key=f"{place}-cancel")


def _failed(error: BaseException) -> None:
    if isinstance(error, Cancelled):
        st.caption("Cancelled.")
    elif isinstance(error, UserError):
        errors.show(error)
    elif isinstance(error, Exception):
        errors.apologise(error)
    else:
        raise error


def _offer(job: Preparation) -> None:
    project, name = job.of
    file = PREPARED.find(project.id, name, job.token.result())
    if file is None:
        st.caption("The server no longer has the file.")
        return
    if file.made.lost:
        st.caption("  \n".join(map(escape_markdown, file.made.lost)))
    address = wiring.address(f"api/projects/{project.id}/exports/{name}?prepared={job.token.result()}")
    size = f"{file.size / 1e6:,.1f} MB" if file.size >= 1e5 else f"{file.size:,} bytes"
    st.link_button(f"Download ({size})", address, icon=":material/download:", width="stretch", type="primary")
