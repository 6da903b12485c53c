"""One metric against the human scores, and the outputs on which they disagree most."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.data import RatedOutput, SegmentKey
from core.formatting import format_count, format_figure, format_number, format_percent, isolated
from core.plots import score_charts
from core.ports.projects import Project
from core.reports.evaluation import cell
from core.services.evaluate import evaluate as service
from core.services.evaluate.evaluate import LABELS, AgreementOptions, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import EvaluationData
from core.services.evaluate.length_and_bias import MetricDisagreement, disagreements
from core.services.projects.view import View
from pages._ui.annotate import identity
from pages._ui.compare import marks
from pages._ui.compare.inspector import marks_toggle
from pages._ui.labels_and_raters import known_labels, labelled_output
from pages._ui.meta_evaluation import evaluation_data
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.files import figure, file_name
from pages._ui.shared.long_jobs import compute
from pages._ui.shared.markdown import escape_markdown

POINTS = 4000


def scatter(project: Project, view: View, evaluation: Evaluation, statistic: StatisticName) -> None:
    """Draw a metric against the human scores, and the segment of the clicked point."""
    data, name = evaluation.joined, choose_metric(evaluation, statistic)
    axis, human_axis = data.scored_metric(name).axis, data.human_axis
    if evaluation.choice.level == "system":
        _system_points(evaluation, name, statistic)
        return
    frame = pd.DataFrame(data.keys, columns=["system", "doc", "segment"])
    frame["x"], frame["y"] = data.scores[name], data.human
    if len(frame) > POINTS:
        frame = frame.sample(POINTS, random_state=0)
    key = f"evaluate-scatter-{project.id}"
    chart = score_charts.scatter(frame, axis, human_axis, data.systems)
    shown = (
        f"A random sample of {len(frame):,} of {len(data.keys):,} outputs"
        if len(frame) < len(data.keys)
        else f"{len(frame):,} outputs"
    )
    head = f"{data.scored_metric(name).label} and {human_axis}"
    about = f"{shown}; {LABELS[statistic]} {cell(evaluation.of(name, statistic))}."
    hint = "Click a point to see its segment."
    picked = figure(chart, head, about, f"scatter-{file_name(name)}", hint, key=key, on_select="rerun")
    segment = score_charts.picked_segment(picked, (key.segment for key in data.keys))
    if segment is not None:
        _segment(project, view, data, name, segment)
    if statistic == "acc_eq" and evaluation.of(name, "acc_eq").status == "ok":
        _ties(data, name, evaluation.choice)


def choose_metric(evaluation: Evaluation, statistic: StatisticName) -> str:
    """Draw the choice among the metrics with scores, best first; return the chosen one."""
    scored = [c for c in evaluation.order(statistic) if c in evaluation.joined.scores]
    labels = {c.name: c.label for c in evaluation.joined.scored_metrics}
    if st.session_state.get(drafts.kept(evaluation_data.METRIC)) not in scored:
        st.session_state.pop(evaluation_data.METRIC, None)
    chosen: str = st.selectbox("Metric", scored, format_func=labels.__getitem__, key=evaluation_data.METRIC, width=360)
    return chosen


def _system_points(evaluation: Evaluation, name: str, statistic: StatisticName) -> None:
    data = evaluation.joined
    axis, human_axis, complete = data.scored_metric(name).axis, data.human_axis, data.whole()
    if not complete.keys:
        page.info("No segment has outputs of all systems.")
        return
    frame = pd.DataFrame({"system": complete.of_system, "x": complete.scores[name], "y": complete.human})
    chart = score_charts.system_means(frame.groupby("system", as_index=False).mean(), axis, human_axis)
    about = f"Means over {complete.n_segments} segments with outputs of all systems; {LABELS[statistic]} {cell(evaluation.of(name, statistic))}."
    figure(
        chart,
        f"{data.scored_metric(name).label} and {human_axis}, means of systems",
        about,
        f"systems-by-{file_name(name)}",
    )


def _segment(project: Project, view: View, data: EvaluationData, name: str, key: SegmentKey) -> None:
    if key not in view.row:
        return
    segment, texts = view.texts.segment(key)
    at = {k.system: i for i, k in enumerate(data.keys) if k.segment == key}
    with st.container(border=True):
        st.markdown(f"**{escape_markdown(f'{isolated(key.doc_id)} · {isolated(key.segment_id)}')}**")
        for what, text in (("source", segment.source), ("reference", next(iter(segment.references), None))):
            if text:
                st.caption(what)
                st.text(text)
        label = data.scored_metric(name).label
        tables.text_table(
            [
                {
                    "system": system, "output": texts[system], label: format_number(float(data.scores[name][i])),
                    data.human_axis: format_number(float(data.human[i]), 2),
                }
                for system, i in sorted(at.items(), key=lambda pair: -data.human[pair[1]])
            ]
        )  # fmt: skip
        labelled_output.links(project, key)


def _ties(data: EvaluationData, name: str, choice: AgreementOptions) -> None:
    key = ("ties", data.digest, name, choice)
    curve = compute(key, "Computing acc_eq by ε …", lambda: service.ties(data, name, choice))
    if curve.chance is None:
        page.info(escape_markdown(f"acc_eq is undefined: {curve.reason}."))
        return
    thin, best = curve.thinned(), float(curve.epsilon[curve.best()])
    frame = pd.DataFrame({"epsilon": thin.epsilon, "accuracy": thin.accuracy})
    said = (
        f"acc_eq by ε: best at ε = {format_figure(best)}. Dashed: {format_number(curve.chance)}, the value of a random score with its best "
        f"ε. {format_percent(curve.ties)} of the pairs are tied in the human scores."
    )
    figure(
        score_charts.ties(frame, best, curve.chance),
        f"acc_eq of {data.scored_metric(name).label} by ε",
        said,
        f"ties-{file_name(name)}",
    )


AT_ONCE = 5
BOTH, HIGH, LOW = "All", "Metric too high", "Metric too low"


@st.fragment
@errors.guarded
def draw_disagreements(project: Project, evaluation: Evaluation, statistic: StatisticName) -> None:
    """Draw the largest disagreements of one metric, a few at a time."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = choose_metric(evaluation, statistic)
        which = st.segmented_control(
            "Show", (BOTH, HIGH, LOW), default=BOTH, key=drafts.kept("evaluate-disagreements"), required=True,
            help="Too high: the metric ranks the output higher than the human scores do.",
        )  # fmt: skip
    labelled = bool(known_labels.raters(project))
    everyone = labelled and marks_toggle(f"evaluate-marks-{project.id}")
    data = evaluation.joined
    all_of = disagreements(data.keys, data.scores[name], data.human)
    queue = [d for d in all_of if which == BOTH or d.too_high == (which == HIGH)]
    page.caption(
        f"{format_count(len(queue), 'output')}, ordered by how far apart the metric and the human scores rank them among the "
        f"{len(data.keys):,} outputs that are compared."
    )
    if labelled and not everyone:
        st.caption("Error spans are hidden in segments that you have not submitted, to avoid bias.")
    more = f"evaluate-disagreements-shown-{name}-{which}"
    shown = st.session_state.get(more, AT_ONCE)
    for place, one in enumerate(queue[:shown], 1):
        draw_disagreement(project, data.scored_metric(name).label, place, one, everyone if labelled else None)
    if (left := len(queue) - shown) > 0:
        show_more = partial(st.session_state.update, {more: shown + AT_ONCE})
        st.button(f"Show {min(AT_ONCE, left)} more of {len(queue):,}", key="evaluate-more", on_click=show_more)


def draw_disagreement(project: Project, label: str, place: int, one: MetricDisagreement, everyone: bool | None) -> None:
    """Draw one output, with the labels of all annotators or those that this person may see; `everyone` is None if there are none."""
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
    labelled_output.draw_labelled_output(project, one.key, title, columns, f"disagreement-{project.id}-{one.key!r}")
