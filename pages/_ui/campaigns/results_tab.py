"""Results of a campaign: which system is best, how sure that is, and what it rests on."""

from __future__ import annotations

from collections.abc import Hashable

import pandas as pd
import streamlit as st

from core.formatting import format_count, format_number
from core.plots import campaigns as plots
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.progress import Progress
from core.reports.campaign_results import ALPHA, UNITS, digits_of, interval
from core.services.campaigns import comparison as service
from core.services.campaigns.comparison import CampaignComparison
from core.settings import load as settings
from core.stats.campaign.campaign_scores import Unit
from pages._ui.campaigns import campaign_data, results_downloads, results_raters
from pages._ui.shared import page, tables, wiring
from pages._ui.shared.glossary import definition
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown


def draw(project: Project, campaign: Campaign) -> None:
    """Draw the results, with the downloads."""
    found = _found(campaign, _unit(campaign))
    if found is None:
        return
    if not found.basis.ratings:
        page.info("No rating counts yet. Results appear with the first submitted units.")
        return
    st.subheader(escape_markdown(sentence(found)), anchor=False)
    named = campaign_data.sees_people(campaign)
    st.caption(escape_markdown(basis(campaign, found, named=named)))
    if found.votes is not None:
        _votes(found)
    else:
        _means(found)
        _differences(found)
        results_raters.draw(found, named=named)
    st.subheader("Agreement of the annotators", anchor=False)
    _agreement(found)
    results_downloads.draw(project, campaign, found)


def _unit(campaign: Campaign) -> Unit:
    snapshot = campaign_data.current(campaign)
    documents = len({a.unit.of.doc_id for a in snapshot.answers if a.counts})
    default = service.default_unit(snapshot.design, documents)
    if "preference" in snapshot.design.protocol.asks:
        return "item"
    chosen: Unit = st.segmented_control(
        "Independent units", UNITS, format_func=UNITS.__getitem__, default=default, required=True,
        key=f"campaign-unit-{campaign.id}",
        help="Whole units are resampled and tested. Choose documents if one annotator rated several segments of a document by one "
        "system: the annotator's severity then affects all of them. Documents need more data.",
    )  # fmt: skip
    return chosen


def _found(campaign: Campaign, by: Unit) -> CampaignComparison | None:
    key: tuple[Hashable, ...] = ("campaign", settings().database, campaign.id, _settled(campaign), by)

    def work(progress: Progress) -> CampaignComparison:
        return service.compare(wiring.store(), campaign, by, progress)

    return run_cached(key, "Comparing the systems …", work)


def _settled(campaign: Campaign) -> Hashable:
    """Return what the results depend on; of a running campaign, up to a minute old."""
    now = campaign_data.version(campaign)
    if campaign.state != "running":
        return now
    return _minute(settings().database, campaign.id, now[0], _newest=now[1]), now[0]


@st.cache_data(ttl=60, show_spinner=False)
def _minute(database: str, campaign_id: int, people: Hashable, *, _newest: int) -> int:
    return _newest


def sentence(found: CampaignComparison) -> str:
    """Return the main result in one sentence."""
    if found.votes is not None:
        ranked = sorted(found.votes.strengths, key=lambda s: -(s.strength.value or 0.0))
        if not ranked or ranked[0].strength.value is None:
            return "The strengths of the systems are not defined yet"
        return f"{ranked[0].system} is preferred most: strength {interval(ranked[0].strength, 2)}"
    if not found.means:
        return "No system has a score yet"
    best = found.means[0]
    beaten: list[str] = []
    open_: list[str] = []
    for d in found.differences:
        if best.system in (d.first, d.second):
            other = d.second if d.first == best.system else d.first
            (beaten if d.adjusted is not None and d.adjusted <= ALPHA else open_).append(other)
    said = f"{best.system} has the highest mean: {interval(best.mean, 1)}"
    if beaten and not open_:
        return f"{said}, significantly above all others"
    if beaten:
        return f"{said}, significantly above {', '.join(beaten)}, not above {', '.join(open_)}"
    return f"{said}. No difference from the others is significant" if open_ else said


def basis(campaign: Campaign, found: CampaignComparison, *, named: bool) -> str:
    """Return what the results rest on; excluded annotators are counted, unless they may be `named`."""
    b = found.basis
    parts = [
        f"{format_count(b.ratings, 'rating')} of {format_count(b.items, 'segment')} in {format_count(b.documents, 'document')} by "
        f"{format_count(b.raters, 'rater')}"
    ]
    low, high = b.weights
    parts.append(
        "equal weights" if high - low < 1e-9 else f"weights {low:.2f} to {high:.2f} by probability of being drawn"
    )
    if b.adjudicated:
        parts.append(f"{format_count(b.adjudicated, 'unit')} decided after disagreement")
    if b.declined:
        parts.append(f"{format_count(b.declined, 'rating')} left out because the annotator could not judge")
    if b.excluded:
        names = ", ".join(f"{name} ({why})" for name, why in b.excluded.items())
        parts.append(f"excluded: {names if named else format_count(len(b.excluded), 'annotator')}")
    if campaign.state == "running":
        parts.append("still running, up to a minute old")
    return f"{' · '.join(parts)} · seed {b.seed} · version {service.VERSION}"


