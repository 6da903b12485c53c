"""A weight scheme of one's own: the weights in a small table, a name, and a version that grows by itself."""

from __future__ import annotations

import streamlit as st

from core.data import SEVERITIES
from core.mqm import own_schemes
from core.mqm.schemes import GOOGLE
from core.ports import Project, Store
from pages._ui import errors, lambda_parts

SAID = "lambda-scheme-said"


def editor(store: Store, project: Project) -> None:
    """Make a scheme, starting from one there is. It is kept in this session, and for good with every λ saved under it."""
    known = lambda_parts.schemes(store, project)
    if said := st.session_state.pop(SAID, ""):
        st.success(said, icon=":material/check:")
    with st.expander("Make a scheme of your own"):
        base = known[st.selectbox("Start from", list(known), key="lambda-scheme-base")]
        with st.form("lambda-scheme-form", border=False):
            rows = st.data_editor(
                own_schemes.table(base), num_rows="dynamic", hide_index=True, width="stretch",
                key=f"lambda-scheme-rows-{base.signature()}",
                column_config={
                    "severity": st.column_config.SelectboxColumn("Severity", options=[*SEVERITIES, own_schemes.ANYTHING]),
                    "category": st.column_config.SelectboxColumn("Category", options=own_schemes.categories(base)),
                    "weight": st.column_config.NumberColumn("Weight", min_value=0.0, help="0 forgives the error"),
                },
            )  # fmt: skip
            st.caption("The deepest category that fits an error decides; then a named severity goes before any.")
            left, right = st.columns(2, vertical_alignment="bottom")
            whole = left.checkbox(
                "A non-translation replaces the other errors", base.non_translation is not None,
                key=f"lambda-scheme-whole-{base.signature()}",
            )  # fmt: skip
            cost = right.number_input(
                "Weight of a non-translation", 0.0, None, base.non_translation or GOOGLE.non_translation or 25.0,
                key=f"lambda-scheme-cost-{base.signature()}",
            )  # fmt: skip
            left, right = st.columns([3, 1], vertical_alignment="bottom")
            name = left.text_input("Name of the scheme", placeholder="e.g. terminology first", max_chars=40)
            wanted = right.form_submit_button("Add scheme", icon=":material/add:", width="stretch")
        if wanted:
            with errors.boundary():
                made = own_schemes.made(name, rows, non_translation=cost if whole else None, known=list(known.values()))
                mine = lambda_parts.own(project)
                if made not in mine:
                    mine.append(made)
                st.session_state[SAID] = (
                    f"Added “{errors.plain(lambda_parts.scheme_name(made))}”: it is compared here, and can be chosen under "
                    f"*Weights* above. Save a λ fitted under it to keep it."
                )
                st.rerun()
