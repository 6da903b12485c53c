"""Step 2: what annotators are asked, with which words, and the suggestions that they begin with."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import (
    NOTES,
    PROTOCOLS,
    STARTING_POINTS,
    Protocol,
    ProtocolName,
    StartingPoint,
)
from core.formatting import format_count, format_percent, isolated
from core.mqm.typology import TYPOLOGIES
from core.services.campaigns import setup_design
from core.services.spans.layers import LayerInfo, list_layers
from core.spans.layers import ORIGINS
from pages._ui.campaigns.setup.choices import Setup
from pages._ui.labels_and_raters.labelled_output import category_columns
from pages._ui.shared import errors, long_jobs, page, wiring
from pages._ui.shared.markdown import escape_markdown


def draw_protocol_step(setup: Setup) -> None:
    choices = setup.choices
    st.subheader("What are annotators asked?", anchor=False)
    _starting_points(setup)
    titles = {name: f"**{PROTOCOLS[name].title}**" for name in NOTES}
    name: ProtocolName = st.radio(
        "Protocol", list(NOTES), format_func=titles.__getitem__, captions=[_caption(n) for n in NOTES],
        key=choices.widget("protocol"), label_visibility="collapsed",
    ) or "esa"  # fmt: skip
    base = PROTOCOLS[name]
    st.markdown("**Texts that annotators see** (the usual ones unless you change them)")
    with st.expander("Instructions"):
        _instructions(setup, base)
    if "score" in base.asks:
        with st.expander("Words under the score"):
            st.caption("What values of the score mean, from 0 to 100.")
            choices.table(
                f"anchors/{name}", setup_design.anchor_rows(base), num_rows="dynamic", column_config=_anchors()
            )
    if "spans" in base.asks:
        title = setup_design.typology_of(choices.values, setup.own).title
        with st.expander(f"Severities and categories: {escape_markdown(title)}" if name == "mqm" else "Severities"):
            _severities(setup, base)
    if "preference" in base.asks:
        choices.draw("ties", default=True)
    with errors.boundary():
        setup_design.protocol_of(choices.values, setup.own)
    if "spans" in base.asks:
        with errors.boundary():
            _suggestions(setup, base)


def _caption(name: ProtocolName) -> str:
    note = NOTES[name]
    per = "pair" if name == "pairwise" else "output"
    return f"{note.asks} {note.good_for} About {note.seconds:g} s per {per}."


def _starting_points(setup: Setup) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Start from:", width="content")
        for point in STARTING_POINTS:
            st.button(
                point.title,
                key=f"campaign-start-from-{point.title}",
                help=point.about,
                on_click=_use,
                args=(setup, point),
            )


def _use(setup: Setup, point: StartingPoint) -> None:
    setup.choices.gather()
    setup.choices.put_all(point.choices)


def _instructions(setup: Setup, base: Protocol) -> None:
    name = f"instructions/{base.name}"
    edit, preview = st.tabs(["Edit", "Preview"])
    with edit:
        setup.choices.draw(name, default=base.instructions.strip())
        if name in setup.choices.values:
            st.button("Use the usual instructions", on_click=setup.choices.drop, args=(name,), type="tertiary")
    with preview:
        st.markdown(str(setup.choices.values.get(name, base.instructions)))


def _anchors() -> dict[str, Any]:
    columns = st.column_config
    return {
        "value": columns.NumberColumn("Score", min_value=0, max_value=100, step=1, width="small"),
        "text": columns.TextColumn("Meaning", width="large"),
    }


def _severities(setup: Setup, base: Protocol) -> None:
    choices = setup.choices
    choices.draw(f"severities/{base.name}", default=tuple(base.severities))
    if base.name != "mqm":
        page.caption("This protocol asks for no category, except that a part of the source is missing.")
        return
    usual = setup_design.usual_typology(setup.own)
    titles = {name: typology.title for name, typology in TYPOLOGIES.items()}
    titles = {usual: f"{setup.own.title} (of this project)"} | {n: t for n, t in titles.items() if n != usual}
    key = choices.widget("typology", usual)
    if st.session_state[key] not in titles:
        st.session_state[key] = usual
    name = st.selectbox("Error typology", titles, format_func=titles.__getitem__, key=key)
    typology = setup.own if name == usual else TYPOLOGIES[name]
    rows = setup_design.category_rows(typology)
    choices.table(f"categories/{name}", rows, num_rows="dynamic", column_config=category_columns())
    page.caption("Write “Group/Category” for a category in a group.")


NOTHING = ""
"""The choice of no layer."""
MOST_POINTS = {True: (50.0, 0.5), False: (25.0, 0.1)}
"""The largest margin and its step, of scores from 0 to 100 and of MQM scores."""


def _suggestions(setup: Setup, protocol: Protocol) -> None:
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
    name = st.selectbox(
        "Error spans of", [NOTHING, *layers], format_func=lambda n: _layer_title(layers.get(n)), key=key
    )
    if name == NOTHING:
        return
    *places, last = st.columns(4, gap="medium")
    for share, place in zip(("control_share", "planted_share", "withheld_share"), places, strict=True):
        choices.draw(share, place)
    most, step = MOST_POINTS["score" in protocol.asks]
    limits = {"min_value": step, "max_value": most, "step": step}
    choices.draw(f"margin/{protocol.name}", last, setup_design.usual_margin(protocol), **limits)
    st.caption(
        "The error spans are copied when the campaign is created. Annotators see neither which units are in the control arm nor which "
        "suggestions are wrong. Every suggestion must be decided before a unit can be submitted."
    )


def suggestion_rows(setup: Setup, design: CampaignDesign) -> list[tuple[str, str]]:
    """Return the rows of the summary on suggestions; none without suggestions."""
    of = design.suggestions
    if of is None:
        return []
    label = isolated(layer.label) if (layer := _layers(setup).get(of.layer)) else "layer not there any more"
    shares = (
        f"{format_percent(of.control_share)} of units without, {format_percent(of.planted_share)} of outputs with a wrong one, "
        f"{format_percent(of.withheld_share)} withheld"
    )
    return [("Suggestions", f"{label}; {shares}"), ("Margin for pooling", f"±{of.margin:g} points")]


def _layer_title(layer: LayerInfo | None) -> str:
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
