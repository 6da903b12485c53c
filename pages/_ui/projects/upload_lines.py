"""Line-aligned text files: the source, the references, the documents, and the outputs of each system."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.errors import Problem
from core.formats.files import Upload, beginning, stem
from core.formats.given_roles import short_names
from core.formats.lines import LineRoles
from core.formats.parsing.text_check import binary_kind
from pages._ui.shared import drafts
from pages._ui.shared.markdown import escape_markdown

ROLES = {
    "system": "Outputs of", "source": "Source", "reference": "Reference", "document": "Documents", "unused": "Not used",
}  # fmt: skip
LOOK = 4096
LONGEST = 80


def roles(guessed: LineRoles, files: Sequence[Upload], key: str) -> tuple[LineRoles, tuple[Problem, ...]]:
    """Draw one row per file; return the chosen roles, and a problem if there are two files with the source or with the documents."""
    names, shown = dict(guessed.systems), short_names([f.name for f in files])
    chosen: dict[str, str] = {}
    systems: list[tuple[str, str]] = []
    with st.container(border=True):
        for upload in {f.name: f for f in files}.values():
            guess = "reference" if upload.name in guessed.references else "system"
            guess = "source" if upload.name == guessed.source else guess
            guess = "document" if upload.name == guessed.document else guess
            guess = "unused" if upload.name in guessed.unused else guess
            name, sample, role, system = st.columns([3, 4, 2, 3], vertical_alignment="center", gap="small")
            name.text(shown[upload.name])
            sample.caption(escape_markdown(first_line(upload)) or "(empty)")
            this = f"{key}-{upload.name}"
            chosen[upload.name] = role.selectbox(
                f"Role of {escape_markdown(upload.name)}", ROLES, list(ROLES).index(guess),
                format_func=ROLES.__getitem__, key=drafts.kept(f"{this}-role", guess), label_visibility="collapsed",
            )  # fmt: skip
            if chosen[upload.name] == "system":
                usual = names.get(upload.name, stem(upload.name))
                given = system.text_input(
                    f"System that wrote {escape_markdown(upload.name)}", usual, key=drafts.kept(f"{this}-system", usual),
                    label_visibility="collapsed", placeholder="System name",
                )  # fmt: skip
                systems.append((upload.name, given.strip()))
    by_role = {role: [name for name, given in chosen.items() if given == role] for role in ROLES}
    wrong = [
        Problem(", ".join(named), 0, "", f"{len(named)} {role} files", "one", "Choose one of them above")
        for role in ("source", "document")
        if len(named := by_role[role]) > 1
    ]
    source, document = (next(iter(by_role[role]), None) for role in ("source", "document"))
    return LineRoles(source, tuple(by_role["reference"]), tuple(systems), document=document), tuple(wrong)


def first_line(upload: Upload) -> str:
    """Return the first line that is not empty, shortened. Only the beginning of the file is read."""
    head = beginning(upload, LOOK)
    if kind := binary_kind(head):
        return f"({kind})"
    lines = (line.strip() for line in head.decode("utf-8-sig", "replace").split("\n"))
    text = next((line for line in lines if line), "")
    return text[:LONGEST] + ("…" if len(text) > LONGEST else "")
