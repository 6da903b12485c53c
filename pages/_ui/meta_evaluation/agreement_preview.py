"""The values of all metrics under one statistic, shown while the others and the 95 % CIs are computed."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.reports import evaluation as report
from core.services.evaluate.evaluate import LABELS, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import ScoredMetric
from pages._ui.shared import tables
from pages._ui.shared.markdown import escape_markdown

BASELINES = "Baselines (do not measure quality)"
"""The row above the baselines in tables of metrics."""


def with_heading(metrics: Sequence[ScoredMetric]) -> list[ScoredMetric | None]:
    """Return metrics that end with the baselines, with None for the row above the baselines."""
    first = next((k for k, m in enumerate(metrics) if m.sentinel), len(metrics))
    return [*metrics[:first], *([None] if first < len(metrics) else []), *metrics[first:]]


def values(found: Evaluation, statistic: StatisticName) -> None:
    """Draw the result in one sentence, and the values of all metrics, best first."""
    st.markdown(f"#### {escape_markdown(report.sentence(found, statistic))}")
    tables.text_table([
        {"metric": m.label if m else BASELINES, f"{LABELS[statistic]} ↑": report.cell(found.of(m.name, statistic)) if m else ""}
        for m in with_heading([found.joined.scored_metric(name) for name in found.order(statistic)])
    ])  # fmt: skip
