"""The judge card: whether a judge may replace an annotator, and the numbers behind it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.judges.annotator_test import EPSILONS
from core.metrics.base import is_judge
from core.plots import score_charts
from core.ports.projects import Project
from core.progress import Progress
from core.reports import judge_card as report
from core.services.calibrate.calibration import HumanScores
from core.services.judges.card import RULES, CardOptions, JudgeCard, judge_card
from core.services.judges.judged_outputs import (
    HumanLabels,
    human_labels,
    judge_unit,
    judged_outputs,
    prices_of,
)
from core.services.projects.view import Column, View
from pages._ui.labels_and_raters import known_labels
from pages._ui.meta_evaluation import scatter
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.files import downloads, figure
from pages._ui.shared.long_jobs import compute, digest, run_cached
from pages._ui.shared.markdown import escape_markdown

AT_ONCE = 5
USUAL = "trained annotators"
ERROR_FREE = 85.0
"""Proposed threshold of scores from 0 to 100 (WMT26: an output without errors has 85 or more)."""


def draw_judge_card(project: Project, view: View, human_scores: HumanScores) -> None:
    """Draw the choice of the judge, and its card against the annotators of the chosen human scores."""
    metrics = [c for c in view.columns if not c.human]
    judges = [c for c in metrics if is_judge(c.metric)]
    if not judges:
        _none_yet()
    any_metric = st.toggle(
        "Treat any metric as a judge", key=drafts.kept(f"judge-any-{project.id}"),
        help="A metric needs a threshold below which an output counts as having an error.",
    )  # fmt: skip
    columns = {c.name: c for c in (metrics if any_metric else judges)}
    if not columns:
        return
    rated = known_labels.submitted(project) if human_scores.scheme else None
    with errors.boundary():
        state = human_scores.signature, human_scores.raters, rated.digest if rated else ""
        read = digest(wiring.version(project), *state)
        labels = compute(("judge labels", read), "Reading labels …", lambda: human_labels(human_scores, rated, wiring.judgements(project)))  # fmt: skip
        column, options = _options(project, view, columns, labels)
        key = ("judge card", digest(read, view.scored_by, column.signature), options)

        def work(progress: Progress) -> JudgeCard:
            data = judged_outputs(wiring.store(), project.id, view, column, labels, lambda share: progress(share / 2))
            return judge_card(data, options, lambda share: progress((1 + share) / 2))

        card = run_cached(key, "Computing the judge card …", work)
        if card is not None:
            _card(project, card)


def _none_yet() -> None:
    page.info(
        "**No judge has scored this project yet.** A judge is a language model that evaluates outputs. Set one up on *Models*, compute its scores "
        "(for example *Judge MQM*) on *Compare*, and come back: the card says whether it may replace an annotator. For a verdict it "
        "needs labels of three annotators who share at least 30 outputs."
    )
    with st.container(horizontal=True):
        page.link("models", "Set up a judge on Models")
        page.link("compare", "Compute scores on Compare")


def _options(
    project: Project, view: View, columns: dict[str, Column], labels: HumanLabels
) -> tuple[Column, CardOptions]:
    first, second, third = st.columns([2, 1.4, 1.4], vertical_alignment="bottom")
    name = first.selectbox("Judge", columns, format_func=lambda n: columns[n].label, key=drafts.kept(f"judge-name-{project.id}"))  # fmt: skip
    who = second.selectbox(
        "The annotators are", EPSILONS, list(EPSILONS).index(USUAL), key=drafts.kept(f"judge-annotators-{project.id}"),
        format_func=lambda w: f"{w} (ε = {EPSILONS[w]:g})",
        help="ε is what a judge may lose against an annotator, because it costs less (Calderon et al. 2025).",
    )  # fmt: skip
    own = third.multiselect(
        "Systems of the judge's own model", view.systems, key=drafts.kept(f"judge-own-{project.id}"), placeholder="none",
        help="Outputs that the judge's model, or one of its family, wrote. The card then shows whether it prefers them.",
    )  # fmt: skip
    column = columns[name]
    judging = is_judge(column.metric)
    unit = judge_unit(column, view.table(name).numbers)
    judge_below = human_below = None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if not labels.worst:
            usual = ERROR_FREE if labels.unit == "0–100" else None
            human_below = st.number_input(
                "Annotators: error below", value=usual, placeholder="not set", width=220, key=drafts.kept(f"judge-human-below-{project.id}", usual),
                help="An output with a lower score of an annotator counts as having an error.",
            )  # fmt: skip
        if not judging or unit != "mqm":
            usual = ERROR_FREE if judging and unit == "0–100" else None
            side = "below" if column.higher_is_better else "above"
            judge_below = st.number_input(
                f"Judge: error {side}", value=usual, placeholder="not set", width=220, key=drafts.kept(f"judge-below-{project.id}-{column.metric}", usual),
                help="For judges without error spans: the score at which an output counts as having an error.",
            )  # fmt: skip
        same = st.toggle(
            "Same scale", value=judging and unit == labels.unit, key=drafts.kept(f"judge-scale-{project.id}-{name}-{labels.unit}", judging and unit == labels.unit),
            help="Scores of judge and annotators can be subtracted from each other. Otherwise only their order is compared.",
        )  # fmt: skip
        by_system = st.toggle(
            "Test each system separately", key=drafts.kept(f"judge-by-system-{project.id}"),
            help="One test per annotator and system, with one correction over all.",
        )  # fmt: skip
    return column, CardOptions(EPSILONS[who], judge_below, human_below, same, tuple(own), by_system, prices_of(column))


def _card(project: Project, card: JudgeCard) -> None:
    st.markdown(f"#### {escape_markdown(card.sentence)}")
    page.caption(
        f"{card.outputs:,} outputs of {card.documents:,} documents, judged and labelled by {len(card.raters)} annotators. The rules are below; docs/judge_card.md explains them."
    )
    for remark in report.remarks(card):
        st.caption(f":material/warning: {escape_markdown(remark)}")
    with st.expander("Rules of the verdict"):
        st.markdown("\n".join(f"{k}. {escape_markdown(rule)}" for k, rule in enumerate(RULES, 1)))
    made = report.card_tables(card)
    for table in made:
        st.subheader(table.title, anchor=False)
        tables.text_table(table.mappings, tall=20)
        if table.caption:
            page.caption(table.caption)
        if table is made[0] and (rows := report.omega_rows(card)):
            chart = score_charts.omega(pd.DataFrame(rows), card.options.epsilon)
            figure(chart, f"{card.label}: {report.OMEGA_TITLE}", report.OMEGA_CAPTION, "judge-omega")
    title = f"Judge card: {card.label}, {project.name}"
    downloads(
        "judge-card", "judge", ("HTML page", "html", lambda: report.card_html(card, title)),
        ("JSON", "json", lambda: report.card_json(card)), ("Text for your paper", "txt", lambda: report.card_methods(card)),
    )  # fmt: skip
    _disagreements(project, card)


@st.fragment
@errors.guarded
def _disagreements(project: Project, card: JudgeCard) -> None:
    if not card.disagreements:
        return
    st.subheader("Largest disagreements", anchor=False)
    page.caption("Ordered by how far apart the judge and the annotators rank an output among those that are compared.")
    everyone = (
        False if known_labels.raters(project) else None
    )  # error spans only in segments that this person has submitted
    for place, one in enumerate(card.disagreements[:AT_ONCE], 1):
        scatter.draw_disagreement(project, card.label, place, one, everyone)
