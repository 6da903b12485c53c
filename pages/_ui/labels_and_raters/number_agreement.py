"""Scores and ranks by rater, and their agreement."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import streamlit as st

from core.formatting import format_count, format_figure, format_number
from core.ports.projects import Project
from core.services.labels import number_agreement as service
from core.services.labels.agreement import reading
from core.services.labels.number_agreement import ALPHAS, NumberAgreement
from pages._ui.labels_and_raters import rankings
from pages._ui.shared import page, tables, wiring
from pages._ui.shared.markdown import escape_markdown


def section(project: Project) -> None:
    """Draw the agreement for each score of annotators, imported or of a campaign; nothing if there are none."""
    if not wiring.judgements(project):
        return
    st.subheader("Scores and ranks by annotator", anchor=False)
    found = {f.name: f for f in _found(*wiring.version(project))}
    name = next(iter(found))
    if len(found) > 1:
        name = st.selectbox("Human scores", found, key="people-numbers", width=320)
    imported = name in {j.name for j in wiring.store().judgements.list(project.id)}
    _headline(found[name])
    _raters(found[name], imported=imported)
    _agreement(found[name])


@st.cache_resource(max_entries=8, ttl=1800, show_spinner="Comparing scores …")
def _found(database: str, project: Project, generation: Hashable) -> tuple[NumberAgreement, ...]:
    return service.number_agreement(wiring.judgements(project))


def _headline(found: NumberAgreement) -> None:
    """Draw α of the scores, or of the ranks by their order; nothing if it is undefined."""
    kind, what = ("ordinal", "ranks") if found.ranks else ("interval", "scores")
    alpha = found.alphas[kind]
    if alpha.value is None:
        return
    between = f" [{format_number(alpha.low)}, {format_number(alpha.high)}]" if alpha.low is not None else ""
    said = (
        f"Agreement of the {what} “{found.name}”: α = {format_number(alpha.value)}{between} on "
        f"{format_count(found.twice, 'output')} of {format_count(alpha.n, 'segment')} rated by two or more"
    )
    st.markdown(escape_markdown(said).join(("#### ", "")))
    st.markdown(escape_markdown(reading(alpha)))


def _raters(found: NumberAgreement, *, imported: bool) -> None:
    rows = [
        {
            "annotator": r.rater, "outputs": r.outputs, "mean": r.mean, "standard deviation": r.deviation,
            "lowest": r.low, "highest": r.high,
        }
        for r in found.raters
    ]  # fmt: skip
    two = partial(format_number, digits=2, leading_zero=True)
    direction = "ranks, 1 is best" if found.ranks else "as imported" if imported else "as given in the campaign"
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
    rankings.draw(found.pairs, over, "annotators-of-scores")
    st.caption(
        "α: 1 is perfect agreement, 0 is chance; 95 % CI: bootstrap over segments. Annotators with the same ranking but a different "
        "use of the scale disagree in the scores and agree in z-scores (mean 0 and deviation 1 for each annotator)."
    )
