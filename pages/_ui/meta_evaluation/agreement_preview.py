"""The values of all metrics under one statistic, shown while the others and the 95 % CIs are computed."""

from __future__ import annotations

import streamlit as st

from core.reports import evaluation as report
from core.services.evaluate.evaluate import LABELS, Evaluation, StatisticName
from pages._ui.shared import tables
from pages._ui.shared.markdown import escape_markdown


def values(found: Evaluation, statistic: StatisticName) -> None:
    """Draw the result in one sentence, and the values of all metrics, best first."""
    st.markdown(f"#### {escape_markdown(report.sentence(found, statistic))}")
    tables.text_table([
        {"metric": found.joined.scored_metric(name).label, f"{LABELS[statistic]} ↑": report.cell(found.of(name, statistic))}
        for name in found.order(statistic)
    ])  # fmt: skip
