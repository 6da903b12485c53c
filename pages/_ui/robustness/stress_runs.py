"""Saved runs of stress tests, and the verdicts of a run by test and metric."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import streamlit as st

from core.errors import UserError
from core.formatting import format_change, format_figure, format_number
from core.plots import robustness
from core.ports.projects import Project
from core.ports.robustness import LONGEST_NAME, StressTestRun
from core.ports.store import Store
from core.reports.stress import as_csv, as_html
from core.robustness.stress.report import Report, StressTestResult, as_json, from_json
from core.services.robustness.stress_test_runs import ASPECTS, Evidence, evidence, headline, run_settings
from pages._ui.robustness.controls import RUN, wide_chart
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.files import downloads, file_name
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
    downloads(
        file_name(report.name), "lab-file", ("JSON", "json", lambda: as_json(report)), ("CSV", "csv", lambda: as_csv(report)),
        ("HTML page", "html", lambda: as_html(report)),
    )  # fmt: skip
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
    run = store.stress.save(project.id, report.name.strip() or "Report", as_json(report), run_settings(report))
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


TEST, METRIC = "lab-test", "lab-metric"
SMALL = " (small)"
_CLICKED = "lab-catalogue-clicked"


def draw_stress_catalogue(report: Report) -> None:
    """Draw the headline, the table of verdicts, and the signatures."""
    st.markdown(f"#### {escape_markdown(headline(report))}.")
    drawn = f"{report.seeds} seeds" if report.seeds != 1 else "one seed"
    gold = "the references" if report.gold == "reference" else report.gold
    page.caption(
        f"{report.texts:,} good texts ({gold}; {report.data}), {drawn}. Numbers: largest change of the mean score, worse (−) or better (+), in % of "
        "the good texts’ score (in the metric’s unit if that is about 0). Click a cell for its evidence."
    )
    small = [m.label for m in report.metrics if m.small]
    key = "lab-catalogue"

    @errors.guarded
    def clicked() -> None:
        points = list(st.session_state[key].get("selection", {}).get(robustness.PICK) or [])[:1]
        if points == st.session_state.get(_CLICKED):  # sent again with another click: it must not undo a later choice
            return
        st.session_state[_CLICKED] = points
        for point in points:
            st.session_state[TEST], st.session_state[METRIC] = str(point["test"]), str(point["metric"])

    chart = robustness.catalogue(_rows(report), [a.capitalize() for a in ASPECTS])
    said = (
        "✕ fail: at some level no meaningful drop (at least 0.1 SD), or more noise scores better. ✓ pass: every level scores worse "
        "(p < .05, Holm). ? inconclusive: neither is significant. – no result: too few texts, or no scores."
    )
    wide_chart(chart, "lab-wide", f"{headline(report)}.", said, "stress-tests", key=key, on_select=clicked)
    if small:
        page.caption(
            f"{', '.join(small)} use small bundled models: published models may notice errors that these miss."
        )
    for note in report.notes:
        page.caption(note)
    with st.expander("Signatures"):
        st.text("\n".join([*(m.signature for m in report.metrics), *(t.signature for t in report.tests)]))


def label_of(report: Report, metric: str) -> str:
    """Return the label of a metric, marked if it uses a small bundled model."""
    spec = report.metric(metric)
    return spec.label + (SMALL if spec.small else "")


def _rows(report: Report) -> pd.DataFrame:
    order, rows = [], []
    for aspect in ASPECTS:
        tests = [t for t in report.tests if t.aspect == aspect]
        order += [aspect.capitalize(), *(t.label for t in tests)] if tests else []
        rows += [_row(report, report.cell(t.name, m.name), t.label) for t in tests for m in report.metrics]
    frame = pd.DataFrame(rows)
    frame.attrs["order"] = order
    return frame


def _row(report: Report, cell: StressTestResult, label: str) -> dict[str, object]:
    strongest = evidence(cell)
    drop = p = ""
    if strongest is not None:
        drop = f"{strongest.point.label}: {_drop_text(strongest)}"
        p = "" if strongest.point.p is None else format_number(strongest.point.p)
    return {
        "test": cell.test, "metric": cell.metric, "row": label, "column": label_of(report, cell.metric), "verdict": cell.verdict,
        "told": _drop_text(strongest) if strongest else "", "why": cell.why, "drop": drop, "p": p,
        "published": {True: "passes", False: "fails", None: "undefined"}[cell.published],
    }  # fmt: skip


def _drop_text(strongest: Evidence) -> str:
    """Return a drop as text: −41 % (of the gold score), or −0.3 in the metric's unit."""
    if strongest.share is None:
        change = -(strongest.point.drop or 0.0)
        if not change or abs(change) >= 10:
            return format_change(change, 0)
        return f"{'+' if change > 0 else ''}{format_figure(float(f'{change:.2g}'))}"
    number = -100 * strongest.share
    return f"{format_change(number, 0 if abs(number) >= 10 else 1, leading_zero=True)} %"
