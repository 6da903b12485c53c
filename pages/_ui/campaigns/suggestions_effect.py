"""Results of a campaign with suggestions: what they changed, and whether labels with and without them may be used together."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from core.campaigns.design import design_from_json
from core.campaigns.suggestion_effect import SuggestionEffect, SuggestionReport, SuggestionRow, suggestion_report
from core.campaigns.suggestions import Suggestions
from core.formats.write import csv_text
from core.formatting import format_count
from core.ports.campaigns import Campaign
from core.progress import Progress
from core.reports.suggestions import basis_sentences, effect_rows, pooling_sentence, system_rows
from core.services.campaigns import suggestions
from core.settings import load_settings
from pages._ui.campaigns import campaign_data
from pages._ui.shared import page, tables, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown


def draw_effect(campaign: Campaign, version: Hashable) -> None:
    """Draw the section; nothing in a campaign without suggestions. `version` is what the results depend on."""
    design = design_from_json(campaign.design)
    if design.suggestions is None:
        return
    st.subheader(
        "Effect of suggestions",
        anchor=False,
        help="Units with suggestions against units without. Which annotator got them for which unit was drawn at random, so a difference is an "
        "effect of the suggestions. Labels may be pooled if the effect on scores is shown to lie within the margin.",
    )
    measured = _measured(campaign, design.suggestions, design.seed, version)
    if measured is None:
        return
    rows, report = measured
    if not rows:
        page.info("No unit with a random arm is submitted yet.")
        return
    st.markdown(f"**{escape_markdown(pooling_sentence(report))}**")
    page.caption(" ".join(basis_sentences(report)))
    tables.text_table(effect_rows(report), tall=20)
    if by_system := system_rows(report):
        st.markdown("Score effect by system, minus the mean over the systems (arm × system)")
        tables.text_table(by_system)
    page.caption(_layer(campaign))
    with st.container(horizontal=True):
        name = file_name(campaign.name)
        key = f"campaign-suggestions-{campaign.id}"
        download("Effects (CSV)", lambda: _effects_csv(report), f"{name}.suggestions.csv", key)
        if campaign_data.sees_people(campaign):
            download("Rated outputs with arms (CSV)", lambda: _rows_csv(rows), f"{name}.arms.csv", f"{key}-rows")


def _measured(
    campaign: Campaign, design: Suggestions, seed: int, version: Hashable
) -> tuple[list[SuggestionRow], SuggestionReport] | None:
    key: tuple[Hashable, ...] = ("campaign-suggestions", load_settings().database, campaign.id, version)

    def work(progress: Progress) -> tuple[list[SuggestionRow], SuggestionReport]:
        progress(0.05)
        rows = suggestions.suggestion_rows(wiring.store(), campaign, campaign_data.current(campaign).labels)
        progress(0.3)
        return rows, suggestion_report(rows, design.margin, seed=seed)

    return run_cached(key, "Measuring the effect of suggestions …", work)


def _layer(campaign: Campaign) -> str:
    """Return where the suggestions come from, and what of the layer could not be shown."""
    stored = wiring.store().settings.get(campaign.texts, suggestions.SETTING) or {}
    changed = "; ".join(f"{reason}: {n:,}" for reason, n in stored.get("changed", {}).items())
    return (
        f"Suggestions: {stored.get('label', '')}, {format_count(stored.get('spans', 0), 'error span')} in "
        f"{format_count(stored.get('outputs', 0), 'output')}, copied {stored.get('copied', '')[:10]} (SHA-256 {stored.get('sha256', '')[:12]}…)"
        f"{f'. {changed[:1].upper()}{changed[1:]}' if changed else ''}."
    )


def _effects_csv(report: SuggestionReport) -> str:
    columns = ("effect", "system", "kind", "suggested", "control", "value", "low", "high", "p", "outputs_suggested", "outputs_control", "reason")  # fmt: skip

    def row(name: str, system: str, e: SuggestionEffect) -> list[str | float]:
        numbers = (e.suggested, e.control, e.value, e.low, e.high, e.p, *e.outputs)
        return [name, system, e.kind, *("" if v is None else v for v in numbers), e.reason]

    effects = [row(e.key, "", e) for e in report.effects] + [row("arm × system", e.key, e) for e in report.systems]
    return csv_text(columns, effects)


def _rows_csv(rows: list[SuggestionRow]) -> str:
    return csv_text(SuggestionRow._fields, [["" if v is None else v for v in row] for row in rows])
