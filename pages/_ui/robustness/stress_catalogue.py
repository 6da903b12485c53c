"""The results of a run: a sentence, and the verdict of every test and metric; a click opens its evidence."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.formatting import format_change, format_figure, format_number
from core.plots import stress as plots
from core.robustness.stress.report import Report, StressTestResult
from core.services.robustness.stress_test_runs import ASPECTS, Evidence, evidence, headline
from pages._ui.robustness.controls import wide_chart
from pages._ui.shared import errors, page
from pages._ui.shared.markdown import escape_markdown

TEST, METRIC = "lab-test", "lab-metric"
SMALL = " (small)"
_CLICKED = "lab-catalogue-clicked"


def draw(report: Report) -> None:
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
        points = list(st.session_state[key].get("selection", {}).get(plots.PICK) or [])[:1]
        if points == st.session_state.get(_CLICKED):  # sent again with another click: it must not undo a later choice
            return
        st.session_state[_CLICKED] = points
        for point in points:
            st.session_state[TEST], st.session_state[METRIC] = str(point["test"]), str(point["metric"])

    chart = plots.catalogue(_rows(report), [a.capitalize() for a in ASPECTS])
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
    found = next(m for m in report.metrics if m.name == metric)
    return found.label + (SMALL if found.small else "")


def _rows(report: Report) -> pd.DataFrame:
    cells = {(c.test, c.metric): c for c in report.cells}
    order, rows = [], []
    for aspect in ASPECTS:
        tests = [t for t in report.tests if t.aspect == aspect]
        order += [aspect.capitalize(), *(t.label for t in tests)] if tests else []
        rows += [
            _row(report, cells[t.name, m.name], t.label)
            for t in tests
            for m in report.metrics
            if (t.name, m.name) in cells
        ]
    frame = pd.DataFrame(rows)
    frame.attrs["order"] = order
    return frame


def _row(report: Report, cell: StressTestResult, label: str) -> dict[str, object]:
    found = evidence(cell)
    drop = p = ""
    if found is not None:
        drop = f"{found.point.label}: {_told(found)}"
        p = "" if found.point.p is None else format_number(found.point.p)
    return {
        "test": cell.test, "metric": cell.metric, "row": label, "column": label_of(report, cell.metric), "verdict": cell.verdict,
        "told": _told(found) if found else "", "why": cell.why, "drop": drop, "p": p,
        "published": {True: "passes", False: "fails", None: "undefined"}[cell.published],
    }  # fmt: skip


def _told(found: Evidence) -> str:
    """Return a drop as text: −41 % (of the gold score), or −0.3 in the metric's unit."""
    if found.share is None:
        change = -(found.point.drop or 0.0)
        if not change or abs(change) >= 10:
            return format_change(change, 0)
        return f"{'+' if change > 0 else ''}{format_figure(float(f'{change:.2g}'))}"
    number = -100 * found.share
    return f"{format_change(number, 0 if abs(number) >= 10 else 1, leading_zero=True)} %"
