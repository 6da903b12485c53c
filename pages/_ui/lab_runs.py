"""The runs of the stress tests that are kept: which one is open, opening, naming, deleting, and taking them along."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.errors import UserError
from core.ports import Project, Store, StressRun
from core.services.lab.html import as_html
from core.services.lab.report import Report, as_json, from_json
from core.services.lab.saved import LONGEST_NAME, settings_of
from core.services.lab.table import as_csv
from pages._ui import errors, exports
from pages._ui.errors import plain
from pages._ui.robustness_parts import RUN

OPEN = "lab-open"
NEW = 0
"""Stands among the ids of runs, which begin with 1."""
_GONE, _UPLOADS, _NEXT = "lab_deleted", "lab_uploads", "lab_next"


class Gone(NamedTuple):
    """A run that was just deleted, as it was."""

    project_id: int
    run: StressRun
    report: str


def opened(store: Store, project: Project) -> Report | None:
    """The choice of a run, with all that can be done to it; its report, or None where there is none open."""
    runs = {run.id: run for run in reversed(store.stress.list(project.id))}
    _settle(runs)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Run", [NEW, *runs], key=OPEN, width=440, format_func=lambda i: _line(runs[i]) if i in runs else "New tests"
        )  # fmt: skip
        now: int = st.session_state[OPEN]
        if now != NEW:
            _manage(store, project, runs[now])
        _upload(store, project)
    _undo(store, project)
    if now == NEW:
        st.query_params.pop(RUN, None)
        return None
    if st.query_params.get(RUN) != str(now):
        st.query_params[RUN] = str(now)
    report = _read(store.stress.report(project.id, now))
    _downloads(project, report)
    return report


def _settle(runs: dict[int, StressRun]) -> None:
    """The run of the address where this session has opened none, and none where it is gone."""
    asked = st.query_params.get(RUN, "")
    if (following := st.session_state.pop(_NEXT, None)) is not None:
        st.session_state[OPEN] = following
    if OPEN not in st.session_state:
        st.session_state[OPEN] = int(asked) if asked.isdecimal() and len(asked) < 19 else NEW
    if st.session_state[OPEN] not in runs:
        st.session_state[OPEN] = NEW


def _line(run: StressRun) -> str:
    fails = run.settings.get("fails", 0)
    return f"{run.name} · {run.created:%d %b %H:%M} · {fails} {'failure' if fails == 1 else 'failures'}"


@st.cache_resource(max_entries=8, ttl=1800, show_spinner="Reading the report …")
def _read(text: str) -> Report:
    return from_json(text)


def keep(store: Store, project: Project, report: Report) -> None:
    """Store a report, and open it in the run of the script that follows."""
    run = store.stress.save(project.id, report.name.strip() or "Report", as_json(report), settings_of(report))
    st.session_state[_NEXT] = run.id


def _manage(store: Store, project: Project, run: StressRun) -> None:
    @errors.guarded
    def rename() -> None:
        store.stress.rename(project.id, run.id, st.session_state[f"lab-name-{run.id}"])

    @errors.guarded
    def delete() -> None:
        st.session_state[_GONE] = Gone(project.id, run, store.stress.report(project.id, run.id))
        store.stress.delete(project.id, run.id)
        st.session_state[_NEXT] = NEW

    with st.popover("Name", icon=":material/edit:"):
        st.text_input("Name of the run", run.name, key=f"lab-name-{run.id}", on_change=rename, max_chars=LONGEST_NAME)
    st.button("Delete", icon=":material/delete:", on_click=delete, key="lab-delete")


def _undo(store: Store, project: Project) -> None:
    gone: Gone | None = st.session_state.get(_GONE)
    if gone is None or gone.project_id != project.id:
        return

    @errors.guarded
    def undo() -> None:
        run = store.stress.save(project.id, gone.run.name, gone.report, gone.run.settings, gone.run.created)
        st.session_state.pop(_GONE, None)
        st.session_state[_NEXT] = run.id

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Deleted: {plain(gone.run.name)}.", width="content")
        st.button("Undo", on_click=undo, icon=":material/undo:", key="lab-undo")


def _upload(store: Store, project: Project) -> None:
    """A report the command line wrote, kept like one that was made here."""
    n = st.session_state.setdefault(_UPLOADS, 0)
    key = f"lab-upload-{n}"

    @errors.guarded
    def take() -> None:
        sent = st.session_state.get(key)
        if sent is None:
            return
        st.session_state[_UPLOADS] = n + 1
        try:
            text = sent.getvalue().decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                "this is no text", where=sent.name, expected="the JSON of a report, in UTF-8", hint="Choose the file the command line wrote"
            ) from error  # fmt: skip
        keep(store, project, from_json(text))

    with st.popover("Open a report file", icon=":material/upload_file:"):
        st.file_uploader("JSON of a report", ["json"], key=key, on_change=take)


def _downloads(project: Project, report: Report) -> None:
    stem = f"{exports.file_name(project.name)}.{exports.file_name(report.name)}"
    kinds = (
        ("JSON", "json", "application/json", as_json),
        ("CSV", "csv", "text/csv", as_csv),
        ("One HTML page", "html", "text/html", as_html),
    )
    with st.container(horizontal=True):
        for label, ending, mime, make in kinds:
            st.download_button(
                label, lambda make=make: make(report).encode("utf-8", "surrogatepass"), f"{stem}.{ending}", mime,
                on_click="ignore", icon=":material/download:", key=f"lab-file-{ending}",
            )  # fmt: skip
