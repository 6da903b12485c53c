"""Suggestions in step 2: the layer whose error spans annotators begin with, and how its effect is measured."""

from __future__ import annotations

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import Protocol
from core.campaigns.suggestions import FEWEST_CONTROLS
from core.formatting import format_count, format_percent, isolated
from core.services.campaigns import setup_design
from core.services.spans.layers import LayerInfo, list_layers
from core.spans.layers import ORIGINS
from pages._ui.campaigns.setup.choices import Setup
from pages._ui.shared import long_jobs, page, wiring

NOTHING = ""
"""The choice of no layer."""
MOST_POINTS = {True: (50.0, 0.5), False: (25.0, 0.1)}
"""The largest margin and its step, of scores from 0 to 100 and of MQM scores."""


def draw_suggestions_form(setup: Setup, protocol: Protocol) -> None:
    """Draw the choice of a layer, and of the shares that measure its effect."""
    choices, layers = setup.choices, _layers(setup)
    st.markdown("**Suggestions** (optional)")
    st.caption(
        "Annotators begin with the error spans of a model, an annotator or a file, and accept, correct or reject each. They work faster, and "
        "accept some mistakes. So some units, chosen at random, have no suggestions, and *Results* measures the difference."
    )
    if not layers:
        page.info("This project has no error spans yet. Score a judge, import a file with error spans, or annotate.")
        return
    key = choices.widget("suggestions", NOTHING)
    if st.session_state[key] not in layers:
        st.session_state[key] = NOTHING
    name = st.selectbox("Error spans of", [NOTHING, *layers], format_func=lambda n: _title(layers.get(n)), key=key)
    if name == NOTHING:
        return
    first, second, third, fourth = st.columns(4, gap="medium")
    with first:
        st.slider(
            "Units without suggestions", FEWEST_CONTROLS, 0.5, step=0.05, format="percent", key=choices.widget("control_share"),
            help="The control arm, drawn for each annotator and unit. With fewer than 20 %, intervals are too wide to learn anything.",
        )  # fmt: skip
    with second:
        st.slider(
            "Outputs with a wrong suggestion", 0.0, 0.5, step=0.05, format="percent", key=choices.widget("planted_share"),
            help="A suggestion where the layer has no error span. *Quality* shows who accepts such suggestions.",
        )  # fmt: skip
    with third:
        st.slider(
            "Suggestions withheld", 0.0, 0.5, step=0.05, format="percent", key=choices.widget("withheld_share"),
            help="Error spans of the layer that are not shown: do annotators with suggestions find them less often?",
        )  # fmt: skip
    with fourth:
        most, step = MOST_POINTS["score" in protocol.asks]
        st.number_input(
            "Margin for pooling (points)", step, most, step=step, format="%.1f",
            key=choices.widget(f"margin/{protocol.name}", setup_design.usual_margin(protocol)),
            help="Labels with and without suggestions may be used together if the effect on scores is shown to be smaller than this. Half "
            "of the smallest difference between systems that you want to claim. It cannot be changed later: “not significant” is no reason to pool.",
        )  # fmt: skip
    st.caption(
        "The error spans are copied when the campaign is created. Annotators see neither which units are in the control arm nor which "
        "suggestions are wrong. Every suggestion must be decided before a unit can be submitted."
    )


def rows(setup: Setup, design: CampaignDesign) -> list[tuple[str, str]]:
    """Return the rows of the summary; none without suggestions."""
    of = design.suggestions
    if of is None:
        return []
    label = isolated(layer.label) if (layer := _layers(setup).get(of.layer)) else "layer not there any more"
    shares = (
        f"{format_percent(of.control_share)} of units without, {format_percent(of.planted_share)} of outputs with a wrong one, "
        f"{format_percent(of.withheld_share)} withheld"
    )
    return [("Suggestions", f"{label}; {shares}"), ("Margin for pooling", f"±{of.margin:g} points")]


def _title(layer: LayerInfo | None) -> str:
    if layer is None:
        return "No suggestions"
    origin = "" if layer.origin == "annotator" else f"{ORIGINS[layer.origin]}, "
    return f"{isolated(layer.label)} ({origin}{format_count(layer.outputs, 'output')})"


def _layers(setup: Setup) -> dict[str, LayerInfo]:
    store, project = wiring.store(), setup.project.id
    known = (
        store.labels.newest(project),
        store.campaigns.versions(project),
        store.scores.signatures(project),
        store.spans.list(project),
    )
    key = ("campaign-layers", project, long_jobs.digest(*map(str, known)))
    return {
        of.name: of for of in long_jobs.compute(key, "Looking for error spans …", lambda: list_layers(store, project))
    }
