"""One metric against the human scores, with the segment of a selected point."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.data import SegmentKey
from core.formatting import format_figure, format_number, format_percent, isolated
from core.plots import compare as compare_plots
from core.plots import evaluate as plots
from core.plots.labels import chart_labels
from core.ports.projects import Project
from core.reports.evaluation import cell
from core.services.evaluate import evaluate as service
from core.services.evaluate.evaluate import LABELS, AgreementOptions, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import EvaluationData
from core.services.projects.view import View
from pages._ui.labels_and_raters import labelled_output
from pages._ui.meta_evaluation import evaluation_form
from pages._ui.shared import drafts, page, tables
from pages._ui.shared.files import figure, file_name
from pages._ui.shared.long_jobs import compute
from pages._ui.shared.markdown import escape_markdown

POINTS = 4000


def scatter(project: Project, view: View, found: Evaluation, statistic: StatisticName) -> None:
    """Draw a metric against the human scores, and the segment of the clicked point."""
    data, name = found.joined, choose_metric(found, statistic)
    axis, people = data.scored_metric(name).axis, data.human_axis
    if found.choice.level == "system":
        _system_points(found, name, statistic)
        return
    frame = pd.DataFrame(data.keys, columns=["system", "doc", "segment"])
    frame["x"], frame["y"] = data.scores[name], data.human
    if len(frame) > POINTS:
        frame = frame.sample(POINTS, random_state=0)
    key = f"evaluate-scatter-{project.id}"
    chart = compare_plots.scatter(frame, axis, people, data.systems)
    shown = (
        f"A random sample of {len(frame):,} of {len(data.keys):,} outputs"
        if len(frame) < len(data.keys)
        else f"{len(frame):,} outputs"
    )
    head = f"{data.scored_metric(name).label} and {people}"
    about = f"{shown}; {LABELS[statistic]} {cell(found.of(name, statistic))}."
    hint = "Click a point to see its segment."
    picked = figure(chart, head, about, f"scatter-{file_name(name)}", hint, key=key, on_select="rerun")
    points = list(picked.get("selection", {}).get(compare_plots.PICK) or [])[:1]
    for point in points:
        where = [str(point["doc"]), str(point["segment"])]
        picked_key = next((key.segment for key in data.keys if chart_labels(key.segment) == where), None)
        if picked_key is not None:
            _segment(project, view, data, name, picked_key)
    if statistic == "acc_eq" and found.of(name, "acc_eq").status == "ok":
        _ties(data, name, found.choice)


def choose_metric(found: Evaluation, statistic: StatisticName) -> str:
    """Draw the choice among the metrics with scores, best first; return the chosen one."""
    there = [c for c in found.order(statistic) if c in found.joined.scores]
    labels = {c.name: c.label for c in found.joined.scored_metrics}
    if st.session_state.get(drafts.kept(evaluation_form.METRIC)) not in there:
        st.session_state.pop(evaluation_form.METRIC, None)
    chosen: str = st.selectbox("Metric", there, format_func=labels.__getitem__, key=evaluation_form.METRIC, width=360)
    return chosen


def _system_points(found: Evaluation, name: str, statistic: StatisticName) -> None:
    data = found.joined
    axis, people, whole = data.scored_metric(name).axis, data.human_axis, data.whole()
    if not whole.keys:
        page.info("No segment has outputs of all systems.")
        return
    frame = pd.DataFrame({"system": whole.of_system, "x": whole.scores[name], "y": whole.human})
    chart = plots.system_means(frame.groupby("system", as_index=False).mean(), axis, people)
    about = f"Means over {whole.n_segments} segments with outputs of all systems; {LABELS[statistic]} {cell(found.of(name, statistic))}."
    figure(
        chart,
        f"{data.scored_metric(name).label} and {people}, means of systems",
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
        plots.ties(frame, best, curve.chance),
        f"acc_eq of {data.scored_metric(name).label} by ε",
        said,
        f"ties-{file_name(name)}",
    )
