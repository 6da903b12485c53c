"""Step 4: how the work is checked: attention checks, repeats, and the items of a tutorial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.submitted import LIMITS
from core.data import OutputKey, Span
from core.formatting import format_count, format_duration, isolated
from core.services.campaigns import planning, setup_design
from core.services.campaigns.setup import CHOICES, MOST_ITEMS, item_row, labelled_by, row_key, sampled, suggested_range
from pages._ui.campaigns.setup.choices import Setup
from pages._ui.components import marked_texts
from pages._ui.labels_and_raters import known_labels, labelled_output
from pages._ui.shared import errors, long_jobs, page
from pages._ui.shared.markdown import escape_markdown

SNIPPET = 60
RATER, ITEMS = "tutorial_rater", "tutorial"


def draw_tutorial_form(setup: Setup) -> None:
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
    rows = {row_key(row): row for row in choices[ITEMS]}
    labels = known_labels.submitted(setup.project)
    errors_by_rater = labelled_by(labels, known_labels.by_output(setup.project), rows)
    texts = setup.texts.outputs([key for of in errors_by_rater.values() for key in of])
    errors_by_rater = {rater: {k: e for k, e in of.items() if k in texts} for rater, of in errors_by_rater.items()}
    if not errors_by_rater:
        page.link("annotate", "Annotate outputs")
        return
    left, right = st.columns([1, 3])
    rater = left.selectbox(
        "Right labels are those of", list(errors_by_rater), key=choices.widget(RATER, next(iter(errors_by_rater)))
    )
    labelled = errors_by_rater[rater]
    key = f"tutorial_keys/{rater}"
    chosen = right.multiselect(
        "Outputs", list(labelled), format_func=lambda k: _title(k, labelled, texts), max_selections=MOST_ITEMS,
        key=choices.widget(key, tuple(k for k in rows if k in labelled)), placeholder="No tutorial",
    )  # fmt: skip
    if labels.n_rated()[rater] > len(labelled):
        page.caption(
            f"You can choose from {CHOICES} outputs in the segments that {escape_markdown(rater)} opened last, and those chosen before."
        )
    made = [_item(setup, k, labelled[k], texts[k], "score" in asks) for k in chosen]
    if made != list(choices[ITEMS]):
        choices.keep(ITEMS, tuple(made))
    if made:
        choices.draw("pass_mark")


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
            suggested = suggested_range(errors)
            right_scores: Any = (
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
            explanation = st.text_area(
                "Explanation", key=setup.choices.widget(f"tutorial_told/{name}", ""), height=100, max_chars=1000,
                placeholder="What annotators read after their answer (optional)",
            )  # fmt: skip
    return item_row(key, errors, right_scores, explanation)


EXAMPLES = 3
KINDS = {
    "negation": "negation", "number": "wrong number", "name": "wrong name", "omission": "something left out",
    "addition": "sentence of another document added", "replacement": "words of another document", "jumble": "words shuffled",
}  # fmt: skip


def draw_checks_step(setup: Setup) -> None:
    st.subheader("How is the work checked?", anchor=False)
    design = None
    with errors.boundary():
        design = setup.design()
    left, right = st.columns(2, gap="large")
    checks = "Outputs with one planted error whose place is known. Annotators do not see which outputs these are."
    repeats = "Units that the same person rates twice, to see how far people agree with themselves."
    with left:
        _share(setup, design, "checks", checks, LIMITS.fewest_checks)
    with right:
        _share(setup, design, "repeats", repeats, LIMITS.fewest_repeats)
    if design is not None and design.checks:
        with st.expander("Examples of attention checks from your texts"), errors.boundary():
            _examples(setup, design)
    st.markdown("**Tutorial** (optional)")
    with errors.boundary():
        draw_tutorial_form(setup)


def _share(setup: Setup, design: CampaignDesign | None, name: str, about: str, fewest: int) -> None:
    """Draw the choice of a share, and what it adds. A person with fewer than `fewest` cannot be assessed by it."""
    setup.choices.draw(name)
    st.caption(about)
    if design is not None:
        with errors.boundary():
            added = planning.added(setup.outline, design, setup_design.chosen(setup.choices.values, name))
            hours = (
                f" and {format_duration(added.hours * 3600, exact=True)} for all people together"
                if added.ratings
                else ""
            )
            each = added.ratings / design.people
            few = f" About {each:.1f} per person: *Quality* needs at least {fewest} to assess somebody." * (
                0 < each < fewest
            )
            st.markdown(f"Adds **{format_count(added.ratings, 'rating')}**{hours}.{few}")


def _examples(setup: Setup, design: CampaignDesign) -> None:
    key = ("campaign-examples", setup.project.id, long_jobs.digest(design.systems, design.segments, design.seed))

    def work() -> Sequence[planning.ExampleCheck]:
        texts = setup.texts.dataset(sampled(design.segments or setup.outline))
        return planning.example_checks(texts, design, EXAMPLES, design.seed)

    examples = long_jobs.compute(key, "Planting errors …", work)
    if not examples:
        page.info(
            "No error could be planted in the chosen outputs: they are too short. The campaign will have no attention checks."
        )
    for n, example in enumerate(examples):
        st.markdown(f"**{KINDS[example.planted.kind].capitalize()}** · {escape_markdown(example.key.doc_id)}")
        left, right = st.columns(2, gap="large")
        left.caption("Output")
        left.text(example.before)
        with right:
            shown = labelled_output.column("With the error", "", example.planted.spans, example.planted.text, "")
            marked_texts([shown], key=f"campaign-example-{n}")
