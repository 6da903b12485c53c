"""The first step of an upload: its files, which are kept on the server with all choices (`drafts`), and the step that is open.

The address names what is uploaded and the step, so that Back goes a step back and a reload shows the same step.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

import streamlit as st

from core.errors import PROGRAM
from core.formats.files import Upload, stem
from core.services.people.drafts import HOURS
from pages._ui.shared import drafts, errors, page, state

UPLOAD, STEP = "upload", "step"
"""Query parameters: what is uploaded, and the open step. The first step, the choice of files, has no name."""
PREVIEW = "preview"
FILES, FOLDER = "Files", "Folder"
UNTIL = "imported or discarded"


class UploadStep(NamedTuple):
    """The files, if the preview is open, and the beginning of the keys of all choices."""

    files: list[Upload]
    key: str


def key_of(what: str) -> str:
    """Return the beginning of the keys of an upload: of `outputs`, `labels` or a `campaign`."""
    return f"upload-{what}-{st.session_state.get(drafts.kept(_round(what)), 0)}"


def forget(what: str) -> None:
    """Delete the files of an upload and what was chosen for it."""
    key, before = key_of(what), st.session_state.get(_round(what), 0)
    drafts.forget_all(f"{key}-", "import-")
    st.session_state[drafts.kept(_round(what))] = before + 1  # new elements, which begin without files
    state.change_address(**{STEP: None})


def _round(what: str) -> str:
    return f"uploads-{what}"


def choose(what: str, label: str, guide: str, discard: Callable[[], None], *, folder: bool = True) -> UploadStep:
    """Draw the step. Without files, `guide` says which ones are read."""
    key = key_of(what)
    st.subheader("1 · Files", anchor=False)
    kind = FILES
    if folder:
        kind = st.segmented_control(
            "Upload", (FILES, FOLDER), default=FILES, required=True, key=drafts.kept(f"{key}-kind", FILES),
            label_visibility="collapsed",
        )  # fmt: skip
    own = f"{key}-{kind.lower()}"

    def changed() -> None:
        state.change_address(**{STEP: PREVIEW if st.session_state.get(own) else None})

    def too_large(names: Sequence[str], size: int) -> None:
        _too_large(names, size)
        st.button("Choose other files", icon=":material/upload_file:", on_click=discard, key="upload-others")

    files = drafts.uploads(
        label, None, own, several="directory" if kind == FOLDER else True, until=UNTIL, changed=changed, too_large=too_large,
        remove=discard, label_visibility="collapsed",
    )  # fmt: skip
    opened = st.query_params.get(STEP) == PREVIEW
    if not files:
        if opened:
            page.info(
                "The files of this address are not here any more, or were uploaded by somebody else. They are deleted after the import, with "
                f"*Discard*, or {HOURS} hours after your last visit. Choose them again."
            )
        st.caption(guide)
        return UploadStep([], key)
    if not opened:
        st.button(
            "Next", icon=":material/arrow_forward:", type="primary", on_click=errors.guarded(changed), key="upload-next"
        )
    return UploadStep(files if opened else [], key)


def _too_large(names: Sequence[str], size: int) -> None:
    """Say which command imports files that are too large for the memory of the server."""
    st.warning(
        f"**{drafts.megabytes(size)} are too much for an upload** (at most {drafts.megabytes(drafts.LARGEST)} at once). Import the files "
        "with the command on the server, which reads files of any size:",
        icon=":material/info:",
    )
    arguments = " ".join(map(shlex.quote, names))
    st.code(f"{PROGRAM} projects import {arguments} --name {shlex.quote(stem(names[0]))}", language="shell")
