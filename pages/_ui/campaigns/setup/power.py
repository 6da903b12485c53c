"""Which difference between systems a planned campaign can detect: of scores, of MQM scores, or of preferences."""

from __future__ import annotations

import math

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.selection import counts
from core.formatting import format_count, format_number, format_percent
from core.plots.campaign_planning import planning_chart
from core.reports.campaign_results import format_p
from core.services.campaigns import planning
from core.services.campaigns.planning import PilotVariances
from core.stats.campaign.planned_power import TIES
from pages._ui.campaigns.setup.steps import Setup
from pages._ui.shared import page, wiring

HELP = "With 80 % power at p < .05, for a paired test over segments. For all pairs, p is corrected by Holm's method."
ASSUMED = (
    "Assumed standard deviations: 10 points between outputs, 7 between annotators, 10 within an annotator. Finish a small pilot in "
    "this project, and its variances replace them."
)
MQM_ASSUMED = (
    "Assumed standard deviations: 2.9 points between outputs and 1.6 between annotators, as in WMT’s MQM labels of TED talks "
    "(single sentences). Paragraphs have more errors and need larger differences. Finish a small pilot in this project, and its "
    "variances replace them."
)
VOTES_ASSUMED = f"Found by simulation. Assumed: {format_percent(TIES)} ties between equal systems, and a κ of .33 between two annotators of a pair."


def draw(setup: Setup, design: CampaignDesign) -> None:
    """Draw the smallest difference, and how it depends on segments and annotators."""
    st.markdown("**Smallest difference between two systems that this plan detects**")
    if planning.prefers(design):
        _preference(setup, design)
        return
    pilot = planning.pilot(wiring.store(), setup.project.id, design)
    found = planning.detectable(setup.outline, design, pilot.variances)
    if found is None or found.one_pair is None:
        page.caption(f"Not computed: {found.reason if found else 'it needs two systems'}.")
        return
    mqm = "score" not in design.protocol.asks
    digits = 2 if mqm else 1
    several = found.all_pairs is not None and not math.isclose(found.all_pairs, found.one_pair)
    more = f"; {_points(found.all_pairs, digits)} if all pairs of systems are compared" if several else ""
    scale = "MQM score per output (a Minor error costs 1, a Major error 5)" if mqm else "score from 0 to 100"
    st.markdown(f"**{_points(found.one_pair, digits)} points** of the {scale}{more}.", help=HELP)
    _smallest_p(setup, design)
    _chart(setup, design, pilot, "detectable difference (points)")
    if pilot.campaign:
        scores = format_count(pilot.variances.scores, "score")
        page.caption(f"From the variances of the finished campaign “{pilot.campaign}”, with {scores}.")
    else:
        page.caption(MQM_ASSUMED if mqm else ASSUMED)


def _smallest_p(setup: Setup, design: CampaignDesign) -> None:
    """Draw the smallest p that the tests can give, as a warning if it is not significant."""
    found = planning.smallest_possible_p(setup.outline, design)
    if found is None:
        return
    units = format_count(found.units, found.unit if found.unit == "document" else "segment")
    said = f"The smallest possible p with {units} is {format_p(found.one)}"
    if found.pairs > 1:
        said += f", and {format_p(found.adjusted)} after Holm’s correction for {found.pairs} pairs of systems"
    if not found.too_few:
        page.caption(f"{said}.")
        return
    enough = f" Choose at least {found.fewest} segments." if found.fewest else " Choose fewer systems."
    st.warning(f"No difference can be significant. {said}.{enough}", icon=":material/rule:")


def _preference(setup: Setup, design: CampaignDesign) -> None:
    found = planning.detectable_preference(setup.outline, design)
    if found is None or found.one_pair is None or found.strength is None:
        page.caption(f"Not computed: {found.reason if found else 'it needs two systems'}.")
        return
    several = found.all_pairs is not None and not math.isclose(found.all_pairs, found.one_pair)
    more = f"; {format_percent(found.all_pairs)} if all pairs of systems are compared" if several else ""
    st.markdown(
        f"**{format_percent(found.one_pair)}** of the comparisons won by the better system, ties counted half{more}. "
        f"{format_percent(found.one_pair)} is a difference of {format_number(found.strength, 2, leading_zero=True)} in Bradley–Terry strength.",
        help=HELP,
    )
    _chart(setup, design, PilotVariances(planning.assumed(design)), "win share above 50 % (points)")
    page.caption(VOTES_ASSUMED)


def _chart(setup: Setup, design: CampaignDesign, pilot: PilotVariances, title: str) -> None:
    chart = planning.detectable_curve(setup.outline, design, pilot.variances)
    segments = counts(setup.outline, design.systems, design.segments).segments
    if chart:
        st.altair_chart(planning_chart(chart, segments, design.overlap, title), width="stretch")


def _points(value: float | None, digits: int) -> str:
    return format_number(value, digits, leading_zero=True)
