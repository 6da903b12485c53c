"""The table metric × statistic with notes and downloads, for parts of the data and for every human score."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.metrics.lexical import baselines
from core.ports.projects import Project
from core.progress import Progress
from core.reports import evaluation as report
from core.reports import public_page, score_tables
from core.reports.evaluation import as_csv, as_html, as_latex, cell, methods, sentence_of_counts, signatures
from core.services.calibrate.calibration import from_score
from core.services.evaluate import evaluate as service
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import LABELS, STATISTICS, AgreementRow, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import ScoredMetric
from core.services.projects.view import View
from pages._ui.access import links
from pages._ui.meta_evaluation import evaluation_data
from pages._ui.meta_evaluation.evaluation_data import (
    BASELINES,
    METRIC,
    STATISTIC,
    TABLE,
    UNITS,
    EvaluationOptions,
    matrix,
    with_heading,
)
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.files import downloads, table_files
from pages._ui.shared.long_jobs import compute, digest, run_cached
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import colour, definition, scored_by

_CLICKED = f"{TABLE}-clicked"


def notes(evaluation: Evaluation) -> None:
    """Draw notes on the data, and the models behind the scores."""
    data, choice = evaluation.joined, evaluation.choice
    complete = data.whole() if choice.level == "system" else data
    said = [f"{len(complete.keys)} outputs of {len(complete.systems)} systems for {complete.n_segments} segments"]
    if data.excluded:
        said.append(f"without {', '.join(data.excluded)}")
    if lost := data.n_segments - complete.n_segments:
        said.append(f"{lost} segments without every system are left out")
    said.append(f"95 % CI: {choice.draws} random resamples of the {UNITS[choice.unit]} (bootstrap)")
    st.caption(escape_markdown(" · ".join(said)) + ". Click a cell to see its data.")
    meant = "; ".join(
        f"*{b.label}*: {b.help}" for b in baselines.BASELINES if b.label in {c.label for c in data.scored_metrics}
    )
    st.caption(f"Baselines: {meant}.")
    if data.notes:
        st.warning("  \n".join(escape_markdown(n) for n in data.notes), icon=":material/warning:")
    who = dict.fromkeys(w for c in data.metrics if (w := scored_by(c.signature)))
    for line in who:
        names = [c.label for c in data.metrics if scored_by(c.signature) == line]
        shown = "BARTScore" if all(n.startswith("BARTScore") for n in names) else ", ".join(names)
        st.caption(f"{escape_markdown(shown)}: {line}.")


def styles(metrics: Sequence[ScoredMetric | None], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the style of each cell: metrics in the colour of texts, baselines grey, below a grey row."""
    ink, grey = colour("ink"), colour("neutral")
    rows = [
        f"color: {ink}; background-color: {grey}30" if m is None else f"color: {grey if m.sentinel else ink}"
        for m in metrics
    ]
    return pd.DataFrame(dict.fromkeys(frame, rows), frame.index)


