"""Where the results of a campaign are used, and their files."""

from __future__ import annotations

import streamlit as st

from core.campaigns.design import design_from_json
from core.formats.write import csv_text
from core.ports.campaigns import Campaign
from core.ports.projects import Project
from core.reports import public_page
from core.reports.campaign_results import as_latex, methods
from core.services.campaigns import exporting
from core.services.campaigns.comparison import CampaignComparison
from pages._ui.access import public_pages
from pages._ui.campaigns import campaign_data
from pages._ui.labels_and_raters import known_labels
from pages._ui.projects import exports
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.markdown import escape_markdown


def draw(project: Project, campaign: Campaign, found: CampaignComparison) -> None:
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
        download("Results (CSV)", lambda: as_csv(found), f"{name}.results.csv", f"campaign-results-{campaign.id}")
        download(
            "LaTeX table",
            lambda: as_latex(found, campaign.name),
            f"{name}.results.tex",
            f"campaign-latex-{campaign.id}",
        )
        if named:
            with st.popover("Ratings", icon=":material/download:"), errors.boundary():
                _ratings(campaign)
            with st.popover("Labels and scores of the project", icon=":material/download:"), errors.boundary():
                exports.panel(
                    project, bool(known_labels.raters(project)), bool(wiring.store().scores.signatures(project.id))
                )
    if not named:
        st.caption("Files with the ratings name the annotators, so only managers and viewers get them.")
    with st.expander("Text for your paper"):
        st.markdown(escape_markdown(methods(found)))
    with st.expander("Signature"):
        st.text(found.signature)
    running = campaign.state == "running"
    public_pages.panel(
        project, campaign.id, campaign.name, lambda page: public_page.of_campaign(found, page, running=running)
    )


def as_csv(found: CampaignComparison) -> str:
    """Return the means, differences, strengths and win rates as rows."""
    rows: list[tuple[str | float | None, ...]] = []
    for m in found.means:
        rows.append(("mean", m.system, "", m.mean.value, m.mean.low, m.mean.high, None, None, m.scores, m.items, None))
    for s in found.standardised:
        rows.append(
            ("mean z-score", s.system, "", s.mean.value, s.mean.low, s.mean.high, None, None, s.scores, s.items, None)
        )
    for a in found.effects.means if found.effects else ():
        rows.append(("adjusted mean", a.system, "", a.mean, a.low, a.high, None, None, a.scores, None, None))
    for d in found.differences:
        rows.append((
            "difference", d.first, d.second, d.interval.value, d.interval.low, d.interval.high, d.test.p, d.adjusted, None,
            d.shared, d.detectable,
        ))  # fmt: skip
    for t in found.votes.strengths if found.votes else ():
        rows.append(
            (
                "strength",
                t.system,
                "",
                t.strength.value,
                t.strength.low,
                t.strength.high,
                None,
                None,
                t.votes,
                t.strength.n,
                None,
            )
        )
    for r in found.votes.rates if found.votes else ():
        n = r.wins + r.ties + r.losses
        rows.append(
            ("win rate", r.first, r.second, r.rate.value, r.rate.low, r.rate.high, None, None, n, r.rate.n, None)
        )
    columns = (
        "statistic",
        "system",
        "other",
        "value",
        "low",
        "high",
        "p",
        "p_holm",
        "ratings",
        "segments",
        "detectable",
    )
    signed = [(*row, found.signature) for row in rows]
    return csv_text((*columns, "signature"), [["" if v is None else v for v in row] for row in signed])


@st.fragment
@errors.guarded
def _ratings(campaign: Campaign) -> None:
    formats = exporting.FORMATS
    chosen = st.selectbox(
        "Format", formats, format_func=lambda name: formats[name].label, key=f"campaign-format-{campaign.id}"
    )
    wanted, store, who = formats[chosen], wiring.store(), wiring.identity().who
    st.caption(escape_markdown(wanted.holds))

    def made() -> bytes:
        written = exporting.as_file(store, campaign, chosen)
        store.audit.record(who, "exported", campaign.project_id, campaign=campaign.name, format=chosen)
        return written

    download(
        "Download", made, f"{file_name(campaign.name)}.{chosen}.{'zip' if wanted.several else wanted.ending}",
        f"campaign-export-{campaign.id}-{chosen}", type="primary", width="stretch",
    )  # fmt: skip