def _means(found: CampaignComparison) -> None:
    st.subheader(
        "System means",
        anchor=False,
        help="Dots: means weighted by the probability of being drawn. Bars: 95 % CI, bootstrap.",
    )
    rows = [
        {"system": m.system, "value": m.mean.value, "low": m.mean.low, "high": m.mean.high,
         "shown": interval(m.mean, digits_of(found))}
        for m in found.means
    ]  # fmt: skip
    st.altair_chart(plots.means(pd.DataFrame(rows), found.measure), width="stretch")


def _differences(found: CampaignComparison) -> None:
    if not found.differences:
        page.info("Differences need two systems.")
        return
    digits, rank = digits_of(found), [m.system for m in found.means]
    st.subheader(
        "Differences between systems",
        anchor=False,
        help="Paired: only segments with scores of both systems count. p: permutation test with random signs, two-sided; Holm's "
        "correction over all pairs. 95 % CI from the same test.",
    )
    rows, chart = [], []
    for d in found.differences:
        value, low, high = d.interval.value, d.interval.low, d.interval.high
        first, second = d.first, d.second
        if rank.index(first) > rank.index(second):  # the better system first
            first, second = second, first
            value, low, high = (None if x is None else -x for x in (value, high, low))
        shown = interval(d.interval._replace(value=value, low=low, high=high), digits)
        p = "–" if d.adjusted is None else f"{format_p(d.adjusted)}"
        rows.append({
            "pair": f"{first} − {second}", "difference [95 % CI]": shown, "p": format_p(d.test.p), "p (Holm)": p,
            "segments": f"{d.shared}", "detectable": format_number(d.detectable, digits, leading_zero=True),
            "note": d.caution or d.test.reason or d.detectable_reason,
        })  # fmt: skip
        if value is not None:
            significant = d.adjusted is not None and d.adjusted <= ALPHA
            chart.append({
                "pair": f"{first} − {second}", "value": value, "low": low, "high": high, "shown": shown, "p": p,
                "significant": significant,
            })  # fmt: skip
    drawn = bool(chart) and len(chart) <= 30
    if drawn:
        st.altair_chart(plots.differences(pd.DataFrame(chart), f"difference: {found.measure}"), width="stretch")
    tables.text_table(rows)
    known = service.mean_detectable(found.differences)
    said = []
    if any(one["significant"] for one in chart):
        said += ["Blue: significant (Holm, p ≤ .05)."] if drawn else []
    elif chart:
        said.append("No difference is significant (Holm, p ≤ .05).")
    if known is not None:
        shown = format_number(known, digits, leading_zero=True)
        said.append(f"Detectable: the smallest difference found with 80 % power, on average {shown}.")
    page.caption(" ".join([*said, f"Tested over {UNITS[found.by]}."]))


def format_p(p: float | None) -> str:
    """Return p with three decimals."""
    return "–" if p is None else "< .001" if p < 0.001 else format_number(p)


def _votes(found: CampaignComparison) -> None:
    if found.votes is None:
        return
    st.subheader(
        "Strengths",
        anchor=False,
        help="Bradley–Terry: log odds of being preferred, mean 0. Ties count half. Bars: 95 % CI over segments.",
    )
    ranked = sorted(found.votes.strengths, key=lambda s: -(s.strength.value or 0.0))
    rows = [
        {"system": s.system, "value": s.strength.value, "low": s.strength.low, "high": s.strength.high,
         "shown": interval(s.strength, 2)}
        for s in ranked if s.strength.value is not None
    ]  # fmt: skip
    if rows:
        st.altair_chart(plots.means(pd.DataFrame(rows), found.measure), width="stretch")
    tables.reasons([f"{s.system}: {s.strength.reason}" for s in ranked if s.strength.reason])
    st.subheader("Pairs of systems", anchor=False)
    tables.text_table([
        {"pair": f"{r.first} against {r.second}", "won": f"{r.wins}", "tied": f"{r.ties}", "lost": f"{r.losses}",
         "win rate [95 % CI]": interval(r.rate, 2)}
        for r in found.votes.rates
    ])  # fmt: skip


def _agreement(found: CampaignComparison) -> None:
    a = found.agreement
    if a.value is None:
        page.info(f"Agreement is not defined: {escape_markdown(a.reason)}.")
        return
    st.markdown(
        escape_markdown(
            f"Krippendorff's α = {interval(a, 2)} on {format_count(a.n, 'segment')} with two or more raters"
        ),
        help=definition("Krippendorff's α"),
    )