def draw_agreement_table(evaluation: Evaluation, statistic: StatisticName) -> None:
    """Draw metric × statistic with intervals, best first, baselines grey at the foot; a click opens a cell."""
    names = STATISTICS[evaluation.choice.level]
    by_label = {LABELS[n]: n for n in names}
    done = {n: m for n in names if (m := matrix(evaluation, n)) is not None}
    metrics = with_heading([evaluation.joined.scored_metric(name) for name in evaluation.order(statistic)])
    frame = pd.DataFrame({"metric": [m.label if m else BASELINES for m in metrics]})
    for label, n in by_label.items():
        tied = done[n].tied if n in done else ()
        frame[label] = [cell(evaluation.of(m.name, n)) + (" •" if m.name in tied else "") if m else "" for m in metrics]
    colours = styles(metrics, frame)
    styled = frame.style.apply(lambda _: colours, axis=None)

    @errors.guarded
    def chosen() -> None:
        cells = st.session_state[TABLE]["selection"]["cells"][:1]
        if cells == st.session_state.get(_CLICKED):  # sent again with another click: it must not undo a later choice
            return
        st.session_state[_CLICKED] = cells
        for at, column in cells:
            if (metric := metrics[at]) is None:
                continue
            st.session_state[METRIC] = metric.name
            if column in by_label:
                st.session_state[f"{STATISTIC}-{evaluation.choice.level}"] = by_label[column]

    st.dataframe(
        styled, hide_index=True, height="content", key=TABLE, on_select=chosen, selection_mode="single-cell",
        column_config={"metric": st.column_config.TextColumn(width=260)}  # pinned columns are pale
        | {n: st.column_config.TextColumn(f"{n} ↑", help=definition(n), alignment="right") for n in by_label},
    )  # fmt: skip
    undefined = [
        f"{c.label}, {LABELS[n]}: {of.reason}"
        for c in evaluation.joined.scored_metrics
        for n in names
        if (of := evaluation.of(c.name, n)).status != "ok"
    ]
    if said := sentence_of_counts(evaluation).strip():
        page.caption(said)
    if done:
        which = "; ".join(f"{LABELS[n]}: {m.test}" for n, m in done.items())
        page.caption(f"•  the best metric and those not significantly worse (Holm, p > .05; {which}).")
    else:
        st.caption("The best metric may be ahead by chance. This is tested below, under *Differences between metrics*.")
    tables.reasons(undefined)


def files(project: Project, evaluation: Evaluation, statistic: StatisticName, systems: tests.Systems | None) -> None:
    """Draw the downloads (CSV, LaTeX, HTML) and the methods paragraph."""
    done = [m for m in (matrix(evaluation, statistic),) if m is not None]
    said = methods(evaluation, done, systems)
    with st.expander("Text for your paper"):
        st.markdown(escape_markdown(said))
    with st.expander("Signatures"):
        st.text("\n".join(signatures(evaluation)))
    latex = as_latex(evaluation, statistic, done, project.name)
    downloads(
        "evaluation", "evaluate", ("CSV", "csv", lambda: as_csv(evaluation)), ("LaTeX table", "tex", lambda: latex),
        ("HTML page", "html", lambda: as_html(evaluation, statistic, done, systems, project.name)),
        ("Text for your paper", "txt", lambda: "\n".join([said, "", *signatures(evaluation)]) + "\n"),
    )  # fmt: skip
    with st.expander("LaTeX table to copy"):
        st.code(latex, language=None)
    links.draw_public_page(
        project, None, project.name, lambda page: public_page.of_evaluation(evaluation, statistic, done, systems, page)
    )


PARTS = {"top": "the best systems only", "length": "short and long outputs", "quality": "bad and good segments"}


def of_parts(view: View, evaluation: Evaluation, statistic: StatisticName) -> None:
    """Draw the agreement on parts of the data."""
    by: str = st.segmented_control(
        "Agreement on",
        PARTS,
        default="top",
        format_func=PARTS.__getitem__,
        key=drafts.kept("evaluate-by"),
        required=True,
    )
    data = evaluation.joined
    lengths = view.index.lengths[view.index.cells(data.keys)].astype(float).tolist() if by == "length" else []

    def work() -> list[tests.SubsetAgreement]:
        if by == "top":
            parts = tests.top_systems(data, evaluation.choice, statistic)
        else:
            parts = tests.buckets(
                data, evaluation.choice, statistic, "length" if by == "length" else "quality", lengths
            )
        return [
            p._replace(evaluation=p.evaluation._replace(joined=p.evaluation.joined.without_outputs())) for p in parts
        ]

    key = "parts", digest(data.digest, lengths), evaluation.choice, statistic, by
    done = compute(key, "Computing agreement on parts …", work)
    if not done:
        page.info("At least 2 systems are needed.")
        return
    columns = {p.label: f"{p.label} ({p.outputs})" for p in done}
    order = evaluation_data.with_heading([data.scored_metric(name) for name in evaluation.order(statistic)])
    rows = [
        {"metric": m.label if m else evaluation_data.BASELINES}
        | {columns[p.label]: report.cell(p.evaluation.of(m.name, statistic)) if m else "" for p in done}
        for m in order
    ]
    tables.text_table(rows, tall=40)
    what = {
        "top": "The systems with the best mean human scores; in brackets the number of outputs. A metric that only separates "
        "good from bad systems agrees less here.",
        "length": "Segments in three equal parts by the mean length of their outputs.",
        "quality": "Segments in three equal parts by their mean human score.",
    }
    page.caption(f"{LABELS[statistic]} with 95 % CI. {what[by]}")
    caption = (
        f"{LABELS[statistic]} with {data.human_axis}, with 95 % CI, on {PARTS[by]}; number of outputs in brackets."
    )
    named = ("part", "outputs_of_part", *AgreementRow._fields)
    table_files(
        rows,
        caption,
        f"parts-{by}",
        lambda: (named, [(p.label, p.outputs, *r) for p in done for r in p.evaluation.rows]),
    )


