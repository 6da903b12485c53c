"""Results of a campaign: which system is best, how sure that is, and what it rests on."""

from __future__ import annotations

from collections.abc import Hashable

import pandas as pd
import streamlit as st

from core.formatting import format_count
from core.plots import campaigns as plots
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.progress import Progress
from core.reports import campaign_results as report
from core.services.campaigns import comparison as service
from core.services.campaigns.comparison import CampaignComparison
from core.settings import load as settings
from core.stats.campaign.campaign_scores import Unit
from pages._ui.campaigns import campaign_data, results_downloads, results_raters
from pages._ui.shared import page, tables, wiring
from pages._ui.shared.files import figure, file_name
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
    st.subheader(escape_markdown(report.sentence(found)), anchor=False)
    named = campaign_data.sees_people(campaign)
    st.caption(escape_markdown(report.basis(found, running=campaign.state == "running", named=named)))
    if found.votes is not None:
        _votes(campaign, found)
    else:
        _means(campaign, found)
        _differences(campaign, found)
        results_raters.draw(found, f"{file_name(campaign.name)}.annotators", named=named)
    st.subheader(escape_markdown(f"Agreement of the annotators ({report.agreed_on(found)})"), anchor=False)
    _agreement(found)
    results_downloads.draw(project, campaign, found)


def _unit(campaign: Campaign) -> Unit:
    snapshot = campaign_data.current(campaign)
    documents = len({a.unit.of.doc_id for a in snapshot.answers if a.counts})
    default = service.default_unit(snapshot.design, documents)
    if "preference" in snapshot.design.protocol.asks:
        return "item"
    chosen: Unit = st.segmented_control(
        "Independent units", report.UNITS, format_func=report.UNITS.__getitem__, default=default, required=True,
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


def _of_ratings(found: CampaignComparison) -> str:
    b = found.basis
    return f"{format_count(b.ratings, 'rating')} of {format_count(b.items, 'segment')} by {format_count(b.raters, 'rater')}."


def _means(campaign: Campaign, found: CampaignComparison) -> None:
    st.subheader("System means", anchor=False)
    chart = plots.means(pd.DataFrame(report.mean_rows(found)), found.measure)
    said = f"Dots: means weighted by the probability of being drawn. Bars: 95 % CI, bootstrap over {report.UNITS[found.by]}. {_of_ratings(found)}"
    figure(chart, report.sentence(found), said, f"{file_name(campaign.name)}.means")


def _differences(campaign: Campaign, found: CampaignComparison) -> None:
    if not found.differences:
        page.info("Differences need two systems.")
        return
    st.subheader(
        "Differences between systems",
        anchor=False,
        help="Paired: only segments with scores of both systems count. p: permutation test with random signs, two-sided; Holm's "
        "correction over all pairs. 95 % CI from the same test.",
    )
    rows, chart = report.difference_rows(found)
    legend = report.difference_legend(found, chart)
    if report.draws_differences(chart):
        drawing = plots.differences(pd.DataFrame(chart), f"difference: {found.measure}")
        what = f"{file_name(campaign.name)}.differences"
        figure(drawing, report.sentence(found), f"{legend} {_of_ratings(found)}", what)
    else:
        page.caption(legend)
    tables.text_table(rows)


def _votes(campaign: Campaign, found: CampaignComparison) -> None:
    if found.votes is None:
        return
    st.subheader("Strengths", anchor=False)
    if rows := report.mean_rows(found):
        said = f"Bradley–Terry: log odds of being preferred, mean 0. Ties count half. Bars: 95 % CI over segments. {_of_ratings(found)}"
        figure(
            plots.means(pd.DataFrame(rows), found.measure),
            report.sentence(found),
            said,
            f"{file_name(campaign.name)}.strengths",
        )
    tables.reasons(
        [f"{s.system}: {s.strength.reason}" for s in report.ranked_strengths(found.votes) if s.strength.reason]
    )
    st.subheader("Pairs of systems", anchor=False)
    tables.text_table(report.win_rows(found))


def _agreement(found: CampaignComparison) -> None:
    said = escape_markdown(report.agreement(found))
    if found.agreement.value is None:
        page.info(f"{said}.")
    else:
        st.markdown(said, help=definition("Krippendorff's α"))
