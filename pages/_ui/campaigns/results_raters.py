"""Effects of annotators on the results: means adjusted for their severity beside the plain means."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.formatting import format_change, format_count, format_percent
from core.plots import campaigns as plots
from core.reports import campaign_results as report
from core.services.campaigns.comparison import CampaignComparison
from core.stats.bootstrap import Interval
from pages._ui.shared import page, tables
from pages._ui.shared.files import figure
from pages._ui.shared.markdown import escape_markdown

PLAIN, ADJUSTED = "mean", "adjusted for annotators and segments"
NAMES = {"item": "segments", "output": "outputs", "rater": "annotators", "residual": "rest"}


def draw(found: CampaignComparison, what: str, *, named: bool) -> None:
    """Draw the effects of annotators, with a table by name if they may be `named`. `what` names the picture of the chart."""
    st.subheader(
        "Effects of annotators",
        anchor=False,
        help="Severe annotators and hard segments lower a mean. The mixed model score = system + segment + output + annotator + "
        "rest (REML) removes both. z-scores remove each annotator's mean and spread.",
    )
    effects = found.effects
    if effects is None or effects.reason:
        page.info(
            f"The mixed model is not defined: {escape_markdown(effects.reason if effects else 'there are no scores')}."
        )
        return
    digits = report.digits_of(found)
    adjusted, chart = {m.system: m for m in effects.means}, []
    for m in found.means:
        estimates = [(PLAIN, m.mean)]
        if a := adjusted.get(m.system):
            estimates.append((ADJUSTED, Interval(a.mean, a.low, a.high, a.scores)))
        chart += [
            {
                "system": m.system,
                "kind": kind,
                "value": v.value,
                "low": v.low,
                "high": v.high,
                "shown": report.interval(v, digits),
            }
            for kind, v in estimates
        ]
    shares = ", ".join(f"{NAMES.get(name, name)} {format_percent(share)}" for name, share in effects.shares.items())
    note = f" {effects.note[:1].upper()}{effects.note[1:]}." if effects.note else ""
    said = (
        f"{format_count(len(effects.raters), 'annotator')}; a negative effect is a severe annotator. Of the variance within "
        f"systems: {shares}.{note}"
    )
    drawing = plots.estimates(pd.DataFrame(chart), [PLAIN, ADJUSTED], found.measure)
    figure(drawing, "Means of the systems, plain and adjusted for annotators and segments", said, what)
    left, right = st.columns([3, 2], gap="large") if named else (st.container(), None)
    with left:
        tables.text_table(report.system_rows(found))
    if right is not None:
        ranked = sorted(effects.raters, key=lambda r: r.effect)
        with right:
            tables.text_table([
                {"annotator": r.rater, "effect on a score": format_change(r.effect, digits, leading_zero=True),
                 "ratings": f"{r.scores:,}"}
                for r in ranked
            ])  # fmt: skip