FITTING = 5
"""Human scores whose table fits into most windows. The names of metrics in wider ones are pinned, which makes them pale."""


def draw_human_scores(project: Project, view: View, options: EvaluationOptions) -> None:
    """Draw metric × human score under the chosen statistic, best first by the mean, baselines grey at the foot."""
    statistic, choice = options.statistic, options.choice._replace(draws=0)  # no intervals: they take longest
    lower = st.multiselect(
        "Scores where lower is better", project.human_scores, key=drafts.kept(f"evaluate-every-lower-{project.id}"), placeholder="none",
    )  # fmt: skip

    def work(progress: Progress) -> dict[str, tuple[int, Evaluation | None]]:
        done: dict[str, tuple[int, Evaluation | None]] = {}
        for k, name in enumerate(project.human_scores, 1):
            values = wiring.human_score(project, name).finite()
            human_scores = from_score(values, name, higher_is_better=name not in lower)
            data = evaluation_data.joined(project, view, human_scores, options, once=True)
            one = None if data.too_few else service.evaluate(data, choice, (statistic,))
            done[name] = len(data.keys), one and one._replace(joined=data.without_outputs())
            progress(k / len(project.human_scores))
        return done

    asked = project.human_scores, tuple(lower), options._replace(choice=choice)
    key = "human-scores", digest(wiring.version(project), view.scored_by, asked)
    done = run_cached(key, "Computing agreement with every human score …", work)
    if done is None:
        return
    evaluations = {name: one for name, (_, one) in done.items() if one is not None}
    if not evaluations:
        page.info("At least 2 outputs with a human score and scores of all chosen metrics are needed.")
        return
    _table(evaluations, statistic)
    outputs = "; ".join(f"{name} {n:,}" for name, (n, _) in done.items())
    page.caption(f"{LABELS[statistic]}. Bold: the best metric for each human score; it may be ahead by chance. Outputs compared: {outputs}.")  # fmt: skip
    downloads(
        "human-scores", "evaluate-every", ("All human scores as CSV", "csv", lambda: score_tables.human_scores_csv(evaluations)),
        ("All human scores as LaTeX", "tex", lambda: score_tables.human_scores_latex(evaluations, statistic)),
    )  # fmt: skip


def _table(evaluations: dict[str, Evaluation], statistic: StatisticName) -> None:
    metrics = with_heading(score_tables.order(evaluations, statistic))
    frame = pd.DataFrame({"metric": [m.label if m else BASELINES for m in metrics]})
    for name, one in evaluations.items():
        frame[name] = [score_tables.text(one, m, statistic) if m else "" for m in metrics]
    style = styles(metrics, frame)
    for name, one in evaluations.items():
        best = [m is not None and score_tables.is_best(one, m, statistic) for m in metrics]
        style.loc[best, name] += "; font-weight: 700"
    columns = {name: st.column_config.TextColumn(f"{name} ↑", alignment="right") for name in evaluations}
    st.dataframe(
        frame.style.apply(lambda _: style, axis=None), hide_index=True, height="content", key="evaluate-every",
        column_config={"metric": st.column_config.TextColumn(pinned=len(evaluations) > FITTING, width=260)} | columns,
    )  # fmt: skip
