"""Line-aligned text files and mt-metrics-eval folders: the role of each file, and references among the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.data import Dataset, grouped
from core.errors import PROGRAM, Problem
from core.formats.files import Upload, beginning, stem
from core.formats.given_roles import file_roles_of, files_of, line_roles, short_names
from core.formats.mapping import LineRoles
from core.formats.role_names import is_human_name
from core.formats.streams.opened import binary_kind
from core.formats.streams.staged import StagedImport, counts_of
from core.services.projects import adding
from core.services.projects.importing import ImportPlan, plan_pair
from pages._ui.shared import drafts, page
from pages._ui.shared.markdown import escape_markdown

ROLES = {
    "system": "Outputs of", "source": "Source", "reference": "Reference", "document": "Documents", "unused": "Not used",
}  # fmt: skip
LOOK = 4096
LONGEST = 80


def choose_line_roles(guessed: LineRoles, files: Sequence[Upload], key: str) -> tuple[LineRoles, tuple[Problem, ...]]:
    """Draw one row per file; return the chosen roles, and a problem if there are two files with the source or with the documents."""
    roles, names, shown = dict(file_roles_of(guessed)), dict(guessed.systems), short_names([f.name for f in files])
    chosen: dict[str, str] = {}
    with st.container(border=True):
        for upload in {f.name: f for f in files}.values():
            guess = roles.get(upload.name, "system")
            name, sample, role, system = st.columns([3, 4, 2, 3], vertical_alignment="center", gap="small")
            name.text(shown[upload.name])
            sample.caption(escape_markdown(first_line(upload)) or "(empty)")
            this, label = f"{key}-{upload.name}", f"Role of {escape_markdown(upload.name)}"
            chosen[upload.name] = drafts.select(label, ROLES, guess, f"{this}-role", role, label_visibility="collapsed")
            if chosen[upload.name] == "system":
                usual = names.get(upload.name, stem(upload.name))
                typed = system.text_input(
                    f"System that wrote {escape_markdown(upload.name)}", usual, key=drafts.kept(f"{this}-system", usual),
                    label_visibility="collapsed", placeholder="System name",
                )  # fmt: skip
                names[upload.name] = typed.strip()
    by_role = grouped((role, name) for name, role in chosen.items())
    wrong = [
        Problem(", ".join(named), 0, "", f"{len(named)} {role} files", "one", "Choose one of them above")
        for role in ("source", "document")
        if len(named := by_role.get(role, [])) > 1
    ]
    return line_roles(chosen, names), tuple(wrong)


def first_line(upload: Upload) -> str:
    """Return the first line that is not empty, shortened. Only the beginning of the file is read."""
    head = beginning(upload, LOOK)
    if kind := binary_kind(head):
        return f"({kind})"
    lines = (line.strip() for line in head.decode("utf-8-sig", "replace").split("\n"))
    text = next((line for line in lines if line), "")
    return text[:LONGEST] + ("…" if len(text) > LONGEST else "")


def choose_mtme_files(planned: ImportPlan, files: Sequence[Upload], key: str) -> ImportPlan:
    """Draw the choice of the language pair and how its files are read; return the plan that was chosen."""
    if len(planned.pairs) > 1:
        pair = st.selectbox(
            "Language pair", planned.pairs, key=drafts.kept(f"{key}-pair", fits=planned.pairs.__contains__)
        )
        planned = plan_pair([f.name for f in files], pair)
    if planned.mtme is None:
        return planned
    by_name = {f.name: f for f in files}
    texts = [by_name[name] for name in files_of(planned.mtme.roles)]
    roles, wrong = choose_line_roles(planned.mtme.roles, texts, f"{key}-{planned.mtme.pair}")
    lines = [
        f"- **{what[0].upper()}{what[1:]}**: {escape_markdown(names)}" for what, names in planned.mtme.scores_as_read()
    ]
    st.markdown("\n".join(lines))
    if planned.mtme.human_systems or planned.mtme.metric_systems:
        st.caption(f"Scores of systems (.sys.score) are not imported. `{PROGRAM} evaluate --mtme` compares them.")
    if references := planned.mtme.reference_systems:
        st.caption(
            f"{escape_markdown(', '.join(references))}: both a reference and a system. *Meta-evaluation* leaves such systems out unless you "
            "choose otherwise, as mt-metrics-eval does."
        )
    return replace(planned, mtme=replace(planned.mtme, roles=roles), problems=(*planned.problems, *wrong))


def offer_references(dataset: Dataset | StagedImport, key: str) -> Dataset | StagedImport:
    """Draw the choice of systems whose outputs become references, if there are no references but systems named like human
    translations; return the dataset with the references chosen."""
    counts = dataset.counts() if isinstance(dataset, StagedImport) else counts_of(dataset)
    systems = tuple(counts.systems)
    if counts.references[1] or not any(map(is_human_name, systems)):
        return dataset
    human = next(filter(is_human_name, systems))
    chosen = st.multiselect(
        "Use the outputs of these systems as references", systems, [human],
        key=drafts.kept(f"{key}-as-references", [human], lambda names: set(names) <= set(systems)),
    )  # fmt: skip
    page.caption(
        f"The files have no references, but {human} is named like a human translation. It also stays a system of the project; "
        "Meta-evaluation leaves systems with such names out unless you choose otherwise."
    )
    if isinstance(dataset, StagedImport):
        return dataset.with_references(chosen) if chosen else dataset
    return adding.with_references(dataset, chosen)
