"""The table systems × scores on Compare, over the matching segments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.formatting import MISSING, format_lambda
from core.ports.projects import Project
from core.reports import systems as report
from core.services.compare.compare import Order, Query, hint_at
from core.services.compare.systems import SystemScores, system_scores
from core.services.projects.view import View
from pages._ui.shared import page, tables
from pages._ui.shared.files import download, file_name

ANCHOR = "systems"


def table(project: Project, view: View, query: Query, lam: float, order: Order, place: DeltaGenerator) -> None:
    """Draw one row per system with its mean under every score, the best marked, and the downloads; in `place`, a link to them."""
    place.markdown(f"[Systems ↓](#{ANCHOR})")
    st.subheader("Systems", anchor=ANCHOR)
    found = system_scores(view, lam, order, query.systems)
    config = {"system": st.column_config.TextColumn(pinned=True)} | {
        report.title(c): st.column_config.NumberColumn(
            help=tables.help_on_missing(hint_at(c, lam), missing=not found.counts[:, k].all())
        )
        for k, c in enumerate(found.columns)
    }
    st.dataframe(
        _styled(found), hide_index=True, width="stretch", height="content" if len(found.systems) <= 30 else 600,
        column_config=config, key=f"compare-systems-table-{project.id}", placeholder=MISSING,
    )  # fmt: skip
    at = f" at λ = {format_lambda(lam)}" if any(c.refinement for c in found.columns) else ""
    text = f"Means of output scores{at} over {len(order):,} segments; BLEU, chrF and TER are means of segment scores, not corpus scores. ●  best mean, not tested."
    lacking = ", ".join(f"{c.label} {n:,} of {found.outputs:,}" for c, n in found.partial)
    page.caption(text + (f" Outputs with a score: {lacking}." if lacking else ""))
    name = file_name(project.name)
    with st.container(horizontal=True):
        download("Systems as CSV", lambda: report.as_csv(found, lam), f"{name}.systems.csv", "compare-systems-csv")
        download("LaTeX table", lambda: report.as_latex(found), f"{name}.systems.tex", "compare-systems-tex")


def _styled(found: SystemScores) -> pd.io.formats.style.Styler:
    titles = [report.title(c) for c in found.columns]
    frame = pd.DataFrame(found.means, columns=titles)
    frame.insert(0, "system", found.systems)
    style = frame.style
    for k, c in enumerate(found.columns):
        text = partial(report.mean_text, c)
        style = style.format(text, subset=[titles[k]], na_rep=MISSING)
        first = found.best[:, k].nonzero()[0].tolist()
        style = style.format(partial(_best, text), subset=(first, [titles[k]]))
        style = style.set_properties(subset=(first, [titles[k]]), **{"font-weight": "bold"})
    return style


def _best(text: Callable[[float], str], mean: float) -> str:
    return f"● {text(mean)}"
