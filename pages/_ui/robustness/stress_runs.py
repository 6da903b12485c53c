"""Saved runs of stress tests: open, rename, delete, upload and download them."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from core.errors import UserError
from core.ports.projects import Project
from core.ports.store import Store
from core.ports.stress_test_runs import LONGEST_NAME, StressTestRun
from core.reports.stress_csv import as_csv
from core.reports.stress_html import as_html
from core.robustness.stress.report import Report, as_json, from_json
from core.services.robustness.stress_test_runs import settings_of
from pages._ui.robustness.session import RUN
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.markdown import escape_markdown

OPEN = "lab-open"
NEW = 0
"""Option for a new run; ids of runs start at 1."""
_GONE, _UPLOADS, _NEXT = "lab_deleted", "lab_uploads", "lab_next"


class DeletedRun(NamedTuple):
    """A run that was just deleted, for undo."""

    project_id: int
    run: StressTestRun
    report: str


def opened(project: Project) -> Report | None:
    """Draw the choice of a run and its actions; return its report, or None if none is open."""
    runs = {run.id: run for run in reversed(wiring.store().stress.list(project.id))}
    _settle(runs)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Run", [NEW, *runs], key=OPEN, width=440, format_func=lambda i: _line(runs[i]) if i in runs else "New run"
        )  # fmt: skip
        now: int = st.session_state[OPEN]
        if wiring.may_change(project.id):
            if now != NEW:
                _manage(project, runs[now])
            _upload(project)
    _undo(project)
    if now == NEW:
        st.query_params.pop(RUN, None)
        return None
    if st.query_params.get(RUN) != str(now):
        st.query_params[RUN] = str(now)
    report = _read(wiring.store().stress.report(project.id, now))
    _downloads(project, report)
    return report


def _settle(runs: dict[int, StressTestRun]) -> None:
    """Open the run in the address if this session has opened none; close a run that no longer exists."""
    asked = st.query_params.get(RUN, "")
    if (following := st.session_state.pop(_NEXT, None)) is not None:
        st.session_state[OPEN] = following
    if drafts.kept(OPEN) not in st.session_state:
        st.session_state[OPEN] = int(asked) if asked.isdecimal() and len(asked) < 19 else NEW
    if st.session_state[OPEN] not in runs:
        st.session_state[OPEN] = NEW


def _line(run: StressTestRun) -> str:
    fails = run.settings.get("fails", 0)
    return f"{run.name} · {page.moment(run.created, '%d %b %H:%M')} · {fails} {'failure' if fails == 1 else 'failures'}"


@st.cache_resource(max_entries=8, ttl=1800, show_spinner="Reading the report …")
def _read(text: str) -> Report:
    return from_json(text)


def keep(store: Store, project: Project, report: Report) -> None:
    """Save a report and open it in the next rerun."""
    run = store.stress.save(project.id, report.name.strip() or "Report", as_json(report), settings_of(report))
    st.session_state[_NEXT] = run.id


def _manage(project: Project, run: StressTestRun) -> None:
    store = wiring.store()

    @errors.guarded
    def rename() -> None:
        store.stress.rename(project.id, run.id, st.session_state[f"lab-name-{run.id}"])

    @errors.guarded
    def delete() -> None:
        st.session_state[_GONE] = DeletedRun(project.id, run, store.stress.report(project.id, run.id))
        store.stress.delete(project.id, run.id)
        st.session_state[_NEXT] = NEW

    with st.popover("Rename", icon=":material/edit:"):
        st.text_input("Name of the run", run.name, key=f"lab-name-{run.id}", on_change=rename, max_chars=LONGEST_NAME)
    st.button("Delete", icon=":material/delete:", on_click=delete, key="lab-delete")


def _undo(project: Project) -> None:
    gone: DeletedRun | None = st.session_state.get(_GONE)
    if gone is None or gone.project_id != project.id:
        return
    store = wiring.store()

    @errors.guarded
    def undo() -> None:
        run = store.stress.save(project.id, gone.run.name, gone.report, gone.run.settings, gone.run.created)
        st.session_state.pop(_GONE, None)
        st.session_state[_NEXT] = run.id

    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Deleted: {escape_markdown(gone.run.name)}.", width="content")
        st.button("Undo", on_click=undo, icon=":material/undo:", key="lab-undo")


def _upload(project: Project) -> None:
    """Draw the upload of a report that the command line wrote."""
    store, n = wiring.store(), st.session_state.setdefault(_UPLOADS, 0)
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
                "this file is not text", where=sent.name, expected="a JSON report in UTF-8", hint="Choose the file that the command line wrote"
            ) from error  # fmt: skip
        keep(store, project, from_json(text))

    with st.popover("Open a report file", icon=":material/upload_file:"):
        st.file_uploader(
            "Report of stress tests (JSON), from this page or the command line", ["json"], key=key, on_change=take
        )


def _downloads(project: Project, report: Report) -> None:
    stem = f"{file_name(project.name)}.{file_name(report.name)}"
    with st.container(horizontal=True):
        for label, ending, write in (("JSON", "json", as_json), ("CSV", "csv", as_csv), ("HTML page", "html", as_html)):
            download(label, partial(write, report), f"{stem}.{ending}", f"lab-file-{ending}")
