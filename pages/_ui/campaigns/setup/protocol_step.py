"""Step 2: what annotators are asked, with which words."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.campaigns.protocol import (
    LONGEST_INSTRUCTIONS,
    NOTES,
    PROTOCOLS,
    STARTING_POINTS,
    Protocol,
    ProtocolName,
    StartingPoint,
)
from core.data import SEVERITIES
from core.mqm.typology import TYPOLOGIES
from core.services.campaigns import setup_design
from pages._ui.campaigns.setup.choices import Setup
from pages._ui.campaigns.setup.suggestions_form import draw_suggestions_form
from pages._ui.labels_and_raters.labelled_output import WHERE
from pages._ui.shared import errors, page
from pages._ui.shared.markdown import escape_markdown


def draw_protocol_step(setup: Setup) -> None:
    """Draw the step."""
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
        st.checkbox("Annotators may say that both outputs are equally good", key=choices.widget("ties", True))
    with errors.boundary():
        setup_design.protocol_of(choices.values, setup.own)
    if "spans" in base.asks:
        with errors.boundary():
            draw_suggestions_form(setup, base)


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
        st.text_area(
            "Instructions in Markdown", height=260, max_chars=LONGEST_INSTRUCTIONS,
            key=setup.choices.widget(name, base.instructions.strip()),
        )  # fmt: skip
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
    st.multiselect(
        "Severities", SEVERITIES, key=choices.widget(f"severities/{base.name}", tuple(base.severities)),
        help="Neutral marks something worth a remark that is no error",
    )  # fmt: skip
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
    columns = st.column_config
    choices.table(
        f"categories/{name}", setup_design.category_rows(typology), num_rows="dynamic",
        column_config={
            "path": columns.TextColumn("Category", required=True),
            "definition": columns.TextColumn("Definition", width="medium"),
            "example": columns.TextColumn("Example", width="medium"),
            "where": columns.SelectboxColumn("Marked in", options=list(WHERE), format_func=lambda w: WHERE[str(w)]),
            "needs_note": columns.CheckboxColumn("Needs a note"),
        },
    )  # fmt: skip
    page.caption("Write “Group/Category” for a category in a group.")
