"""Step 3: how many people rate, how often each output is rated, and what that costs and can show."""

from __future__ import annotations

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.formatting import format_duration
from core.services.campaigns import setup_design
from core.services.campaigns.creating import Estimate, estimate
from pages._ui.campaigns.setup import power
from pages._ui.campaigns.setup.steps import Setup
from pages._ui.shared import errors
from pages._ui.shared.markdown import escape_markdown

ASSIGNING = {"dynamic": "As people come", "fixed": "Fixed lists"}
ABOUT = (
    "The next block of units goes to whoever asks. Fast people do more, and nobody holds up the rest.",
    "Everybody has a list from the start, equally long. For people who are paid for a fixed amount of work.",
)


def draw(setup: Setup) -> None:
    """Draw the step."""
    choices = setup.choices
    st.subheader("Who rates, and how often?", anchor=False)
    left, right = st.columns([3, 2], gap="large")
    with left:
        first, second = st.columns(2)
        first.number_input(
            "Annotators",
            1,
            10_000,
            step=1,
            key=choices.widget("people"),
            help="People you plan to invite. More can join later.",
        )
        second.number_input(
            "Annotators per output",
            1,
            20,
            step=1,
            key=choices.widget("overlap"),
            help="Different people who rate each output. Two or more show how far annotators agree.",
        )
        st.radio(
            "How units are given out",
            ASSIGNING,
            format_func=ASSIGNING.__getitem__,
            captions=ABOUT,
            key=choices.widget("assigning"),
        )
        _time_and_pay(setup)
        with st.expander("Blocks and idle units"):
            _blocks(setup)
    design = None
    with right, errors.boundary():
        design = setup.design()
        _costs(setup, design)
    if design is not None:
        with errors.boundary():
            power.draw(setup, design)


def _time_and_pay(setup: Setup) -> None:
    choices, name = setup.choices, setup_design.protocol_name(setup.choices.values)
    first, second, third = st.columns(3)
    usual = setup_design.seconds_of({"protocol": name, **_systems(setup)}, setup.outline)
    first.number_input(
        "Seconds per unit",
        1.0,
        36_000.0,
        step=5.0,
        format="%.0f",
        key=choices.widget(f"seconds/{name}", usual),
        help="A unit is what is on the screen at a time. The usual time of the protocol. Replace it with the time measured in a pilot.",
    )
    second.number_input("Pay per hour", 0.0, 100_000.0, step=1.0, format="%.2f", key=choices.widget("pay_per_hour"))
    third.text_input("Currency", max_chars=setup_design.LONGEST_CURRENCY, key=choices.widget("currency"))


def _systems(setup: Setup) -> dict[str, object]:
    return {name: setup.choices[name] for name in ("some_systems", "systems")}


def _blocks(setup: Setup) -> None:
    first, second = st.columns(2)
    first.number_input(
        "Segments in a block",
        1,
        1000,
        step=1,
        key=setup.choices.widget("block_size"),
        help="One person gets up to so many consecutive segments of a document together, for the context.",
    )
    second.number_input(
        "Minutes until an idle unit goes to somebody else",
        1,
        60 * 24 * 14,
        step=10,
        key=setup.choices.widget("lease_minutes"),
        help="Only if units are given out as people come. What was labelled is kept, and counts if it is submitted late.",
    )


def _costs(setup: Setup, design: CampaignDesign) -> None:
    found = estimate(dict(setup.outline), design)
    with st.container(border=True):
        st.markdown("**Estimate**")
        st.markdown("  \n".join(f"{label}: **{escape_markdown(value)}**" for label, value in rows(found, design)))


def rows(found: Estimate, design: CampaignDesign) -> list[tuple[str, str]]:
    """Return the estimate as labels and values."""
    checking = found.all_ratings - found.ratings
    extra = [("Checks, repeats, tutorial", f"{checking:,}")] if checking else []
    shown = [
        ("Units", f"{found.units:,}"),
        ("Ratings", f"{found.ratings:,}"),
        *extra,
        ("Working time", _hours(found.hours)),
        ("Per person", _hours(found.hours_per_person)),
    ]
    return [*shown, ("Cost", f"{found.cost:,.0f} {design.currency}")] if found.cost else shown


def _hours(hours: float) -> str:
    return format_duration(hours * 3600, exact=True) if hours < 100 else f"{hours:,.0f} h"
