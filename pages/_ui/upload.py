"""Upload: files → what is in them → a preview with counts, as the steps of one page. What it hands on is ready to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from core.data import Dataset, ExternalScores, OutputKey
from core.errors import Problem
from core.formats.files import Upload
from core.formats.problems import counted, how_many
from core.ports import Project
from core.services import mqm_import
from core.services.importing import ImportPlan, Preview, plan, preview, without_outputs
from core.services.mqm_import import MqmFiles
from pages._ui import tables, upload_columns, upload_formats, upload_lines, wiring
from pages._ui.upload_formats import Labels

ROWS = 12
LONGEST = 300
GUIDE = (
    "**Tables** (CSV, TSV, JSONL): one row an output, or one row a segment with a column for each system. "
    "Their columns may hold human scores, and scores of metrics that were computed elsewhere. "
    "**Text** (one file a system, one for the references, one for the source): line 7 of every file is segment 7. "
    "All in UTF-8, also gzipped (.gz), up to 512 MB. Files of labels are recognised too."
)
LABEL_GUIDE = (
    "**Marked errors**: Google’s MQM TSV, Marot, mt-metrics-eval (.seg.rating or standalone JSONL), ESA as Appraise, Pearmut "
    "or WMT24 write it, Label Studio’s JSON. **Scores**: mt-metrics-eval’s .seg.score, of people or of a metric, or a table with a row for each rater "
    "and output (direct assessment, Likert, ranks). All in UTF-8, also gzipped (.gz), up to 512 MB."
)


@dataclass(frozen=True)
class Ready:
    """What an upload holds, once nothing stands in its way; `mqm` where it is labels, `project` where these can only go
    to the outputs they were read with."""

    dataset: Dataset
    summary: str
    mqm: MqmFiles | None
    files: tuple[str, ...]
    project: Project | None = None
    external: tuple[ExternalScores, ...] = ()


def steps(
    key: str, projects: Sequence[Project] = (), current: Project | None = None, *, labels: bool = False
) -> tuple[Ready | None, tuple[Problem, ...]]:
    """Draw the steps up to the preview. Returns what can be imported, or nothing and the problems that are on the screen."""
    st.subheader("1 · Files", anchor=False)
    given = st.file_uploader("Files to import", accept_multiple_files=True, key=key, label_visibility="collapsed")
    if not given:
        st.caption(LABEL_GUIDE if labels else GUIDE)
        return None, ()
    ids = tuple(f"{f.file_id} {f.name}" for f in given)
    size = sum(f.size for f in given)
    with st.spinner(f"Reading {counted(len(given), 'file')} ({_megabytes(size)}) …"):
        planned = _planned(ids, labels, given)
    mapped = planned
    chosen_labels = owner = None
    if planned.kind == "table" and planned.tables:
        st.subheader("2 · Columns", anchor=False)
        chosen, wrong = upload_columns.tables(planned.tables, key)
        mapped = replace(planned, tables=chosen, problems=(*planned.problems, *wrong))
        if without_outputs(mapped):
            owner = upload_formats.whose([t.file for t in chosen], projects, current, key)
            if owner is None:
                return None, ()
    elif planned.kind == "lines":
        st.subheader("2 · Which file is what", anchor=False)
        roles, wrong = upload_lines.roles(planned.roles, uploads(given), key)
        mapped = replace(planned, roles=roles, problems=(*planned.problems, *wrong))
    elif planned.kind == "labels":
        st.subheader("2 · Format", anchor=False)
        chosen_labels = upload_formats.choose(planned.formats, uploads(given), projects, current, key)
        if chosen_labels.waiting:
            return None, ()
        owner = chosen_labels.project
    mapping = planned.kind != "table" or planned.tables
    st.subheader(f"{3 if mapping else 2} · Preview", anchor=False)
    with st.spinner(f"Reading all of {_megabytes(size)} and checking every row …"):
        seen = _previewed(ids, mapped, owner, given)
        mqm = _labels(ids, chosen_labels, given) if chosen_labels and not mapped.problems else None
    return _shown(seen, mqm, tuple(f.name for f in given), owner)


def uploads(given: Sequence[UploadedFile]) -> list[Upload]:
    """The files as the services take them; their bytes are shared, not copied."""
    return [Upload(f.name, f.getvalue()) for f in given]


@st.cache_resource(max_entries=8, ttl=900, show_spinner=False)
def _planned(ids: tuple[str, ...], labels: bool, _given: Sequence[UploadedFile]) -> ImportPlan:
    return plan(uploads(_given), labels=labels)


@st.cache_resource(max_entries=3, ttl=900, show_spinner=False)
def _previewed(
    ids: tuple[str, ...], planned: ImportPlan, owner: Project | None, _given: Sequence[UploadedFile]
) -> Preview:
    return preview(uploads(_given), planned, wiring.dataset(owner) if owner else None)


@st.cache_resource(max_entries=3, ttl=900, show_spinner=False)
def _labels(ids: tuple[str, ...], chosen: Labels, _given: Sequence[UploadedFile]) -> MqmFiles:
    texts = wiring.dataset(chosen.project) if chosen.project else None
    return mqm_import.read(uploads(_given), dict(chosen.formats), texts, metrics=dict(chosen.metrics))


def forget() -> None:
    """Let go of the texts that were read for previews."""
    _previewed.clear()
    _labels.clear()


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MB" if size >= 2**20 else f"{max(1, round(size / 1024)):,} kB"


def _shown(
    seen: Preview, mqm: MqmFiles | None, names: tuple[str, ...], project: Project | None
) -> tuple[Ready | None, tuple[Problem, ...]]:
    wrong = (*seen.problems, *(mqm.problems if mqm else ()))
    if wrong:
        n = how_many(wrong)
        st.error(
            f"**{counted(n, 'problem')}.** Nothing can be imported before {'it is' if n == 1 else 'they are'} mended.",
            icon=":material/info:",
        )
        problems(wrong)
        return None, wrong
    dataset = mqm.dataset if mqm else seen.dataset
    if dataset is None:
        st.info("There is nothing to import in these files.", icon=":material/info:")
        return None, ()
    summary = mqm.summary() if mqm else seen.summary
    st.markdown(f"**{summary}**; no problems.")
    scores = mqm.external if mqm else seen.external
    rows = first_rows(mqm.scored if mqm else dataset, external=scores)
    st.dataframe(rows, hide_index=True, width="stretch", height="content")
    more = len(dataset.outputs or _scored(dataset, scores)) - ROWS
    if more > 0:
        st.caption(f"The first {ROWS} outputs; {more:,} more follow.")
    for note in seen.notes:
        st.text(note)
    if mqm and mqm.warnings:
        with st.expander(f"{counted(len(mqm.warnings), 'oddity', 'oddities')} in the files, read all the same"):
            problems(mqm.warnings)
    return Ready(dataset, summary, mqm, names, project, scores), ()


def problems(found: Sequence[Problem]) -> None:
    """The table of problems: where, what was found, what was expected, what to do."""
    tables.reading(
        [
            {
                "file": p.file,
                "row": f"{p.row}" if p.row else "",
                "column": p.column,
                "found": p.found,
                "expected": p.expected,
                "what to do": p.todo,
            }
            for p in found
        ]
    )


def first_rows(dataset: Dataset, n: int = ROWS, external: Sequence[ExternalScores] = ()) -> list[dict[str, Any]]:
    """The first outputs with their segments and scores, one row each; columns that nobody filled are left out, texts too
    where the files hold scores only. Long texts are cut."""
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
        row |= {"source": _cut(segment.source)} if segment.source is not None else {}
        for i in range(most):
            name = "reference" if most == 1 else f"reference {i + 1}"
            row[name] = _cut(segment.references[i]) if i < len(segment.references) else None
        row |= {f"human: {name}": value for name, value in judged[key].items()}
        row |= {f"metric: {s.name}": s.values[key].value for s in external if key in s.values}
        rows.append(row)
    return rows


def _scored(dataset: Dataset, external: Sequence[ExternalScores]) -> list[OutputKey]:
    """The outputs that scores speak of, each once."""
    of_people = (OutputKey(*h[:3]) for h in dataset.human_scores)
    return list(dict.fromkeys([*of_people, *(key for s in external for key in s.values)]))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
