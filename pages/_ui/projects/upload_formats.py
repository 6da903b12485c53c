"""Label files: the format of each, guessed from its content, and the project whose outputs they label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.formats.external import lower_is_better
from core.formats.files import Upload
from core.formats.labels.label_formats import FORMATS
from core.formats.labels.mtme_rating import name_in
from core.ports.projects import Project
from core.services.projects import label_import
from pages._ui.projects.external_scores import ask
from pages._ui.projects.upload_lines import first_line
from pages._ui.shared import drafts, page
from pages._ui.shared.markdown import escape_markdown

UNKNOWN = "google"
"""Format assumed for unrecognized files; its reader then reports what is missing."""


class LabelFormats(NamedTuple):
    """The format of each file; the project whose outputs they belong to if they hold no texts; for files of metric scores,
    the name of the metric and whether higher is better."""

    formats: tuple[tuple[str, str], ...]
    project: Project | None = None
    waiting: bool = False
    metrics: tuple[tuple[str, tuple[str, bool]], ...] = ()


def choose(
    guessed: Sequence[tuple[str, str | None]], files: Sequence[Upload], projects: Sequence[Project],
    current: Project | None, key: str,
) -> LabelFormats:  # fmt: skip
    """Draw one row per file, and the choice of the project if one is needed; `waiting` while it is missing."""
    given = dict(guessed)
    formats: dict[str, str] = {}
    metrics: dict[str, tuple[str, bool]] = {}
    with st.container(border=True):
        for upload in {f.name: f for f in files}.values():
            guess = given.get(upload.name)
            name, sample, choice = st.columns([3, 5, 4], vertical_alignment="center", gap="small")
            name.text(upload.name)
            sample.caption(escape_markdown(first_line(upload)) or "(empty)")
            formats[upload.name] = choice.selectbox(
                f"Format of {escape_markdown(upload.name)}", FORMATS, list(FORMATS).index(guess or UNKNOWN),
                format_func=lambda f: FORMATS[f].label, label_visibility="collapsed",
                key=drafts.kept(f"{key}-{upload.name}-format", guess or UNKNOWN, FORMATS.__contains__),
            )  # fmt: skip
            if formats[upload.name] == "mtme-metric":
                called = name_in(upload.name)
                higher = not lower_is_better(called.rpartition("-")[0] or called)
                places = st.columns([3, 5, 4])[1:]
                metrics[upload.name] = ask(called, higher, upload.name, f"{key}-{upload.name}", places)
        for chosen in dict.fromkeys(formats.values()):
            st.caption(f"**{escape_markdown(FORMATS[chosen].label)}.** {escape_markdown(FORMATS[chosen].reads)}")
        if unknown := [n for n, guess in guessed if guess is None and formats[n] == UNKNOWN]:
            page.caption(f"Not recognized: {', '.join(unknown)}. Choose the format.")
    said = tuple(formats.items())
    if bare := label_import.without_texts(files, formats):
        project = whose(bare, projects, current, key)
        return LabelFormats(said, project, project is None, tuple(metrics.items()))
    return LabelFormats(said)


def whose(
    bare: Sequence[str], every: Sequence[Project], current: Project | None, key: str, what: str = "scores or labels"
) -> Project | None:
    """Draw the choice of the project that the files `bare` belong to, which have `what`; None, with the reason, if there is none."""
    projects = [p for p in every if p.n_outputs]
    one = len(bare) == 1
    said = f"{escape_markdown(', '.join(bare))} {'has' if one else 'have'} {what} but no outputs"
    if not projects:
        text = f"**{said}.** Import the outputs first, then {'this file' if one else 'these files'}."
        st.warning(text, icon=":material/info:")
        return None
    ids = [p.id for p in projects]
    names = {p.id: p.name for p in projects}
    first = ids.index(current.id) if current is not None and current.id in ids else 0
    chosen = st.selectbox(
        f"{said}. Attach {'it' if one else 'them'} to", ids, first, format_func=names.__getitem__,
        key=drafts.kept(f"{key}-whose", ids[first], ids.__contains__),
    )  # fmt: skip
    return next(p for p in projects if p.id == chosen)
