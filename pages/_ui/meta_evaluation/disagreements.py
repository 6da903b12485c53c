"""The outputs on which a metric and the human scores disagree most, with source, reference and error spans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.data import RatedOutput
from core.formatting import format_count, format_number, format_percent
from core.ports.projects import Project
from core.services.evaluate.disagreements import MetricDisagreement, disagreements
from core.services.evaluate.evaluate import Evaluation, StatisticName
from pages._ui.annotate import identity
from pages._ui.compare import marks
from pages._ui.compare.inspector import marks_toggle
from pages._ui.labels_and_raters import known_labels, labelled_output
from pages._ui.meta_evaluation.scatter import choose_metric
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

AT_ONCE = 5
BOTH, HIGH, LOW = "All", "Metric too high", "Metric too low"


@st.fragment
@errors.guarded
def draw(project: Project, found: Evaluation, statistic: StatisticName) -> None:
    """Draw the largest disagreements of one metric, a few at a time."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = choose_metric(found, statistic)
        which = st.segmented_control(
            "Show", (BOTH, HIGH, LOW), default=BOTH, key=drafts.kept("evaluate-disagreements"), required=True,
            help="Too high: the metric ranks the output higher than the human scores do.",
        )  # fmt: skip
    labelled = bool(known_labels.raters(project))
    everyone = labelled and marks_toggle(f"evaluate-marks-{project.id}")
    queue = [d for d in disagreements(found.joined, name) if which == BOTH or d.too_high == (which == HIGH)]
    page.caption(
        f"{format_count(len(queue), 'output')}, ordered by how far apart the metric and the human scores rank them among the "
        f"{len(found.joined.keys):,} outputs that are compared."
    )
    if labelled and not everyone:
        st.caption("Error spans are hidden in segments that you have not submitted, to avoid bias.")
    more = f"evaluate-disagreements-shown-{name}-{which}"
    shown = st.session_state.get(more, AT_ONCE)
    for place, one in enumerate(queue[:shown], 1):
        _one(project, found, name, place, one, everyone if labelled else None)
    if (left := len(queue) - shown) > 0:
        show_more = partial(st.session_state.update, {more: shown + AT_ONCE})
        st.button(f"Show {min(AT_ONCE, left)} more of {len(queue):,}", key="evaluate-more", on_click=show_more)


def _one(
    project: Project, found: Evaluation, name: str, place: int, one: MetricDisagreement, everyone: bool | None
) -> None:
    """Draw one output, with the labels of all annotators or those that this person may see; `everyone` is None if there are none."""
    label = found.joined.scored_metric(name).label
    title = (
        f"**{place}.** {' · '.join(escape_markdown(part) for part in one.key if part)}  \n{escape_markdown(label)} "
        f"{format_number(one.metric, leading_zero=True)}: better than {format_percent(one.worse_by_metric)} of the outputs · human score "
        f"{format_number(one.human, 2, leading_zero=True)}: better than {format_percent(one.worse_by_human)}"
    )
    segment, texts = wiring.texts(project).segment(one.key.segment)
    text, source = texts[one.key.system], segment.source or ""
    rated: Sequence[RatedOutput] = ()
    if everyone is not None:
        rated = marks.of_segment(project, one.key.segment, texts, identity.rater(), everyone).get(one.key, ())
    columns = [labelled_output.column(r.rater, "" if r.errors else "no error", r.errors, text, source) for r in rated]
    labelled_output.draw(project, one.key, title, columns, f"disagreement-{project.id}-{one.key!r}")
