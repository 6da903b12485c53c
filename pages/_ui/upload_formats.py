"""Files of labels: the format each is in, told from its content and to be corrected; and whose outputs they speak of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.formats.files import Upload
from core.formats.label_formats import FORMATS
from core.ports import Project
from core.services import mqm_import
from pages._ui.errors import plain
from pages._ui.upload_lines import first_line

UNKNOWN = "google"
"""What a file is taken for when nothing tells; its reader then says what it misses."""


class Labels(NamedTuple):
    """The format of each file, and the project whose outputs they speak of where they hold no texts themselves."""

    formats: tuple[tuple[str, str], ...]
    project: Project | None = None
    waiting: bool = False


def choose(
    guessed: Sequence[tuple[str, str | None]], files: Sequence[Upload], projects: Sequence[Project],
    current: Project | None, key: str,
) -> Labels:  # fmt: skip
    """Draw a row for each file, and the choice of the project where one is needed; `waiting` while it lacks."""
    given = dict(guessed)
    formats: dict[str, str] = {}
    with st.container(border=True):
        for upload in {f.name: f for f in files}.values():
            guess = given.get(upload.name)
            name, sample, choice = st.columns([3, 5, 4], vertical_alignment="center", gap="small")
            name.text(upload.name)
            sample.caption(plain(first_line(upload)) or "(empty)")
            formats[upload.name] = choice.selectbox(
                f"Format of {plain(upload.name)}", list(FORMATS), list(FORMATS).index(guess or UNKNOWN),
                format_func=lambda f: FORMATS[f].label, key=f"{key}-{upload.name}-format", label_visibility="collapsed",
            )  # fmt: skip
        for chosen in dict.fromkeys(formats.values()):
            st.caption(f"**{plain(FORMATS[chosen].label)}.** {plain(FORMATS[chosen].reads)}")
        if unknown := [n for n, guess in guessed if guess is None and formats[n] == UNKNOWN]:
            st.caption(plain(f"Not recognised: {', '.join(unknown)}. Choose the format."))
    said = tuple(formats.items())
    if bare := mqm_import.without_texts(files, formats):
        return _whose(said, bare, [p for p in projects if p.n_outputs], current, key)
    return Labels(said)


def _whose(
    formats: tuple[tuple[str, str], ...], bare: Sequence[str], projects: Sequence[Project], current: Project | None,
    key: str,
) -> Labels:  # fmt: skip
    """The choice of the project whose outputs the files `bare` speak of."""
    one = len(bare) == 1
    said = f"{plain(', '.join(bare))} {'holds' if one else 'hold'} no texts"
    if not projects:
        what = f"**{said}.** Import the outputs {'it speaks' if one else 'they speak'} of first, then come back."
        st.warning(what, icon=":material/info:")
        return Labels(formats, None, True)
    ids = [p.id for p in projects]
    names = {p.id: p.name for p in projects}
    first = ids.index(current.id) if current is not None and current.id in ids else 0
    chosen = st.selectbox(
        f"{said}: {'it speaks' if one else 'they speak'} of the outputs of", ids, first, format_func=names.__getitem__,
        key=f"{key}-whose",
    )  # fmt: skip
    return Labels(formats, next(p for p in projects if p.id == chosen))
