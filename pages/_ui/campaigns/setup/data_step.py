"""Step 1: which outputs are rated."""

from __future__ import annotations

import streamlit as st

from core.campaigns.selection import counts
from core.formatting import format_count
from core.services.campaigns import setup_design
from core.services.campaigns.planning import LONG_TEXT, long_texts
from pages._ui.campaigns.setup.steps import Setup

SYSTEMS = {False: "All systems", True: "Chosen systems"}
WHICH = {"all": "All segments", "sample": "A random sample", "documents": "Chosen documents"}


def draw(setup: Setup) -> None:
    """Draw the step."""
    choices, outline = setup.choices, setup.outline
    st.subheader("Which outputs are rated?", anchor=False)
    names = list(setup.outputs.systems)
    left, right = st.columns(2, gap="large")
    with left:
        if len(names) > 1:
            st.radio(
                "Systems", SYSTEMS, format_func=SYSTEMS.__getitem__, key=choices.widget("some_systems"), horizontal=True
            )
            if choices["some_systems"]:
                st.multiselect("Chosen systems", names, key=choices.widget("systems"), label_visibility="collapsed")
    with right:
        documents = list(dict.fromkeys(key.doc_id for key in outline))
        which = [name for name in WHICH if name != "documents" or len(documents) > 1]
        st.radio("Segments", which, format_func=WHICH.__getitem__, key=choices.widget("which"), horizontal=True)
        if choices["which"] == "sample":
            _sample(setup)
        elif choices["which"] == "documents":
            st.multiselect("Chosen documents", documents, key=choices.widget("documents"), label_visibility="collapsed")
    _facts(setup)


def _sample(setup: Setup) -> None:
    size, seed = st.columns(2)
    size.number_input(
        "Segments in the sample", 1, 1_000_000, step=10, key=setup.choices.widget("sample_size", setup_design.usual_sample(setup.outline)),
        help="Whole documents are drawn at random, so that annotators see texts in context. The last document may be cut.",
    )  # fmt: skip
    seed.number_input(
        "Random number (seed)", 0, 2**31 - 1, step=1, key=setup.choices.widget("seed"),
        help="The same number gives the same sample",
    )  # fmt: skip


def _facts(setup: Setup) -> None:
    values = setup.choices.values
    systems, segments = setup_design.systems_of(values), setup_design.segments_of(values, setup.outline)
    of = counts(setup.outline, systems, segments)
    st.markdown(
        f"**{format_count(of.segments, 'segment')} × {format_count(of.systems, 'system')} = {format_count(of.outputs, 'output')}**, "
        f"{format_count(of.documents, 'document')}"
    )
    if of.outputs < of.segments * of.systems:
        missing = of.segments * of.systems - of.outputs
        st.caption(f"{format_count(missing, 'output')} missing: not every system has an output for every segment.")
    if long := long_texts(setup.outputs, systems, segments):
        st.warning(
            f"{format_count(long, 'output')} with more than {LONG_TEXT:,} characters. Annotators need more time for them: "
            "set the seconds per unit in step 3.",
            icon=":material/schedule:",
        )
