"""The table metric × statistic, notes on its data, and its downloads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st

from core.formatting import format_count
from core.ports.projects import Project
from core.reports import evaluation as report
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import LABELS, STATISTICS, Evaluation, StatisticName
from pages._ui.meta_evaluation.evaluation_data import matrix
from pages._ui.meta_evaluation.evaluation_form import METRIC, STATISTIC, TABLE, UNITS
from pages._ui.projects import exports
from pages._ui.shared import errors, theme
from pages._ui.shared.markdown import escape_markdown


def notes(found: Evaluation) -> None:
    """Draw notes on the data, and the models behind the scores."""
    data, choice = found.joined, found.choice
    whole = data.whole() if choice.level == "system" else data
    said = [f"{len(whole.keys)} outputs of {len(whole.systems)} systems for {whole.n_segments} segments"]
    if data.excluded:
        said.append(f"without {', '.join(data.excluded)}")
    if lost := data.n_segments - whole.n_segments:
        said.append(f"{lost} segments without every system are left out")
    said.append(f"95 % CI: bootstrap over {UNITS[choice.unit]}, {choice.draws} draws")
    st.caption(escape_markdown(" · ".join(said)) + ". Click a cell to see its data.")
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
    done = {n: m for n in names if (m := matrix(found, n)) is not None}
    rows = []
    for name in order:
        row = {"metric": found.joined.scored_metric(name).label}
        for n in names:
            mark = " •" if n in done and name in done[n].tied else ""
            row[LABELS[n]] = report.cell(found.of(name, n)) + mark
        rows.append(row)
    frame = pd.DataFrame(rows)
    grey = [found.joined.scored_metric(name).sentinel for name in order]
    colour = pd.DataFrame("", frame.index, frame.columns)
    colour.loc[grey, [LABELS[n] for n in names]] = "color: #959ba5"
    styled = frame.style.apply(lambda _: colour, axis=None)

    @errors.guarded
    def chosen() -> None:
        for at, column in st.session_state[TABLE]["selection"]["cells"][:1]:
            st.session_state[METRIC] = order[at]
            picked = next((n for n in names if LABELS[n] == column), None)
            if picked is not None:
                st.session_state[f"{STATISTIC}-{found.choice.level}"] = picked

    st.dataframe(
        styled, hide_index=True, width="stretch", height="content", key=TABLE, on_select=chosen,
        selection_mode="single-cell",
        column_config={"metric": st.column_config.TextColumn(pinned=True, width="medium")},
    )  # fmt: skip
    undefined = [
        f"{c.label}, {LABELS[n]}: {of.reason}"
        for c in found.joined.scored_metrics
        for n in names
        if (of := found.of(c.name, n)).status != "ok"
    ]
    if said := report.counted(found).strip():
        st.caption(escape_markdown(said))
    if done:
        which = "; ".join(f"{LABELS[n]}: {m.test}" for n, m in done.items())
        st.caption(escape_markdown(f"•  the best metric and those not significantly worse (Holm, p > .05; {which})."))
    if undefined:
        with st.expander(f"{format_count(len(undefined), 'value')} not computed: reasons"):
            st.text("\n".join(undefined))


def files(project: Project, found: Evaluation, statistic: StatisticName, systems: tests.Systems | None) -> None:
    """Draw the downloads (CSV, LaTeX, HTML) and the methods paragraph."""
    done = [m for m in (matrix(found, statistic),) if m is not None]
    st.subheader("Report", anchor=False)
    said = report.methods(found, done, systems)
    st.markdown(escape_markdown(said))
    with st.expander("Signatures of all numbers"):
        st.text("\n".join(report.signatures(found)))
    name = f"{exports.file_name(project.name)}.evaluation"
    with st.container(horizontal=True):
        for label, ending, mime, make in (
            ("CSV", "csv", "text/csv", lambda: report.as_csv(found)),
            ("LaTeX table", "tex", "text/x-tex", lambda: report.as_latex(found, statistic, done)),
            ("HTML page", "html", "text/html", lambda: report.as_html(found, statistic, done, systems, project.name)),
            ("Methods paragraph", "txt", "text/plain", lambda: "\n".join([said, "", *report.signatures(found)]) + "\n"),
        ):
            st.download_button(
                label, partial(_bytes, make), f"{name}.{ending}", mime, icon=":material/download:", on_click="ignore",
                key=f"evaluate-{ending}",
            )  # fmt: skip
    with st.expander("LaTeX table to copy"):
        st.code(report.as_latex(found, statistic, done), language="latex")


def _bytes(make: Callable[[], str]) -> bytes:
    return make().encode("utf-8")
