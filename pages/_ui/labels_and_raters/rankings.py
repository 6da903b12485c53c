"""Whether annotators rank outputs in the same way: Kendall's τ-b of each pair that rated the same outputs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.formatting import format_count, format_number
from core.plots.agreement import matrix_width, tau_matrix
from core.stats.correlation.correlation import Statistic
from core.stats.raters.rater_agreement import RaterPair
from pages._ui.shared import page, theme
from pages._ui.shared.files import figure
from pages._ui.shared.markdown import escape_markdown

MATRIX = 3
"""Number of annotators from which τ is drawn as a matrix."""
TITLE = "**Same ranking of the outputs**"
SCALE = "Kendall τ-b ↑, 1 = identical, 0 = chance"


def draw(pairs: Sequence[RaterPair], how: str, what: str) -> None:
    """Draw τ-b of all pairs that share outputs, and say how many share none. `how` says over what τ-b is computed, `what` names the
    file of the picture."""
    shared = [p for p in pairs if p.tau.n or p.tau.value is not None]
    if not shared:
        page.info("No two annotators rated the same outputs, so their rankings cannot be compared.")
        return
    names = list(dict.fromkeys(name for p in pairs for name in (p.first, p.second)))
    there = {name for p in shared for name in (p.first, p.second)}
    names = [name for name in names if name in there]
    if len(names) < MATRIX:
        tau = shared[0].tau
        st.markdown(f"{TITLE} ({SCALE}), {how}: {escape_markdown(value(tau))}")
    else:
        st.markdown(f"{TITLE} by each pair of annotators")
        kept = [p for p in pairs if {p.first, p.second} <= there]
        figure(
            tau_matrix(names, kept, ink=theme.colour("ink")),
            "Agreement of the annotators on the ranking of the outputs",
            f"Kendall τ-b by each pair of annotators, {how}: 1 = identical, 0 = chance.",
            what,
            width=matrix_width(len(names)),
        )
    if apart := len(pairs) - len(shared):
        page.caption(f"{apart:,} of {format_count(len(pairs), 'pair')} of annotators rated no outputs in common.")


def value(of: Statistic) -> str:
    """Return τ-b as text, with the number of segments that define it, or why it is undefined."""
    if of.value is None:
        return f"undefined, {of.reason}"
    return format_number(of.value) + (f" (defined in {of.counted} segments)" if of.counted else "")
