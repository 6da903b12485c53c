"""Files of labels: the format each is in, told from its content and to be corrected; and whose outputs they speak of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.formats.external import lower_is_better
from core.formats.files import Upload
from core.formats.label_formats import FORMATS
from core.formats.mtme_rating import name_in
from core.ports import Project
from core.services import mqm_import
from pages._ui.errors import plain
from pages._ui.external import ask
from pages._ui.upload_lines import first_line

UNKNOWN = "google"
"""What a file is taken for when nothing tells; its reader then says what it misses."""


class Labels(NamedTuple):
    """The format of each file, and the project whose outputs they speak of where they hold no texts themselves; of files of
    metric scores, what the metric is called and whether higher is better."""

    formats: tuple[tuple[str, str], ...]
    project: Project | None = None
    waiting: bool = False
    metrics: tuple[tuple[str, tuple[str, bool]], ...] = ()


def choose(
    guessed: Sequence[tuple[str, str | None]], files: Sequence[Upload], projects: Sequence[Project],
    current: Project | None, key: str,
) -> Labels:  # fmt: skip
    """Draw a row for each file, and the choice of the project where one is needed; `waiting` while it lacks."""
    given = dict(guessed)
    formats: dict[str, str] = {}
    metrics: dict[str, tuple[str, bool]] = {}
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
            if formats[upload.name] == "mtme-metric":
                called = name_in(upload.name)
                higher = not lower_is_better(called.rpartition("-")[0] or called)
                places = st.columns([3, 5, 4])[1:]
                metrics[upload.name] = ask(called, higher, upload.name, f"{key}-{upload.name}", places)
        for chosen in dict.fromkeys(formats.values()):
            st.caption(f"**{plain(FORMATS[chosen].label)}.** {plain(FORMATS[chosen].reads)}")
        if unknown := [n for n, guess in guessed if guess is None and formats[n] == UNKNOWN]:
            st.caption(plain(f"Not recognised: {', '.join(unknown)}. Choose the format."))
    said = tuple(formats.items())
    if bare := mqm_import.without_texts(files, formats):
        project = whose(bare, projects, current, key)
        return Labels(said, project, project is None, tuple(metrics.items()))
    return Labels(said)


def whose(bare: Sequence[str], every: Sequence[Project], current: Project | None, key: str) -> Project | None:
    """The choice of the project whose outputs the files `bare` speak of; None, and why, where there is none."""
    projects = [p for p in every if p.n_outputs]
    one = len(bare) == 1
    said = f"{plain(', '.join(bare))} {'holds' if one else 'hold'} no texts"
    if not projects:
        what = f"**{said}.** Import the outputs {'it speaks' if one else 'they speak'} of first, then come back."
        st.warning(what, icon=":material/info:")
        return None
    ids = [p.id for p in projects]
    names = {p.id: p.name for p in projects}
    first = ids.index(current.id) if current is not None and current.id in ids else 0
    chosen = st.selectbox(
        f"{said}: {'it speaks' if one else 'they speak'} of the outputs of", ids, first, format_func=names.__getitem__,
        key=f"{key}-whose",
    )  # fmt: skip
    return next(p for p in projects if p.id == chosen)
