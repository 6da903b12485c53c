"""The tutorial of a campaign: labelled outputs of the project as items with known answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.data import OutputKey, Span
from core.formatting import format_count, isolated
from core.services.campaigns import setup_design, tutorial_items
from pages._ui.campaigns.setup.steps import Setup
from pages._ui.components.marked_texts import marked_texts
from pages._ui.labels_and_raters import known_labels, labelled_output
from pages._ui.shared import page
from pages._ui.shared.markdown import escape_markdown

SNIPPET = 60
RATER, ITEMS = "tutorial_rater", "tutorial"


def draw(setup: Setup) -> None:
    """Draw the form: whose labels are the right answers, which outputs, and for each its score range and explanation."""
    choices = setup.choices
    asks = setup_design.protocol_of(choices.values, setup.own).asks
    if "preference" in asks:
        page.caption("Pairwise preference has no tutorial: its instructions are all that annotators need.")
        return
    st.caption(
        "Annotators label some outputs first, and read after each what they missed. Label these outputs on Annotate, submit them, "
        "and choose them here: your labels are the right answers. Three to five are enough."
    )
    rows = {tutorial_items.row_key(row): row for row in choices[ITEMS]}
    labels = known_labels.submitted(setup.project)
    there = tutorial_items.labelled_by(labels, known_labels.by_output(setup.project), rows)
    texts = setup.texts.outputs([key for of in there.values() for key in of])
    there = {rater: {k: e for k, e in of.items() if k in texts} for rater, of in there.items()}
    if not there:
        page.link("annotate", "Annotate outputs")
        return
    left, right = st.columns([1, 3])
    rater = left.selectbox("Right labels are those of", list(there), key=choices.widget(RATER, next(iter(there))))
    labelled = there[rater]
    key = f"tutorial_keys/{rater}"
    chosen = right.multiselect(
        "Outputs", list(labelled), format_func=lambda k: _title(k, labelled, texts), max_selections=tutorial_items.MOST_ITEMS,
        key=choices.widget(key, tuple(k for k in rows if k in labelled)), placeholder="No tutorial",
    )  # fmt: skip
    if labels.n_rated()[rater] > len(labelled):
        page.caption(
            f"You can choose from {tutorial_items.CHOICES} outputs in the segments that {escape_markdown(rater)} opened last, and those chosen before."
        )
    made = [_item(setup, k, labelled[k], texts[k], "score" in asks) for k in chosen]
    if made != list(choices[ITEMS]):
        choices.keep(ITEMS, tuple(made))
    if made:
        st.slider(
            "Pass mark", 0.0, 1.0, step=0.05, format="percent", key=choices.widget("pass_mark"),
            help="Whoever gets a lower mark over all items gets no units. At 0 %, everybody passes.",
        )  # fmt: skip


def _title(key: OutputKey, labelled: Mapping[OutputKey, Sequence[Span]], texts: Mapping[OutputKey, str]) -> str:
    text = texts[key] if len(texts[key]) <= SNIPPET else f"{texts[key][:SNIPPET]}…"
    return f"{key.doc_id} {key.segment_id} · {format_count(len(labelled[key]), 'error')} · {isolated(text)}"


def _item(setup: Setup, key: OutputKey, errors: Sequence[Span], text: str, scored: bool) -> dict[str, Any]:
    """Draw one item and return it."""
    name = "/".join(key)
    source = setup.texts.segment(key.segment)[0].source or ""
    with st.expander(escape_markdown(f"{key.doc_id} {key.segment_id}")):
        left, right = st.columns([3, 2], gap="large")
        with left:
            marked_texts(
                [labelled_output.column("Right labels", "", errors, text, source)], key=f"campaign-tutorial-{name}"
            )
        with right:
            suggested = tutorial_items.suggested_range(errors)
            given: Any = (
                st.slider(
                    "Right scores",
                    0.0,
                    100.0,
                    step=1.0,
                    format="%.0f",
                    key=setup.choices.widget(f"tutorial_score/{name}", suggested),
                    help="A score in this range is right. The first range follows from the severities of the errors.",
                )  # fmt: skip
                if scored
                else None
            )
            told = st.text_area(
                "Explanation", key=setup.choices.widget(f"tutorial_told/{name}", ""), height=100, max_chars=1000,
                placeholder="What annotators read after their answer (optional)",
            )  # fmt: skip
    return tutorial_items.item_row(key, errors, given, told)
