"""Effects of annotators on the results: means adjusted for their severity beside the plain means."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.formatting import format_change, format_count, format_number, format_percent
from core.plots import campaigns as plots
from core.services.campaigns.comparison import CampaignComparison
from pages._ui.shared import page, tables
from pages._ui.shared.markdown import escape_markdown

PLAIN, ADJUSTED = "mean", "adjusted for annotators and segments"
NAMES = {"item": "segments", "output": "outputs", "rater": "annotators", "residual": "rest"}


def draw(found: CampaignComparison, *, named: bool) -> None:
    """Draw the effects of annotators, with a table by name if they may be `named`."""
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
    digits = 1 if "100" in found.measure else 2

    def shown(value: float | None, low: float | None = None, high: float | None = None) -> str:
        text = format_number(value, digits, leading_zero=True)
        if low is None or high is None:
            return text
        return f"{text} [{format_number(low, digits, leading_zero=True)}, {format_number(high, digits, leading_zero=True)}]"

    adjusted, z = {m.system: m for m in effects.means}, {m.system: m for m in found.standardised}
    chart, rows = [], []
    for m in found.means:
        a, standard = adjusted.get(m.system), z.get(m.system)
        plain = shown(m.mean.value, m.mean.low, m.mean.high)
        chart.append(
            {
                "system": m.system,
                "kind": PLAIN,
                "value": m.mean.value,
                "low": m.mean.low,
                "high": m.mean.high,
                "shown": plain,
            }
        )
        if a is not None:
            text = shown(a.mean, a.low, a.high)
            chart.append(
                {"system": m.system, "kind": ADJUSTED, "value": a.mean, "low": a.low, "high": a.high, "shown": text}
            )
        rows.append({
            "system": m.system, "mean": plain, "adjusted mean": shown(a.mean, a.low, a.high) if a else "–",
            "mean z-score": format_number(standard.mean.value if standard else None, 2, leading_zero=True),
            "ratings": f"{m.scores:,}",
        })  # fmt: skip
    st.altair_chart(plots.estimates(pd.DataFrame(chart), [PLAIN, ADJUSTED], found.measure), width="stretch")
    left, right = st.columns([3, 2], gap="large") if named else (st.container(), None)
    with left:
        tables.text_table(rows)
    if right is not None:
        ranked = sorted(effects.raters, key=lambda r: r.effect)
        with right:
            tables.text_table([
                {"annotator": r.rater, "effect on a score": format_change(r.effect, digits, leading_zero=True),
                 "ratings": f"{r.scores:,}"}
                for r in ranked
            ])  # fmt: skip
    shares = ", ".join(f"{NAMES.get(name, name)} {format_percent(share)}" for name, share in effects.shares.items())
    note = f" {effects.note[:1].upper()}{effects.note[1:]}." if effects.note else ""
    page.caption(
        f"{format_count(len(effects.raters), 'annotator')}; a negative effect is a severe annotator. Of the variance within "
        f"systems: {shares}.{note}"
    )
