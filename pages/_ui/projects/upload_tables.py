"""Uploaded tables and label files: guessed roles of columns and guessed formats, to be corrected by the user."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from core.errors import Problem
from core.formats.column_facts import score_of_system
from core.formats.external import lower_is_better
from core.formats.files import Upload
from core.formats.given_roles import SINGLE, role_in, score_in
from core.formats.labels.label_formats import FORMATS
from core.formats.labels.mtme_rating import name_in
from core.formats.mapping import ColumnMapping, MetricColumn, SystemScoreColumn
from core.formatting import isolated
from core.ports.projects import Project
from core.services.projects import label_import
from core.services.projects.importing import TablePlan
from pages._ui.projects.other_programs import ask
from pages._ui.projects.upload_lines import first_line
from pages._ui.shared import drafts, page
from pages._ui.shared.markdown import escape_markdown

UNUSED = "unused"
COMMON = {
    UNUSED: "Not used",
    "document": "Document ID",
    "segment": "Segment ID",
    "source": "Source",
    "references": "Reference",
}
ROLES = {
    "long": COMMON
    | {
        "system": "System name",
        "output": "Output",
        "human_scores": "Human score",
        "metrics": "External score",
    },
    "wide": COMMON | {"systems": "Outputs of this system"},
}
SYSTEM_SCORES = {"human of ": "Human score of ", "metric of ": "External score of "}
"""Roles of the wide layout, each with the column that has the outputs of the system."""
LAYOUTS = {"long": "One output", "wide": "One segment, with one column per system"}
TALL = 12


def tables(planned: Sequence[TablePlan], key: str) -> tuple[tuple[TablePlan, ...], tuple[Problem, ...]]:
    """Draw the mapping; return the mapped tables and problems (two columns in a role for one). Equal tables share it."""
    alike: dict[tuple[object, ...], list[TablePlan]] = {}
    for table in planned:
        alike.setdefault((table.columns, table.mapping.with_(system_name="")), []).append(table)
    mapped: dict[str, TablePlan] = {}
    wrong: list[Problem] = []
    for group in alike.values():
        layout, roles, names, scores = _group(group, key)
        for table in group:
            mapping, problems = mapping_of(table, layout, roles, names.get(table.file, ""), scores)
            mapped[table.file] = replace(table, mapping=mapping)
            wrong += problems
    return tuple(mapped[table.file] for table in planned), tuple(wrong)


def role_of(mapping: ColumnMapping, column: str) -> str:
    """Return the role of a column in a mapping, one of `ROLES` or of `SYSTEM_SCORES` with a system."""
    if score := score_in(mapping, column):
        return ("human of " if score.higher_is_better is None else "metric of ") + score.system
    role = role_in(mapping, column)
    if role == "system" and mapping.layout == "wide":
        return "systems"
    return {"reference": "references", "human": "human_scores", "metric": "metrics"}.get(role, role)


def mapping_of(
    table: TablePlan,
    layout: str,
    roles: Sequence[str],
    system_name: str,
    scores: Mapping[str, SystemScoreColumn] | None = None,
) -> tuple[ColumnMapping, list[Problem]]:
    """Return the mapping with these roles; if several columns claim a role for one, the first of them and a problem.

    `scores` are the columns with external scores, or with scores of one system (`system` "" in the long layout).
    """
    scores = scores or {}
    of: dict[str, list[str]] = {}
    for column, role in zip(table.columns, roles, strict=True):
        of.setdefault(role, []).append(column)
    problems = [
        Problem(table.file, 1, ", ".join(of[role]), f"{len(of[role])} columns", f"one {ROLES[layout][role]}",
                "Choose one of them above")
        for role in SINGLE
        if len(of.get(role, ())) > 1
    ]  # fmt: skip
    single = {role: of[role][0] for role in SINGLE if role in of}
    mapping = ColumnMapping(
        layout="wide" if layout == "wide" else "long",
        references=tuple(of.get("references", ())),
        systems=tuple(of.get("systems", ())),
        human_scores=tuple(of.get("human_scores", ())),
        metrics=tuple(_metric(scores[c]) if c in scores else MetricColumn(c, c) for c in of.get("metrics", ())),
        system_scores=tuple(
            scores[c] for c, role in zip(table.columns, roles, strict=True) if role.startswith(tuple(SYSTEM_SCORES))
        ),
        system_name=system_name,
    )
    return mapping.with_(**single), problems


def _metric(score: SystemScoreColumn) -> MetricColumn:
    return MetricColumn(score.column, score.name, bool(score.higher_is_better))


def _group(group: Sequence[TablePlan], key: str) -> tuple[str, list[str], dict[str, str], dict[str, SystemScoreColumn]]:
    """Draw the choices for tables with the same columns; return layout, role of each column, system name by file, and by column the
    scores that have a name or direction of their own."""
    first = group[0]
    this = f"{key}-" + hashlib.sha256(repr([t.file for t in group] + list(first.columns)).encode()).hexdigest()[:12]
    with st.container(border=True):
        st.text(first.file if len(group) == 1 else f"{len(group)} tables: " + ", ".join(t.file for t in group))
        for note in first.notes:
            st.caption(escape_markdown(note))
        layout = st.radio(
            "Each row is", LAYOUTS, list(LAYOUTS).index(first.mapping.layout), format_func=LAYOUTS.__getitem__,
            horizontal=True, key=drafts.kept(f"{this}-layout", first.mapping.layout),
        )  # fmt: skip
        systems = _systems(first, this) if layout == "wide" else []
        options = ROLES[layout] | {
            role + s: said + isolated(s) for role, said in SYSTEM_SCORES.items() for s in systems
        }
        roles: list[str] = []
        scores: dict[str, SystemScoreColumn] = {}
        with st.container(height=440 if len(first.columns) > TALL else "content", border=False, gap="xsmall"):
            for i, (column, sample) in enumerate(zip(first.columns, first.samples, strict=True)):
                guessed = role_of(first.mapping, column)
                name, value, choice = st.columns([3, 5, 3], vertical_alignment="center", gap="small")
                name.text(column)
                if reason := first.reason(column):
                    name.caption(escape_markdown(f"{'Not used' if guessed == UNUSED else 'Guessed'}: {reason}"))
                value.caption(escape_markdown(sample) or "(empty)")
                guessed = guessed if guessed in options else UNUSED
                label = f"Role of column {escape_markdown(column)}"
                roles.append(
                    drafts.select(label, options, guessed, f"{this}-{layout}-{i}", choice, label_visibility="collapsed")
                )
                if (score := _score(first.mapping, column, roles[-1], systems)) is not None:
                    places = st.columns(2)
                    if score.higher_is_better is None:
                        label = f"Name of the human score in {escape_markdown(column)}"
                        named_key = drafts.kept(f"{this}-{i}-human", score.name)
                        typed = places[0].text_input(label, score.name, key=named_key, max_chars=120)
                        scores[column] = score._replace(name=typed.strip())
                    else:
                        named = ask(score.name, score.higher_is_better, column, f"{this}-{i}", places)
                        scores[column] = SystemScoreColumn(column, score.system, *named)
        names = {}
        if layout == "long" and "system" not in roles:
            for i, table in enumerate(group):
                label = "System that wrote these outputs"
                label += f" ({escape_markdown(table.file)})" if len(group) > 1 else ""
                usual = table.mapping.system_name
                names[table.file] = st.text_input(label, usual, key=drafts.kept(f"{this}-name-{i}", usual)).strip()
    return layout, roles, names, scores


def _systems(table: TablePlan, key: str) -> list[str]:
    """Return the columns that are chosen as outputs of a system, or guessed where nothing is chosen yet."""
    return [
        column
        for i, column in enumerate(table.columns)
        if st.session_state.get(
            drafts.kept(f"{key}-wide-{i}", role_of(table.mapping, column)), role_of(table.mapping, column)
        )
        == "systems"
    ]


def _score(mapping: ColumnMapping, column: str, role: str, systems: Sequence[str]) -> SystemScoreColumn | None:
    """Return the guess for a column whose role has a name to ask for: an external score, or a score of one system; else None."""
    if role == "metrics":
        guess = next((m for m in mapping.metrics if m.column == column), MetricColumn(column, column))
        return SystemScoreColumn(column, "", guess.name, guess.higher_is_better)
    kind = next((kind for kind in SYSTEM_SCORES if role.startswith(kind)), None)
    if kind is None:
        return None
    system, human = role.removeprefix(kind), kind == "human of "
    score = score_in(mapping, column) or score_of_system(column, systems)
    if score is None or score.system != system:
        score = SystemScoreColumn(column, system, column)
    return score._replace(higher_is_better=None if human else score.higher_is_better is not False)


UNKNOWN = "google"
"""Format assumed for unrecognized files; its reader then reports what is missing."""


class LabelFormats(NamedTuple):
    """The format of each file; the project whose outputs they belong to if they hold no texts; for files of metric scores,
    the name of the metric and whether higher is better."""

    formats: tuple[tuple[str, str], ...]
    project: Project | None = None
    waiting: bool = False
    metrics: tuple[tuple[str, tuple[str, bool]], ...] = ()


def choose_label_formats(
    guessed: Sequence[tuple[str, str | None]], files: Sequence[Upload], projects: Sequence[Project],
    current: Project | None, key: str,
) -> LabelFormats:  # fmt: skip
    """Draw one row per file, and the choice of the project if one is needed; `waiting` while it is missing."""
    chosen_formats = dict(guessed)
    formats: dict[str, str] = {}
    metrics: dict[str, tuple[str, bool]] = {}
    with st.container(border=True):
        for upload in {f.name: f for f in files}.values():
            guess = chosen_formats.get(upload.name)
            name, sample, choice = st.columns([3, 5, 4], vertical_alignment="center", gap="small")
            name.text(upload.name)
            sample.caption(escape_markdown(first_line(upload)) or "(empty)")
            labels, format_key = {name: of.label for name, of in FORMATS.items()}, f"{key}-{upload.name}-format"
            label = f"Format of {escape_markdown(upload.name)}"
            formats[upload.name] = drafts.select(
                label, labels, guess or UNKNOWN, format_key, choice, label_visibility="collapsed"
            )
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
    names = {p.id: p.name for p in projects}
    first = current.id if current is not None and current.id in names else projects[0].id
    chosen = drafts.select(f"{said}. Attach {'it' if one else 'them'} to", names, first, f"{key}-whose")
    return next(p for p in projects if p.id == chosen)
