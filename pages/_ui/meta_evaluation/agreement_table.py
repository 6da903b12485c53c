"""The table metric × statistic, notes on its data, and its downloads."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.metrics.lexical import baselines
from core.ports.projects import Project
from core.reports import evaluation as report
from core.reports import public_page
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import LABELS, STATISTICS, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import ScoredMetric
from pages._ui.access import public_pages
from pages._ui.meta_evaluation.agreement_preview import BASELINES, with_heading
from pages._ui.meta_evaluation.evaluation_data import matrix
from pages._ui.meta_evaluation.evaluation_form import METRIC, STATISTIC, TABLE, UNITS
from pages._ui.shared import errors, page, tables, theme
from pages._ui.shared.files import download, file_name
from pages._ui.shared.glossary import definition
from pages._ui.shared.markdown import escape_markdown

_CLICKED = f"{TABLE}-clicked"


def notes(found: Evaluation) -> None:
    """Draw notes on the data, and the models behind the scores."""
    data, choice = found.joined, found.choice
    whole = data.whole() if choice.level == "system" else data
    said = [f"{len(whole.keys)} outputs of {len(whole.systems)} systems for {whole.n_segments} segments"]
    if data.excluded:
        said.append(f"without {', '.join(data.excluded)}")
    if lost := data.n_segments - whole.n_segments:
        said.append(f"{lost} segments without every system are left out")
    said.append(f"95 % CI: {choice.draws} random resamples of the {UNITS[choice.unit]} (bootstrap)")
    st.caption(escape_markdown(" · ".join(said)) + ". Click a cell to see its data.")
    meant = "; ".join(
        f"*{b.label}*: {b.help}" for b in baselines.BASELINES if b.label in {c.label for c in data.scored_metrics}
    )
    st.caption(f"Baselines: {meant}.")
    if data.notes:
        st.warning("  \n".join(escape_markdown(n) for n in data.notes), icon=":material/warning:")
    who = dict.fromkeys(w for c in data.metrics if (w := theme.scored_by(c.signature)))
    for line in who:
        names = [c.label for c in data.metrics if theme.scored_by(c.signature) == line]
        shown = "BARTScore" if all(n.startswith("BARTScore") for n in names) else ", ".join(names)
        st.caption(f"{escape_markdown(shown)}: {line}.")


def styles(metrics: Sequence[ScoredMetric | None], frame: pd.DataFrame) -> pd.DataFrame:
    """Return the style of each cell: metrics in the colour of texts, baselines grey, below a grey row."""
    ink, grey = theme.colour("ink"), theme.colour("neutral")
    rows = [
        f"color: {ink}; background-color: {grey}30" if m is None else f"color: {grey if m.sentinel else ink}"
        for m in metrics
    ]
    return pd.DataFrame(dict.fromkeys(frame, rows), frame.index)


def table(found: Evaluation, statistic: StatisticName) -> None:
    """Draw metric × statistic with intervals, best first, baselines grey at the foot; a click opens a cell."""
    names = STATISTICS[found.choice.level]
    by_label = {LABELS[n]: n for n in names}
    done = {n: m for n in names if (m := matrix(found, n)) is not None}
    metrics = with_heading([found.joined.scored_metric(name) for name in found.order(statistic)])
    frame = pd.DataFrame({"metric": [m.label if m else BASELINES for m in metrics]})
    for label, n in by_label.items():
        tied = done[n].tied if n in done else ()
        frame[label] = [
            report.cell(found.of(m.name, n)) + (" •" if m.name in tied else "") if m else "" for m in metrics
        ]
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
                st.session_state[f"{STATISTIC}-{found.choice.level}"] = by_label[column]

    st.dataframe(
        styled, hide_index=True, height="content", key=TABLE, on_select=chosen, selection_mode="single-cell",
        column_config={"metric": st.column_config.TextColumn(width=260)}  # pinned columns are pale
        | {n: st.column_config.TextColumn(f"{n} ↑", help=definition(n), alignment="right") for n in by_label},
    )  # fmt: skip
    undefined = [
        f"{c.label}, {LABELS[n]}: {of.reason}"
        for c in found.joined.scored_metrics
        for n in names
        if (of := found.of(c.name, n)).status != "ok"
    ]
    if said := report.counted(found).strip():
        page.caption(said)
    if done:
        which = "; ".join(f"{LABELS[n]}: {m.test}" for n, m in done.items())
        page.caption(f"•  the best metric and those not significantly worse (Holm, p > .05; {which}).")
    else:
        st.caption("The best metric may be ahead by chance. This is tested below, under *Differences between metrics*.")
    tables.reasons(undefined)


def files(project: Project, found: Evaluation, statistic: StatisticName, systems: tests.Systems | None) -> None:
    """Draw the downloads (CSV, LaTeX, HTML) and the methods paragraph."""
    done = [m for m in (matrix(found, statistic),) if m is not None]
    said = report.methods(found, done, systems)
    with st.expander("Text for your paper"):
        st.markdown(escape_markdown(said))
    with st.expander("Signatures"):
        st.text("\n".join(report.signatures(found)))
    latex = report.as_latex(found, statistic, done, project.name)
    with st.container(horizontal=True):
        for label, ending, make in (
            ("CSV", "csv", lambda: report.as_csv(found)),
            ("LaTeX table", "tex", lambda: latex),
            ("HTML page", "html", lambda: report.as_html(found, statistic, done, systems, project.name)),
            ("Text for your paper", "txt", lambda: "\n".join([said, "", *report.signatures(found)]) + "\n"),
        ):
            download(label, make, f"{file_name(project.name)}.evaluation.{ending}", f"evaluate-{ending}")
    with st.expander("LaTeX table to copy"):
        st.code(latex, language=None)
    public_pages.panel(
        project, None, project.name, lambda page: public_page.of_evaluation(found, statistic, done, systems, page)
    )
