"""The table metric × statistic, notes on its data, and its downloads."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.metrics.lexical.baselines import BASELINES
from core.ports.projects import Project
from core.reports import evaluation as report
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import LABELS, STATISTICS, Evaluation, StatisticName
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
    meant = "; ".join(f"*{b.label}*: {b.help}" for b in BASELINES if b.label in {c.label for c in data.scored_metrics})
    st.caption(f"Grey rows: baselines, which do not measure quality. {meant}.")
    if data.notes:
        st.warning("  \n".join(escape_markdown(n) for n in data.notes), icon=":material/warning:")
    who = dict.fromkeys(w for c in data.metrics if (w := theme.scored_by(c.signature)))
    for line in who:
        names = [c.label for c in data.metrics if theme.scored_by(c.signature) == line]
        shown = "BARTScore" if all(n.startswith("BARTScore") for n in names) else ", ".join(names)
        st.caption(f"{escape_markdown(shown)}: {line}.")


def table(found: Evaluation, statistic: StatisticName) -> None:
    """Draw metric × statistic with intervals, best first, baselines grey at the foot; a click opens a cell."""
    names, order = STATISTICS[found.choice.level], found.order(statistic)
    by_label = {LABELS[n]: n for n in names}
    done = {n: m for n in names if (m := matrix(found, n)) is not None}
    metrics = [found.joined.scored_metric(name) for name in order]
    frame = pd.DataFrame({"metric": [m.label for m in metrics]})
    for label, n in by_label.items():
        tied = done[n].tied if n in done else ()
        frame[label] = [report.cell(found.of(name, n)) + (" •" if name in tied else "") for name in order]
    colour = pd.DataFrame("", frame.index, frame.columns)
    colour.loc[[m.sentinel for m in metrics], list(by_label)] = f"color: {theme.colour('neutral')}"
    styled = frame.style.apply(lambda _: colour, axis=None)

    @errors.guarded
    def chosen() -> None:
        cells = st.session_state[TABLE]["selection"]["cells"][:1]
        if cells == st.session_state.get(_CLICKED):  # sent again with another click: it must not undo a later choice
            return
        st.session_state[_CLICKED] = cells
        for at, column in cells:
            st.session_state[METRIC] = order[at]
            if column in by_label:
                st.session_state[f"{STATISTIC}-{found.choice.level}"] = by_label[column]

    st.dataframe(
        styled, hide_index=True, height="content", key=TABLE, on_select=chosen, selection_mode="single-cell",
        column_config={"metric": st.column_config.TextColumn(pinned=True, width=260)}
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
    latex = report.as_latex(found, statistic, done)
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
