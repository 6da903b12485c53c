"""Upload in steps on one page: files, columns or formats, preview with counts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.data import Dataset, ExternalScores, OutputKey
from core.errors import Problem
from core.formats.files import Upload, stem
from core.formats.mtme_folder import MtmeFiles
from core.formats.notes import counts_of, notes_on
from core.formats.problems import how_many
from core.formats.streams.staged import StagedImport
from core.formatting import format_count
from core.ports.projects import Project
from core.services.projects import label_import, mtme
from core.services.projects.adding import StoredOutputs
from core.services.projects.importing import ImportPlan, Preview, plan, preview, without_outputs
from core.services.projects.label_import import LabelFiles
from pages._ui.projects import (
    upload_campaigns,
    upload_columns,
    upload_formats,
    upload_lines,
    upload_mtme,
    upload_references,
)
from pages._ui.projects.upload_formats import LabelFormats
from pages._ui.shared import page, tables, wiring

ROUND = "projects-round"
HOW_READ = "2 · How the files were read"
ROWS = 12
LONGEST = 300
KINDS = ("Files", "Folder")
LARGEST = 100 << 20
"""Bytes of the files of an upload, which the server holds in memory while the page is open."""
GUIDE = (
    "**Tables** (CSV, TSV, JSON with one object per line or a list of objects, Parquet, or Arrow): one row per output, or one row per segment with one column per system. "
    "Columns may hold human scores and external scores. "
    "**Text** (one file per system, one for references, one for the source): line 7 of every file is segment 7. "
    "**Folder of mt-metrics-eval** (sources, references, system-outputs, documents, human-scores, metric-scores): read as it is. "
    "UTF-8, optionally gzipped (.gz). Label files are recognized too. For more than 100 MB: `python -m core projects import`."
)
LABEL_GUIDE = (
    "**Error spans**: Google’s MQM TSV (as in the WMT releases), Marot (Google’s viewer of MQM labels), mt-metrics-eval (Google’s toolkit for "
    "WMT metrics: .seg.rating or standalone JSONL), ESA (error span annotation: spans and a score from 0 to 100; from the annotation tools "
    "Appraise and Pearmut or WMT24), Label Studio’s JSON (an annotation tool). **Scores**: mt-metrics-eval’s .seg.score (human or metric "
    "scores), or a table with one row per annotator and output (direct assessment, Likert, ranks). UTF-8, optionally gzipped (.gz)."
)


@dataclass(frozen=True)
class ReadyUpload:
    """An upload without problems. `mqm` holds labels; `project` is set if they belong to the outputs of that project."""

    dataset: Dataset | StagedImport
    summary: str
    mqm: LabelFiles | None
    files: tuple[str, ...]
    project: Project | None = None
    external: tuple[ExternalScores, ...] = ()  # those of label files
    title: str = ""  # suggested name of a new project; by default that of the first file


def steps(
    projects: Sequence[Project] = (), current: Project | None = None, *, labels: bool = False
) -> tuple[ReadyUpload | None, tuple[Problem, ...]]:
    """Draw the steps up to the preview; return what can be imported, or None and the problems."""
    key = f"upload-{st.session_state.get(ROUND, 0)}"
    st.subheader("1 · Files", anchor=False)
    folder = st.segmented_control(
        "Upload", KINDS, default=KINDS[0], required=True, key="projects-upload-kind", label_visibility="collapsed",
    ) == KINDS[1]  # fmt: skip
    given = st.file_uploader(
        "Files to import", accept_multiple_files="directory" if folder else True, key=f"{key}{'-folder' * folder}",
        label_visibility="collapsed",
    )  # fmt: skip
    if not given:
        st.caption(LABEL_GUIDE if labels else GUIDE)
        return None, ()
    ids = tuple(f"{f.file_id} {f.name}" for f in given)
    size = sum(f.size for f in given)
    if size > LARGEST:
        _too_large(given, size)
        return None, ()
    with st.spinner(f"Reading {format_count(len(given), 'file')} ({_megabytes(size)}) …"):
        planned = _planned(ids, labels, given)
    mapped = planned
    chosen_labels = owner = None
    if planned.kind == "table" and planned.tables:
        st.subheader("2 · How the file was read" if len(planned.tables) == 1 else HOW_READ, anchor=False)
        chosen, wrong = upload_columns.tables(planned.tables, key)
        mapped = replace(planned, tables=chosen, problems=(*planned.problems, *wrong))
        if without_outputs(mapped):
            owner = upload_formats.whose([t.file for t in chosen], projects, current, key)
            if owner is None:
                return None, ()
    elif planned.kind == "lines":
        st.subheader(HOW_READ, anchor=False)
        roles, wrong = upload_lines.roles(planned.roles, uploads(given), key)
        mapped = replace(planned, roles=roles, problems=(*planned.problems, *wrong))
    elif planned.kind == "mtme":
        st.subheader(HOW_READ, anchor=False)
        mapped = upload_mtme.choose(planned, uploads(given), key)
    elif planned.kind == "labels":
        if upload_campaigns.only(uploads(given), dict(planned.formats)):
            _choose_others()
            return None, ()
        st.subheader("2 · Format", anchor=False)
        chosen_labels = upload_formats.choose(planned.formats, uploads(given), projects, current, key)
        if chosen_labels.waiting:
            return None, ()
        owner = chosen_labels.project
    mapping = planned.kind != "table" or planned.tables
    st.subheader(f"{3 if mapping else 2} · Preview", anchor=False)
    with st.spinner(f"Reading {_megabytes(size)} and checking every row …"):
        seen = _previewed(ids, mapped, owner, given)
        mqm = _labels(ids, chosen_labels, given) if chosen_labels and not mapped.problems else None
        if mapped.mtme is not None and not mapped.problems:
            mqm = _folder(ids, mapped.mtme, given)
    ready, wrong = _shown(seen, mqm, tuple(f.name for f in given), owner, key)
    return (replace(ready, title=mapped.mtme.title) if ready and mapped.mtme else ready), wrong


def uploads(given: Sequence[UploadedFile]) -> list[Upload]:
    """Return the files in the form that services take; bytes are shared, not copied."""
    return [Upload(f.name, f.getvalue()) for f in given]


@st.cache_resource(max_entries=8, ttl=900, show_spinner=False)
def _planned(ids: tuple[str, ...], labels: bool, _given: Sequence[UploadedFile]) -> ImportPlan:
    return plan(uploads(_given), labels=labels)


@st.cache_resource(max_entries=3, ttl=900, show_spinner=False)
def _previewed(
    ids: tuple[str, ...], planned: ImportPlan, owner: Project | None, _given: Sequence[UploadedFile]
) -> Preview:
    return preview(uploads(_given), planned, StoredOutputs(wiring.store(), owner) if owner else None)


@st.cache_resource(max_entries=3, ttl=900, show_spinner=False)
def _labels(ids: tuple[str, ...], chosen: LabelFormats, _given: Sequence[UploadedFile]) -> LabelFiles:
    texts = wiring.store().projects.dataset(chosen.project.id) if chosen.project else None
    return label_import.read(uploads(_given), dict(chosen.formats), texts, metrics=dict(chosen.metrics))


@st.cache_resource(max_entries=3, ttl=900, show_spinner=False)
def _folder(ids: tuple[str, ...], chosen: MtmeFiles, _given: Sequence[UploadedFile]) -> LabelFiles:
    return mtme.read(uploads(_given), chosen)


def forget() -> None:
    """Empty the upload, and discard the texts that were read for previews."""
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    _previewed.clear()
    _labels.clear()
    _folder.clear()


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MB" if size >= 2**20 else f"{max(1, round(size / 1024)):,} kB"


def _shown(
    seen: Preview, mqm: LabelFiles | None, names: tuple[str, ...], project: Project | None, key: str
) -> tuple[ReadyUpload | None, tuple[Problem, ...]]:
    wrong = (*seen.problems, *(mqm.problems if mqm else ()))
    if wrong:
        n = how_many(wrong)
        st.error(
            f"**{format_count(n, 'problem')}.** Fix {'it' if n == 1 else 'them'} to import.",
            icon=":material/info:",
        )
        tables.problem_table(wrong)
        _choose_others()
        return None, wrong
    dataset = mqm.dataset if mqm else seen.staged
    if dataset is None:
        page.info("These files have nothing to import.")
        _choose_others()
        return None, ()
    summary = mqm.summary() if mqm else seen.summary
    before = _notes(dataset)
    if project is None:
        dataset = upload_references.offer(dataset, key)
    notes = (*_notes(dataset), *(note for note in seen.notes if note not in before))
    _warnings(summary, mqm.warnings if mqm else seen.warnings, notes)
    if isinstance(dataset, StagedImport):
        scores: tuple[ExternalScores, ...] = ()
        texts, external = dataset.beginning(10 * ROWS)
        n = dataset.n_outputs or dataset.n_scored()
    else:
        scores = external = mqm.external if mqm else ()
        texts = mqm.scored if mqm else dataset
        n = len(dataset.outputs or _scored(dataset, scores))
    st.dataframe(first_rows(texts, external=external), hide_index=True, width="stretch", height="content")
    if n > ROWS:
        st.caption(f"First {ROWS} outputs; {n - ROWS:,} more.")
    if mqm and isinstance(dataset, Dataset):
        mqm = mqm._replace(dataset=dataset)
    return ReadyUpload(dataset, summary, mqm, names, project, scores), ()


def _notes(texts: Dataset | StagedImport) -> tuple[str, ...]:
    counts = texts.counts() if isinstance(texts, StagedImport) else counts_of(texts)
    return notes_on(counts) if counts.outputs else ()


def _too_large(given: Sequence[UploadedFile], size: int) -> None:
    """Say which command imports files that are too large for the memory of the server."""
    st.warning(
        f"**{_megabytes(size)} are too much for an upload** (at most {_megabytes(LARGEST)} at once). Import the files with the command "
        "on the server, which reads files of any size:",
        icon=":material/info:",
    )
    names = " ".join(shlex.quote(f.name) for f in given)
    st.code(f"python -m core projects import {names} --name {shlex.quote(stem(given[0].name))}", language="shell")
    _choose_others()


def _warnings(summary: str, odd: Sequence[Problem], notes: Sequence[str]) -> None:
    """Draw what will be imported, and fold what is odd or missing but does not prevent the import."""
    if not (n := how_many(odd) + len(notes)):
        st.markdown(f"**{summary}**; no problems.")
        return
    st.markdown(f"**{summary}**; no errors, {format_count(n, 'warning')}.")
    with st.expander(f"{format_count(n, 'warning')} (the import is possible)", icon=":material/warning:"):
        for note in notes:
            st.text(note)
        if odd:
            tables.problem_table(odd)


def _choose_others() -> None:
    st.button("Choose other files", icon=":material/upload_file:", on_click=forget, key="upload-others")


def first_rows(dataset: Dataset, n: int = ROWS, external: Sequence[ExternalScores] = ()) -> list[dict[str, Any]]:
    """Return the first outputs with their segments and scores, one row each, without empty columns. Long texts are cut."""
    texts = {o.key: o.text for o in islice(dataset.outputs, n)}
    keys = list(texts) or _scored(dataset, external)[:n]
    wanted = {key.segment for key in keys}
    segments = {s.key: s for s in dataset.segments if s.key in wanted}
    judged: dict[tuple[str, str, str], dict[str, float]] = {key: {} for key in keys}
    for h in dataset.human_scores:
        if h[:3] in judged:
            judged[h[:3]][h.name] = h.value
    most = max((len(s.references) for s in segments.values()), default=0)
    rows = []
    for key in keys:
        segment = segments[key.segment]
        row: dict[str, Any] = {"document": key.doc_id} if key.doc_id else {}
        row |= {"segment": key.segment_id, "system": key.system}
        row |= {"output": _cut(texts[key])} if key in texts else {}
        for i in range(most):
            name = "reference" if most == 1 else f"reference {i + 1}"
            row[name] = _cut(segment.references[i]) if i < len(segment.references) else None
        row |= {f"human: {name}": value for name, value in judged[key].items()}
        row |= {f"metric: {s.name}": s.values[key].value for s in external if key in s.values}
        row |= {"source": _cut(segment.source)} if segment.source is not None else {}
        rows.append(row)
    return rows


def _scored(dataset: Dataset, external: Sequence[ExternalScores]) -> list[OutputKey]:
    """Return the outputs that have scores, each once."""
    of_people = (OutputKey(*h[:3]) for h in dataset.human_scores)
    return list(dict.fromkeys([*of_people, *(key for s in external for key in s.values)]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
