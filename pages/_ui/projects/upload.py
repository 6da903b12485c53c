"""Upload files of a dataset or of a campaign, and check what they contain before the import."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from shlex import quote
from typing import Any

import streamlit as st

from core.data import Dataset, ExternalScores, OutputKey
from core.errors import PROGRAM, Problem
from core.formats.campaigns.campaign_formats import BATCHES, recognised
from core.formats.files import Upload
from core.formats.problems import how_many
from core.formats.streams.staged import StagedImport, counts_of, notes_on
from core.formatting import MISSING, format_count
from core.ports.files import DatasetImport
from core.ports.projects import Project
from core.services.campaigns.files import FORMATS
from core.services.projects import label_import
from core.services.projects.adding import StoredOutputs
from core.services.projects.importing import Preview, ReadFiles, needs_project, preview, read_files
from core.services.projects.label_import import LabelFiles
from pages._ui.campaigns import campaign_data
from pages._ui.projects import upload_files, upload_lines, upload_tables
from pages._ui.projects.upload_tables import LabelFormats
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.markdown import escape_markdown


def draw_only_campaigns(files: Sequence[Upload], formats: Mapping[str, str | None]) -> bool:
    """Say which files are those of campaigns, with a button to their page; return whether one is in no label format (`formats`)."""
    campaign_files = {f.name: name for f in files if (name := recognised(f))}
    if not campaign_files:
        return False
    closed = [name for name in campaign_files if formats.get(name) is None]
    lines = [f"{_named(name, kind)}." for name, kind in campaign_files.items()]
    lines.append(
        "*Import a finished campaign* on *Campaigns* imports the labels, and shows checks, ranking, agreement and times. On the command "
        f"line: `{_command(closed[0], campaign_files[closed[0]])}`."
        if closed
        else "Only its labels are imported here. *Import a finished campaign* on *Campaigns* shows checks, ranking, agreement and times too."
    )
    page.info(" ".join(lines))
    if st.button("Import a finished campaign", icon=page.icon("campaigns"), key="upload-campaign"):
        st.switch_page("pages/campaigns.py", query_params={campaign_data.CAMPAIGN: campaign_data.IMPORT})
    return bool(closed)


def _command(name: str, kind: str) -> str:
    """Return the command that says what a file contains."""
    argument = "SCORES.csv" if kind == BATCHES else quote(name.replace("`", ""))
    texts = quote(name.replace("`", "")) if kind == BATCHES else "BATCHES.json"
    appraise = kind in (BATCHES, "appraise")
    shown = f"{PROGRAM} campaign analyse {argument} --format {'appraise' if appraise else kind}"
    return f"{shown} --texts {texts}" if appraise else shown


def _named(name: str, kind: str) -> str:
    shown = f"**{escape_markdown(name)}**"
    if kind == BATCHES:
        return f"{shown} has the texts of an Appraise campaign"
    return f"{shown} has the ratings of a campaign ({FORMATS[kind].label}, `{kind}`)"


HOW_READ = "2 · How the files were read"
ROWS = 12
LONGEST = 300
GUIDE = (
    "**Tables** (CSV, TSV, JSON with one object per line or a list of objects, Parquet, or Arrow): one row per output, or one row per segment with one column per system. "
    "Columns may hold human scores and external scores. "
    "**Text** (one file per system, one for references, one for the source): line 7 of every file is segment 7. "
    "**Folder of mt-metrics-eval** (sources, references, system-outputs, documents, human-scores, metric-scores): read as it is. "
    "UTF-8, optionally gzipped (.gz). Label files are recognized too. "
    f"For more than {drafts.LARGEST >> 20} MB in all, use the command on the server: `{PROGRAM} projects import FILE … --name PROJECT`."
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

    source: StagedImport | DatasetImport
    summary: str
    mqm: LabelFiles | None
    files: tuple[str, ...]
    project: Project | None = None
    title: str = ""  # suggested name of a new project; by default that of the first file
    what: str = "outputs"  # the upload that has the files (`upload_files.key_of`)


def steps(projects: Sequence[Project], current: Project | None, *, labels: bool) -> ReadyUpload | None:
    """Draw the steps up to the preview; return what can be imported, or None, with the reason on the page."""
    what = "labels" if labels else "outputs"
    files, key = upload_files.choose(
        what, "Files to import", LABEL_GUIDE if labels else GUIDE, errors.guarded(lambda: forget(what))
    )
    if not files:
        return None
    ids = tuple(f"{f.id} {f.name}" for f in files)
    size = drafts.megabytes(sum(f.size for f in files))
    with st.spinner(f"Reading {format_count(len(files), 'file')} ({size}) …"):
        read: ReadFiles = _kept("files", ids, labels, lambda: read_files(files, labels=labels))
    planned = read.plan
    mapped = planned
    chosen_labels = owner = None
    if planned.kind == "table" and planned.tables:
        st.subheader("2 · How the file was read" if len(planned.tables) == 1 else HOW_READ, anchor=False)
        chosen, wrong = upload_tables.tables(planned.tables, key)
        mapped = replace(planned, tables=chosen, problems=(*planned.problems, *wrong))
    elif planned.kind == "lines":
        st.subheader(HOW_READ, anchor=False)
        roles, wrong = upload_lines.choose_line_roles(planned.roles, files, key)
        mapped = replace(planned, roles=roles, problems=(*planned.problems, *wrong))
    elif planned.kind == "mtme":
        st.subheader(HOW_READ, anchor=False)
        mapped = upload_lines.choose_mtme_files(planned, files, key)
    elif planned.kind == "labels":
        if draw_only_campaigns(files, dict(planned.formats)):
            _choose_others(what)
            return None
        st.subheader("2 · Format", anchor=False)
        chosen_labels = upload_tables.choose_label_formats(planned.formats, files, projects, current, key)
        if chosen_labels.waiting:
            return None
        owner = chosen_labels.project
    if without := needs_project(mapped):
        owner = upload_tables.whose([f.name for f in files], projects, current, key, without)
        if owner is None:
            return None
    mapping = planned.kind != "table" or planned.tables
    st.subheader(f"{3 if mapping else 2} · Preview", anchor=False)
    with st.spinner(f"Reading {size} and checking every row …"):
        stored = StoredOutputs(wiring.store(), owner) if owner else None
        seen: Preview = _kept("preview", ids, (mapped, owner), lambda: preview(read, mapped, stored))
        mqm: LabelFiles | None = None
        if chosen_labels and not mapped.problems:
            mqm = _kept("labels", ids, chosen_labels, partial(_labels, chosen_labels, files))
        if (folder := mapped.mtme) is not None and not mapped.problems:
            mqm = _kept("folder", ids, folder, partial(label_import.read_mtme, files, folder))
    ready = _shown(seen, mqm, tuple(f.name for f in files), owner, what)
    return replace(ready, title=mapped.mtme.title) if ready and mapped.mtme else ready


@st.cache_resource(max_entries=8, ttl=900, show_spinner=False)
def _kept(what: str, ids: tuple[str, ...], choice: Hashable, _read: Callable[[], object]) -> Any:
    """Return what was read of the files with these `ids` under a choice."""
    return _read()


def _labels(chosen: LabelFormats, files: Sequence[Upload]) -> LabelFiles:
    texts = wiring.store().projects.dataset(chosen.project.id) if chosen.project else None
    return label_import.read_label_files(files, dict(chosen.formats), texts, metrics=dict(chosen.metrics))


def forget(what: str) -> None:
    """Discard an upload, and the texts that were read for previews."""
    upload_files.forget(what)
    _kept.clear()


def _shown(
    seen: Preview, mqm: LabelFiles | None, names: tuple[str, ...], project: Project | None, what: str
) -> ReadyUpload | None:
    wrong = (*seen.problems, *(mqm.problems if mqm else ()))
    if wrong:
        n = how_many(wrong)
        st.error(
            f"**{format_count(n, 'problem')}.** Fix {'it' if n == 1 else 'them'} to import.",
            icon=":material/info:",
        )
        tables.problem_table(wrong)
        _choose_others(what)
        return None
    dataset = mqm.dataset if mqm else seen.staged
    if dataset is None:
        page.info("These files have nothing to import.")
        _choose_others(what)
        return None
    summary = mqm.summary() if mqm else seen.summary
    before = _notes(dataset)
    if project is None:
        dataset = upload_lines.offer_references(dataset, upload_files.key_of(what))
    notes = (*_notes(dataset), *(note for note in seen.notes if note not in before))
    _warnings(summary, mqm.warnings if mqm else seen.warnings, notes)
    source: StagedImport | DatasetImport
    if isinstance(dataset, StagedImport):
        source, (texts, external) = dataset, dataset.beginning(10 * ROWS)
        n = dataset.n_outputs or dataset.n_scored()
    else:
        external = mqm.external if mqm else ()
        source, texts = DatasetImport(dataset, external), mqm.scored if mqm else dataset
        n = len(dataset.outputs or _scored(dataset, external))
    rows = first_rows(texts, external=external)
    st.dataframe(rows, hide_index=True, width="stretch", height="content", placeholder=MISSING)
    if n > ROWS:
        st.caption(f"First {ROWS} outputs; {n - ROWS:,} more.")
    if mqm and isinstance(dataset, Dataset):
        mqm = mqm._replace(dataset=dataset)
    return ReadyUpload(source, summary, mqm, names, project, what=what)


def _notes(texts: Dataset | StagedImport) -> tuple[str, ...]:
    counts = texts.counts() if isinstance(texts, StagedImport) else counts_of(texts)
    return notes_on(counts) if counts.outputs else ()


def _warnings(summary: str, odd: Sequence[Problem], notes: Sequence[str]) -> None:
    """Draw what will be imported, and fold what is odd or missing but does not prevent the import."""
    if not (n := how_many(odd) + len(notes)):
        st.markdown(f"**{summary}**; no problems.")
        return
    st.markdown(f"**{summary}**; no errors, {format_count(n, 'warning')}.")
    tables.warnings_table(odd, n, notes)


def _choose_others(what: str) -> None:
    st.button(
        "Choose other files",
        icon=":material/upload_file:",
        on_click=errors.guarded(forget),
        args=(what,),
        key="upload-others",
    )


def first_rows(dataset: Dataset, external: Sequence[ExternalScores] = ()) -> list[dict[str, Any]]:
    """Return the first outputs with their segments and scores, or the first segments, one row each, without empty columns. Long texts are
    cut."""
    texts = {o.key: o.text for o in islice(dataset.outputs, ROWS)}
    keys = list(texts) or _scored(dataset, external)[:ROWS] or [OutputKey("", *s.key) for s in dataset.segments[:ROWS]]
    shown_segments = {key.segment for key in keys}
    segments = {s.key: s for s in dataset.segments if s.key in shown_segments}
    judged: dict[tuple[str, str, str], dict[str, float]] = {key: {} for key in keys}
    for h in dataset.human_scores:
        if h[:3] in judged:
            judged[h[:3]][h.name] = h.value
    most = max((len(s.references) for s in segments.values()), default=0)
    rows = []
    for key in keys:
        segment = segments[key.segment]
        row: dict[str, Any] = {"document": key.doc_id} if key.doc_id else {}
        row |= {"segment": key.segment_id} | ({"system": key.system} if key.system else {})
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
