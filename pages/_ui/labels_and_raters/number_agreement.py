"""Scores and ranks by rater, and their agreement."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import streamlit as st

from core.formatting import format_count, format_figure, format_number
from core.plots.agreement import matrix_width, tau_matrix
from core.ports.projects import Project
from core.services.labels import number_agreement as service
from core.services.labels.number_agreement import ALPHAS, NumberAgreement
from pages._ui.shared import page, tables, theme, wiring
from pages._ui.shared.files import figure
from pages._ui.shared.markdown import escape_markdown

MATRIX = 3
"""Number of raters from which τ is drawn as a matrix."""


def section(project: Project) -> None:
    """Draw the agreement for each imported score; nothing if there are none."""
    if not wiring.judgements(project):
        return
    st.subheader("Scores and ranks by annotator", anchor=False)
    found = {f.name: f for f in _found(*wiring.version(project))}
    name = next(iter(found))
    if len(found) > 1:
        name = st.selectbox("Human scores", found, key="people-numbers", width=320)
    _raters(found[name])
    _agreement(found[name])


@st.cache_resource(max_entries=8, ttl=1800, show_spinner="Comparing scores …")
def _found(database: str, project: Project, generation: Hashable) -> tuple[NumberAgreement, ...]:
    return service.number_agreement(wiring.judgements(project))


def _raters(found: NumberAgreement) -> None:
    rows = [
        {
            "annotator": r.rater, "outputs": r.outputs, "mean": r.mean, "standard deviation": r.deviation,
            "lowest": r.low, "highest": r.high,
        }
        for r in found.raters
    ]  # fmt: skip
    two = partial(format_number, digits=2, leading_zero=True)
    direction = "ranks, 1 is best" if found.ranks else "as imported"
    st.markdown(
        f"**{escape_markdown(found.name)}**, {direction}: {format_count(found.outputs, 'output')}, {found.twice} by two or more"
    )
    tables.data_table(rows, {"mean": two, "standard deviation": two, "lowest": format_figure, "highest": format_figure})


def _agreement(found: NumberAgreement) -> None:
    if len(found.raters) < 2:
        page.info("Only one annotator. Agreement needs a second one on some of the same outputs.")
        return
    rows = [
        {
            "Krippendorff’s α of": ALPHAS[kind], "α ↑": format_number(a.value) if a.value is not None else a.reason,
            "95 % CI": f"[{format_number(a.low)}, {format_number(a.high)}]" if a.low is not None else "–", "segments": a.n,
        }
        for kind, a in found.alphas.items()
    ]  # fmt: skip
    tables.data_table(rows)
    over = "within each segment, averaged" if found.ranks else "over outputs that both rated"
    if len(found.raters) < MATRIX:
        tau = found.pairs[0].tau
        said = format_number(tau.value) if tau.value is not None else f"undefined, {tau.reason}"
        said += f" (defined in {tau.counted} segments)" if tau.counted else ""
        st.markdown(f"**Same ranking of the outputs** (Kendall τ-b, 1 = identical), {over}: {escape_markdown(said)}")
    else:
        st.markdown(f"**Same ranking of the outputs** by each pair of annotators (Kendall τ-b, 1 = identical), {over}")
        names = [r.rater for r in found.raters]
        chart = tau_matrix(names, found.pairs, ink=theme.colour("ink"))
        said = f"Kendall τ-b by each pair of annotators, {over}: 1 = identical, 0 = chance."
        figure(
            chart,
            "Agreement of the annotators on the ranking of the outputs",
            said,
            "annotators-of-scores",
            width=matrix_width(len(names)),
        )
    st.caption(
        "α: 1 is perfect agreement, 0 is chance; 95 % CI: bootstrap over segments. Annotators with the same ranking but a different "
        "use of the scale disagree in the scores and agree in z-scores (mean 0 and deviation 1 for each annotator)."
    )
