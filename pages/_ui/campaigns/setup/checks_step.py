"""Step 4: how the work is checked: attention checks, repeats, and a tutorial."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.campaigns.submitted import QualityThresholds
from core.formatting import format_count, format_duration
from core.services.campaigns import planning, setup_design
from core.services.campaigns.creating import sampled
from pages._ui.campaigns.setup import tutorial_form
from pages._ui.campaigns.setup.steps import Setup
from pages._ui.components.marked_texts import marked_texts
from pages._ui.labels_and_raters import labelled_output
from pages._ui.shared import errors, long_jobs, page
from pages._ui.shared.markdown import escape_markdown

EXAMPLES = 3
KINDS = {
    "negation": "negation", "number": "wrong number", "name": "wrong name", "omission": "something left out",
    "addition": "sentence of another document added", "replacement": "words of another document", "jumble": "words shuffled",
}  # fmt: skip


def draw(setup: Setup) -> None:
    """Draw the step."""
    st.subheader("How is the work checked?", anchor=False)
    design = None
    with errors.boundary():
        design = setup.design()
    left, right = st.columns(2, gap="large")
    with left:
        _share(
            setup, design, "checks", "Attention checks",
            "Outputs with one planted error whose place is known. Annotators do not see which outputs these are.",
            QualityThresholds().fewest_checks,
        )  # fmt: skip
    with right:
        _share(
            setup,
            design,
            "repeats",
            "Repeated units",
            "Units that the same person rates twice, to see how far people agree with themselves.",
            QualityThresholds().fewest_repeats,
        )
    if design is not None and design.checks:
        with st.expander("Examples of attention checks from your texts"), errors.boundary():
            _examples(setup, design)
    st.markdown("**Tutorial** (optional)")
    with errors.boundary():
        tutorial_form.draw(setup)


def _share(setup: Setup, design: CampaignDesign | None, name: str, label: str, about: str, fewest: int) -> None:
    """Draw the choice of a share, and what it adds. A person with fewer than `fewest` cannot be assessed by it."""
    st.slider(label, 0.0, 0.5, step=0.01, format="percent", key=setup.choices.widget(name))
    st.caption(about)
    if design is not None:
        with errors.boundary():
            found = planning.added(setup.outline, design, setup_design.chosen(setup.choices.values, name))
            hours = (
                f" and {format_duration(found.hours * 3600, exact=True)} for all people together"
                if found.ratings
                else ""
            )
            each = found.ratings / design.people
            few = f" About {each:.1f} per person: *Quality* needs at least {fewest} to assess somebody." * (
                0 < each < fewest
            )
            st.markdown(f"Adds **{format_count(found.ratings, 'rating')}**{hours}.{few}")


def _examples(setup: Setup, design: CampaignDesign) -> None:
    key = ("campaign-examples", setup.project.id, long_jobs.digest(design.systems, design.segments, design.seed))

    def work() -> Sequence[planning.ExampleCheck]:
        texts = setup.texts.dataset(sampled(design.segments or setup.outline))
        return planning.example_checks(texts, design, EXAMPLES, design.seed)

    found = long_jobs.compute(key, "Planting errors …", work)
    if not found:
        page.info(
            "No error could be planted in the chosen outputs: they are too short. The campaign will have no attention checks."
        )
    for n, example in enumerate(found):
        st.markdown(f"**{KINDS[example.planted.kind].capitalize()}** · {escape_markdown(example.key.doc_id)}")
        left, right = st.columns(2, gap="large")
        left.caption("Output")
        left.text(example.before)
        with right:
            shown = labelled_output.column("With the error", "", example.planted.spans, example.planted.text, "")
            marked_texts([shown], key=f"campaign-example-{n}")
