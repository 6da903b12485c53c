"""The values of all metrics, shown while their intervals are computed."""

from __future__ import annotations

import streamlit as st

from core.reports import evaluation as report
from core.services.evaluate.evaluate import LABELS, STATISTICS, Evaluation, StatisticName
from pages._ui.shared import tables
from pages._ui.shared.markdown import escape_markdown


def values(found: Evaluation, statistic: StatisticName) -> None:
    """Draw the result in one sentence, and metric × statistic, best first."""
    st.markdown(f"#### {escape_markdown(report.sentence(found, statistic))}")
    names = STATISTICS[found.choice.level]
    tables.text_table([
        {"metric": found.joined.scored_metric(name).label} | {f"{LABELS[n]} ↑": report.cell(found.of(name, n)) for n in names}
        for name in found.order(statistic)
    ])  # fmt: skip
