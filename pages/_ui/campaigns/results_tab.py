"""Results of a campaign: the ranking with its certainty, effects of annotators and of suggestions, and files."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from core.campaigns.design import design_from_json
from core.campaigns.suggestion_effect import SuggestionEffect, SuggestionReport, SuggestionRow, suggestion_report
from core.campaigns.suggestions import Suggestions
from core.formats.write import csv_text
from core.formatting import format_change, format_count, format_percent
from core.plots import campaigns
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.progress import Progress
from core.reports import campaign_results, public_page
from core.reports.campaign_results import as_latex, methods
from core.reports.suggestions import basis_sentences, effect_rows, pooling_sentence, system_rows
from core.services.campaigns import comparison as service
from core.services.campaigns import files, suggestions
from core.services.campaigns.comparison import CampaignComparison
from core.settings import load_settings
from core.stats.bootstrap import Interval
from core.stats.campaign.campaign_scores import Unit
from pages._ui.access import links
from pages._ui.campaigns import campaign_data
from pages._ui.projects import exports
from pages._ui.shared import errors, page, tables, wiring
from pages._ui.shared.files import download, figure, file_name
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

PLAIN, ADJUSTED = "mean", "adjusted for annotators and segments"
NAMES = {"item": "segments", "output": "outputs", "rater": "annotators", "residual": "rest"}


def draw_rater_effects(comparison: CampaignComparison, what: str, *, named: bool) -> None:
    """Draw the effects of annotators, with a table by name if they may be `named`. `what` names the picture of the chart."""
    st.subheader(
        "Effects of annotators",
        anchor=False,
        help="Severe annotators and hard segments lower a mean. The mixed model score = system + segment + output + annotator + "
        "rest (REML) removes both. z-scores remove each annotator's mean and spread.",
    )
    effects = comparison.effects
    if effects is None or effects.reason:
        page.info(
            f"The mixed model is not defined: {escape_markdown(effects.reason if effects else 'there are no scores')}."
        )
        return
    digits = campaign_results.digits_of(comparison)
    adjusted, chart = {m.system: m for m in effects.means}, []
    for m in comparison.means:
        estimates = [(PLAIN, m.mean)]
        if a := adjusted.get(m.system):
            estimates.append((ADJUSTED, Interval(a.mean, a.low, a.high, a.scores)))
        chart += [
            {"system": m.system, "kind": kind, "value": v.value, "low": v.low, "high": v.high,
             "shown": campaign_results.interval(v, digits)}
            for kind, v in estimates
        ]  # fmt: skip
    shares = ", ".join(f"{NAMES.get(name, name)} {format_percent(share)}" for name, share in effects.shares.items())
    note = f" {effects.note[:1].upper()}{effects.note[1:]}." if effects.note else ""
    said = (
        f"{format_count(len(effects.raters), 'annotator')}; a negative effect is a severe annotator. Of the variance within "
        f"systems: {shares}.{note}{campaign_results.without_z_scores(comparison)}"
    )
    drawing = campaigns.estimates(pd.DataFrame(chart), [PLAIN, ADJUSTED], comparison.measure)
    figure(drawing, "Means of the systems, plain and adjusted for annotators and segments", said, what)
    left, right = st.columns([3, 2], gap="large") if named else (st.container(), None)
    with left:
        tables.text_table(campaign_results.system_rows(comparison))
    if right is not None:
        ranked = sorted(effects.raters, key=lambda r: r.effect)
        with right:
            tables.text_table([
                {"annotator": r.rater, "effect on a score": format_change(r.effect, digits, leading_zero=True),
                 "ratings": f"{r.scores:,}"}
                for r in ranked
            ])  # fmt: skip


def draw_downloads(project: Project, campaign: Campaign, comparison: CampaignComparison) -> None:
    """Draw links to the pages that use the results, and the downloads. Adjudicators get none that names annotators."""
    named = campaign_data.sees_people(campaign)
    protocol = design_from_json(campaign.design).protocol
    st.subheader("Use the results", anchor=False)
    if set(protocol.asks) & {"score", "preference"}:
        name = f"{protocol.human_score} ({campaign.name})"
        st.markdown(f"These scores are in the project under the name **{escape_markdown(name)}**.")
    if "spans" in protocol.asks:
        st.markdown(
            "The error spans count as labels of the project. Raters have the name of the campaign in brackets, such as "
            f"**{escape_markdown(f'Ana ({campaign.name})')}**."
        )
    with st.container(horizontal=True):
        page.link("meta_evaluation", "Meta-evaluation: which metric agrees")
        page.link("calibrate", "Calibrate λ")
        if named:
            page.link("labels_and_raters", "Agreement in detail")
    with st.container(horizontal=True):
        name = file_name(campaign.name)
        download("Results (CSV)", lambda: as_csv(comparison), f"{name}.results.csv", f"campaign-results-{campaign.id}")
        latex = partial(as_latex, comparison, campaign.name)
        download("LaTeX table", latex, f"{name}.results.tex", f"campaign-latex-{campaign.id}")
        if named:
            with st.popover("Ratings", icon=":material/download:"), errors.boundary():
                _ratings(campaign)
            with st.popover("Labels and scores of the project", icon=":material/download:"), errors.boundary():
                exports.draw_exports(project)
    if not named:
        st.caption("Files with the ratings name the annotators, so only managers and viewers get them.")
    with st.expander("Text for your paper"):
        st.markdown(escape_markdown(methods(comparison)))
    with st.expander("Signature"):
        st.text(comparison.signature)
    running = campaign.state == "running"
    links.draw_public_page(
        project, campaign.id, campaign.name, lambda page: public_page.of_campaign(comparison, page, running=running)
    )


class ResultRow(NamedTuple):
    """A row of the file of results; its columns have these names."""

    statistic: str
    system: str
    other: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None = None
    p_holm: float | None = None
    ratings: float | None = None
    segments: int | None = None
    detectable: float | None = None


def as_csv(comparison: CampaignComparison) -> str:
    """Return the means, differences, strengths and win rates as rows."""

    def row(statistic: str, first: str, of: Interval, second: str = "", **more: Any) -> ResultRow:
        return ResultRow(statistic, first, second, of.value, of.low, of.high, **more)

    adjusted = comparison.effects.means if comparison.effects else ()
    strengths, rates = (comparison.votes.strengths, comparison.votes.rates) if comparison.votes else ((), ())
    rows = [
        *(row("mean", m.system, m.mean, ratings=m.scores, segments=m.items) for m in comparison.means),
        *(row("mean z-score", s.system, s.mean, ratings=s.scores, segments=s.items) for s in comparison.standardised),
        *(row("adjusted mean", a.system, Interval(a.mean, a.low, a.high, 0), ratings=a.scores) for a in adjusted),
        *(
            row("difference", d.first, d.interval, d.second, p=d.test.p, p_holm=d.adjusted, segments=d.shared, detectable=d.detectable)
            for d in comparison.differences
        ),
        *(row("strength", t.system, t.strength, ratings=t.votes, segments=t.strength.n) for t in strengths),
        *(
            row("win rate", r.first, r.rate, r.second, ratings=r.wins + r.ties + r.losses, segments=r.rate.n)
            for r in rates
        ),
    ]  # fmt: skip
    return csv_text((*ResultRow._fields, "signature"), [(*row, comparison.signature) for row in rows])


@st.fragment
@errors.guarded
def _ratings(campaign: Campaign) -> None:
    formats = files.FORMATS
    chosen = st.selectbox(
        "Format", formats, format_func=lambda name: formats[name].label, key=f"campaign-format-{campaign.id}"
    )
    file_format, store, who = formats[chosen], wiring.store(), wiring.identity().who
    st.caption(escape_markdown(file_format.holds))

    def made() -> bytes:
        written = files.as_file(store, campaign, chosen)
        store.audit.record(who, "exported", campaign.project_id, campaign=campaign.name, format=chosen)
        return written

    download(
        "Download", made, f"{file_name(campaign.name)}.{chosen}.{'zip' if file_format.several else file_format.ending}",
        f"campaign-export-{campaign.id}-{chosen}", type="primary", width="stretch",
    )  # fmt: skip


def draw_results(project: Project, campaign: Campaign) -> None:
    """Draw the results, with the downloads."""
    comparison = _comparison(campaign, _unit(campaign))
    if comparison is None:
        return
    if not comparison.basis.ratings:
        page.info("No rating counts yet. Results appear with the first submitted units.")
        return
    st.subheader(escape_markdown(campaign_results.sentence(comparison)), anchor=False)
    named = campaign_data.sees_people(campaign)
    st.caption(escape_markdown(campaign_results.basis(comparison, running=campaign.state == "running", named=named)))
    if comparison.votes is not None:
        _votes(campaign, comparison)
    else:
        _means(campaign, comparison)
        _differences(campaign, comparison)
        draw_rater_effects(comparison, f"{file_name(campaign.name)}.annotators", named=named)
    st.subheader(
        escape_markdown(f"Agreement of the annotators ({campaign_results.agreed_on(comparison)})"), anchor=False
    )
    _agreement(comparison)
    with errors.boundary():
        draw_effect(campaign, _settled(campaign))
    draw_downloads(project, campaign, comparison)


def _unit(campaign: Campaign) -> Unit:
    snapshot = campaign_data.current(campaign)
    documents = len({a.unit.of.doc_id for a in snapshot.answers if a.counts})
    default = service.default_unit(snapshot.design, documents)
    if "preference" in snapshot.design.protocol.asks:
        return "item"
    chosen: Unit = st.segmented_control(
        "Independent units", campaign_results.UNITS, format_func=campaign_results.UNITS.__getitem__, default=default, required=True,
        key=f"campaign-unit-{campaign.id}",
        help="Whole units are resampled and tested. Choose documents if one annotator rated several segments of a document by one "
        "system: the annotator's severity then affects all of them. Documents need more data.",
    )  # fmt: skip
    return chosen


def _comparison(campaign: Campaign, by: Unit) -> CampaignComparison | None:
    key: tuple[Hashable, ...] = ("campaign", load_settings().database, campaign.id, _settled(campaign), by)

    def work(progress: Progress) -> CampaignComparison:
        return service.compare(wiring.store(), campaign, by, progress)

    return run_cached(key, "Comparing the systems …", work)


def _settled(campaign: Campaign) -> Hashable:
    """Return what the results depend on; of a running campaign, up to a minute old."""
    now = campaign_data.version(campaign)
    if campaign.state != "running":
        return now
    return _minute(load_settings().database, campaign.id, now[0], _newest=now[1]), now[0]


@st.cache_data(ttl=60, show_spinner=False)
def _minute(database: str, campaign_id: int, people: Hashable, *, _newest: int) -> int:
    return _newest


def _of_ratings(comparison: CampaignComparison) -> str:
    b = comparison.basis
    return f"{format_count(b.ratings, 'rating')} of {format_count(b.items, 'segment')} by {format_count(b.raters, 'rater')}."


def _means(campaign: Campaign, comparison: CampaignComparison) -> None:
    st.subheader("System means", anchor=False)
    chart = campaigns.means(pd.DataFrame(campaign_results.mean_rows(comparison)), comparison.measure)
    said = f"Dots: means weighted by the probability of being drawn. Bars: 95 % CI, bootstrap over {campaign_results.UNITS[comparison.by]}. {_of_ratings(comparison)}"
    figure(chart, campaign_results.sentence(comparison), said, f"{file_name(campaign.name)}.means")


def _differences(campaign: Campaign, comparison: CampaignComparison) -> None:
    if not comparison.differences:
        page.info("Differences need two systems.")
        return
    st.subheader(
        "Differences between systems",
        anchor=False,
        help="Paired: only segments with scores of both systems count. p: permutation test with random signs, two-sided; Holm's "
        "correction over all pairs. 95 % CI from the same test.",
    )
    rows, chart = campaign_results.difference_rows(comparison)
    legend = campaign_results.difference_legend(comparison, chart)
    if campaign_results.draws_differences(chart):
        drawing = campaigns.differences(pd.DataFrame(chart), f"difference: {comparison.measure}")
        what = f"{file_name(campaign.name)}.differences"
        figure(drawing, campaign_results.sentence(comparison), f"{legend} {_of_ratings(comparison)}", what)
    else:
        page.caption(legend)
    tables.text_table(rows)


def _votes(campaign: Campaign, comparison: CampaignComparison) -> None:
    if comparison.votes is None:
        return
    st.subheader("Strengths", anchor=False)
    if rows := campaign_results.mean_rows(comparison):
        said = f"Bradley–Terry: log odds of being preferred, mean 0. Ties count half. Bars: 95 % CI over segments. {_of_ratings(comparison)}"
        chart = campaigns.means(pd.DataFrame(rows), comparison.measure)
        figure(chart, campaign_results.sentence(comparison), said, f"{file_name(campaign.name)}.strengths")
    strengths = campaign_results.ranked_strengths(comparison.votes)
    tables.reasons([f"{s.system}: {s.strength.reason}" for s in strengths if s.strength.reason])
    st.subheader("Pairs of systems", anchor=False)
    tables.text_table(campaign_results.win_rows(comparison))


def _agreement(comparison: CampaignComparison) -> None:
    said = escape_markdown(campaign_results.agreement(comparison))
    if comparison.agreement.value is None:
        page.info(f"{said}.")
    else:
        st.markdown(said, help=definition("Krippendorff's α"))


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
            download(
                "Rated outputs with arms (CSV)",
                lambda: csv_text(SuggestionRow._fields, rows),
                f"{name}.arms.csv",
                f"{key}-rows",
            )


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

    def row(name: str, system: str, e: SuggestionEffect) -> list[str | float | None]:
        numbers = (e.suggested, e.control, e.value, e.low, e.high, e.p, *e.outputs)
        return [name, system, e.kind, *numbers, e.reason]

    effects = [row(e.key, "", e) for e in report.effects] + [row("arm × system", e.key, e) for e in report.systems]
    return csv_text(columns, effects)
