"""Step 3: how many people rate, how often each output is rated, what it costs, and which difference it can detect."""

from __future__ import annotations

import math

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.units import counts
from core.formatting import format_count, format_duration, format_number, format_percent
from core.plots.campaigns import planning_chart
from core.reports.campaign_results import format_p
from core.services.campaigns import planning, setup_design
from core.services.campaigns.planning import PilotVariances
from core.services.campaigns.setup import Estimate, estimate
from core.stats.campaign.planned_power import TIES
from pages._ui.campaigns.setup.choices import Setup
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

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


def draw_power(setup: Setup, design: CampaignDesign) -> None:
    """Draw the smallest difference, and how it depends on segments and annotators."""
    st.markdown("**Smallest difference between two systems that this plan detects**")
    if planning.prefers(design):
        _preference(setup, design)
        return
    pilot = planning.pilot(wiring.store(), setup.project.id, design)
    detectable = planning.detectable(setup.outline, design, pilot.variances)
    if detectable is None or detectable.one_pair is None:
        page.caption(f"Not computed: {detectable.reason if detectable else 'it needs two systems'}.")
        return
    mqm = "score" not in design.protocol.asks
    digits = 2 if mqm else 1
    several = detectable.all_pairs is not None and not math.isclose(detectable.all_pairs, detectable.one_pair)
    more = f"; {_points(detectable.all_pairs, digits)} if all pairs of systems are compared" if several else ""
    scale = "MQM score per output (a Minor error costs 1, a Major error 5)" if mqm else "score from 0 to 100"
    st.markdown(f"**{_points(detectable.one_pair, digits)} points** of the {scale}{more}.", help=HELP)
    _smallest_p(setup, design)
    _chart(setup, design, pilot, "detectable difference (points)")
    if pilot.campaign:
        scores = format_count(pilot.variances.scores, "score")
        page.caption(f"From the variances of the finished campaign “{pilot.campaign}”, with {scores}.")
    else:
        page.caption(MQM_ASSUMED if mqm else ASSUMED)


def _smallest_p(setup: Setup, design: CampaignDesign) -> None:
    """Draw the smallest p that the tests can give, as a warning if it is not significant."""
    smallest = planning.smallest_possible_p(setup.outline, design)
    if smallest is None:
        return
    units = format_count(smallest.units, smallest.unit if smallest.unit == "document" else "segment")
    said = f"The smallest possible p with {units} is {format_p(smallest.one)}"
    if smallest.pairs > 1:
        said += f", and {format_p(smallest.adjusted)} after Holm’s correction for {smallest.pairs} pairs of systems"
    if not smallest.too_few:
        page.caption(f"{said}.")
        return
    enough = f" Choose at least {smallest.fewest} segments." if smallest.fewest else " Choose fewer systems."
    st.warning(f"No difference can be significant. {said}.{enough}", icon=":material/rule:")


def _preference(setup: Setup, design: CampaignDesign) -> None:
    detectable = planning.detectable_preference(setup.outline, design)
    if detectable is None or detectable.one_pair is None or detectable.strength is None:
        page.caption(f"Not computed: {detectable.reason if detectable else 'it needs two systems'}.")
        return
    several = detectable.all_pairs is not None and not math.isclose(detectable.all_pairs, detectable.one_pair)
    more = f"; {format_percent(detectable.all_pairs)} if all pairs of systems are compared" if several else ""
    st.markdown(
        f"**{format_percent(detectable.one_pair)}** of the comparisons won by the better system, ties counted half{more}. "
        f"{format_percent(detectable.one_pair)} is a difference of {format_number(detectable.strength, 2, leading_zero=True)} in Bradley–Terry strength.",
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


def draw_people_step(setup: Setup) -> None:
    choices = setup.choices
    st.subheader("Who rates, and how often?", anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        first, second = st.columns(2)
        choices.draw("people", first)
        choices.draw("overlap", second)
        choices.draw("assigning")
        _time_and_pay(setup)
        with st.expander("Blocks and idle units"):
            for name, place in zip(("block_size", "lease_minutes"), st.columns(2), strict=True):
                choices.draw(name, place)
    design = None
    with right, errors.boundary():
        design = setup.design()
        _costs(setup, design)
    if design is not None:
        with errors.boundary():
            draw_power(setup, design)


def _time_and_pay(setup: Setup) -> None:
    choices, name = setup.choices, setup_design.protocol_name(setup.choices.values)
    first, second, third = st.columns(3)
    usual = setup_design.seconds_of({"protocol": name, **_systems(setup)}, setup.outline)
    choices.draw(f"seconds/{name}", first, usual)
    choices.draw("pay_per_hour", second)
    choices.draw("currency", third)


def _systems(setup: Setup) -> dict[str, object]:
    return {name: setup.choices[name] for name in ("some_systems", "systems")}


def _costs(setup: Setup, design: CampaignDesign) -> None:
    costs = estimate(dict(setup.outline), design)
    with st.container(border=True):
        st.markdown("**Estimate**")
        st.markdown("  \n".join(f"{label}: **{escape_markdown(value)}**" for label, value in rows(costs, design)))


def rows(costs: Estimate, design: CampaignDesign) -> list[tuple[str, str]]:
    """Return the estimate as labels and values."""
    checking = costs.all_ratings - costs.ratings
    extra = [("Checks, repeats, tutorial", f"{checking:,}")] if checking else []
    shown = [
        ("Units", f"{costs.units:,}"),
        ("Ratings", f"{costs.ratings:,}"),
        *extra,
        ("Working time", _hours(costs.hours)),
        ("Per person", _hours(costs.hours_per_person)),
    ]
    return [*shown, ("Cost", f"{costs.cost:,.0f} {design.currency}")] if costs.cost else shown


def _hours(hours: float) -> str:
    return format_duration(hours * 3600, exact=True) if hours < 100 else f"{hours:,.0f} h"
