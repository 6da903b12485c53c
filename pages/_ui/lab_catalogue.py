"""The catalogue of a run: a sentence, and a verdict for every test and metric; a click opens what stands behind it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.plots import stress as plots
from core.services.lab.report import Cell, Report
from core.services.lab.saved import ASPECTS, Evidence, evidence, headline
from pages._ui import errors
from pages._ui.errors import plain

TEST, METRIC = "lab-test", "lab-metric"
SMALL = " (small)"


def draw(report: Report) -> None:
    """Headline, catalogue, and what it rests on."""
    st.markdown(f"#### {plain(headline(report))}.")
    drawn = f"{report.seeds} seeds" if report.seeds != 1 else "one seed"
    gold = "the references" if report.gold == "reference" else report.gold
    st.caption(
        plain(
            f"{report.texts:,} good texts ({gold}; {report.data}), {drawn}. The number is how much worse (−) or better (+) the mean score becomes "
            "where that is largest, in % of gold; in the metric’s unit where gold is about 0. Click a cell for what stands behind it."
        )
    )
    small = [m.label for m in report.metrics if m.small]
    rows = _rows(report)
    key = "lab-catalogue"

    @errors.guarded
    def clicked() -> None:
        for point in list(st.session_state[key].get("selection", {}).get(plots.PICK) or [])[:1]:
            st.session_state[TEST], st.session_state[METRIC] = str(point["test"]), str(point["metric"])

    with st.container(key="lab-wide"):
        st.html("<style>.st-key-lab-wide { overflow-x: auto; }</style>")
        heads = [a.capitalize() for a in ASPECTS]
        st.altair_chart(plots.catalogue(rows, heads), width="content", key=key, on_select=clicked)
    st.caption(
        "✕ fails: at some level no drop worth the name, or more noise shown to score better. ✓ holds: every level is shown to be "
        "worse (p < .05, Holm). ? unclear: neither is shown. – untold: too few texts, or no scores."
    )
    if small:
        st.caption(
            plain(
                f"Small bundled models speak in {', '.join(small)}: what they miss here, the published models may see."
            )
        )
    for note in report.notes:
        st.caption(plain(note))
    with st.expander("Signatures: what everything was computed with"):
        st.text("\n".join([*(m.signature for m in report.metrics), *(t.signature for t in report.tests)]))


def label_of(report: Report, metric: str) -> str:
    """A metric as it is called, marked where a small bundled model speaks."""
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


def _row(report: Report, cell: Cell, label: str) -> dict[str, object]:
    found = evidence(cell)
    drop = p = ""
    if found is not None:
        drop = f"{found.point.label}: {_told(found)}"
        p = "" if found.point.p is None else f"{found.point.p:.3f}"
    return {
        "test": cell.test, "metric": cell.metric, "row": label, "column": label_of(report, cell.metric), "verdict": cell.verdict,
        "told": _told(found) if found else "", "why": cell.why, "drop": drop, "p": p,
        "published": {True: "passes", False: "fails", None: "undefined"}[cell.published],
    }  # fmt: skip


def _told(found: Evidence) -> str:
    """A drop as the change people see: −41 % of gold, or −0.3 in the metric's unit."""
    if found.share is None:
        change = -(found.point.drop or 0.0)
        told = f"{change:+,.0f}" if abs(change) >= 10 else f"{change:+.2g}"
        return told.replace("-", "−") if change else "±0"
    number = -100 * found.share
    if abs(number) < 0.05:
        return "±0 %"
    return f"{number:+.0f} %".replace("-", "−") if abs(number) >= 10 else f"{number:+.1f} %".replace("-", "−")
