"""The part of People that speaks of numbers: who gave which scores or ranks, and how far the raters agree in them."""

from __future__ import annotations

import streamlit as st

from core.formats.problems import counted
from core.plots.agreement import matrix_width, tau_matrix
from core.ports import Project
from core.services import number_agreement as service
from core.services.number_agreement import ALPHAS, NumberAgreement
from core.settings import load as settings
from pages._ui import errors, wiring
from pages._ui.lambda_parts import number

MATRIX = 3
"""From how many raters on τ is drawn as a matrix."""


def section(project: Project) -> None:
    """Agreement in each kind of numbers; nothing where there are none."""
    if not project.judged:
        return
    st.subheader("Scores and ranks by rater", anchor=False)
    found = {f.name: f for f in _found(settings().database, project, wiring.generation(project))}
    name = next(iter(found))
    if len(found) > 1:
        name = st.selectbox("Numbers", list(found), key="people-numbers", width=320)
    _raters(found[name])
    _agreement(found[name])


@st.cache_resource(max_entries=8, ttl=1800, show_spinner="Comparing scores …")
def _found(database: str, project: Project, generation: int) -> tuple[NumberAgreement, ...]:
    return service.number_agreement(wiring.judgements(project))


def _raters(found: NumberAgreement) -> None:
    rows = [
        {
            "rater": r.rater, "outputs": r.outputs, "mean": r.mean, "standard deviation": r.deviation,
            "lowest": r.low, "highest": r.high,
        }
        for r in found.raters
    ]  # fmt: skip
    decimals = st.column_config.NumberColumn(format="%.2f")
    of = {"mean": decimals, "standard deviation": decimals}
    direction = "ranks, 1 is best" if found.ranks else "as given"
    st.markdown(
        f"**{errors.plain(found.name)}**, {direction}: {counted(found.outputs, 'output')}, {found.twice} by two or more"
    )
    st.dataframe(rows, hide_index=True, width="stretch", column_config=of)


def _agreement(found: NumberAgreement) -> None:
    if len(found.raters) < 2:
        st.info("One rater only: agreement needs a second one on some of the same outputs.", icon=":material/info:")
        return
    rows = [
        {
            "Krippendorff’s α of": ALPHAS[kind], "α ↑": number(a.value) if a.value is not None else a.reason,
            "95 % interval": f"[{number(a.low)}, {number(a.high)}]" if a.low is not None else "–", "segments": a.n,
        }
        for kind, a in found.alphas.items()
    ]  # fmt: skip
    st.dataframe(rows, hide_index=True, width="stretch")
    over = "within each segment, averaged" if found.ranks else "over the outputs both scored"
    if len(found.raters) < MATRIX:
        tau = found.pairs[0].tau
        said = number(tau.value) if tau.value is not None else f"undefined, {tau.reason}"
        said += f" (defined in {tau.counted} segments)" if tau.counted else ""
        st.markdown(f"**Kendall’s τ-b of the two raters**, {over}: {errors.plain(said)}")
    else:
        st.markdown(f"**Kendall’s τ-b of every two raters**, {over}")
        names, ink = [r.rater for r in found.raters], "#eceae6" if st.context.theme.type == "dark" else "#2b2a28"
        st.altair_chart(tau_matrix(names, found.pairs, ink=ink), width=matrix_width(len(names)))
    st.caption(
        "α: 1 is perfect agreement, 0 what chance gives; the interval is a bootstrap over segments. Raters who use the scale "
        "differently and order alike disagree in the scores as given, and agree in z-scores (each rater’s mean 0, deviation 1)."
    )
