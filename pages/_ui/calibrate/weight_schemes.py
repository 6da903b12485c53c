"""Weight schemes: those that can be chosen, and an editor for new ones."""

from __future__ import annotations

import re

import streamlit as st

from core.data import SEVERITIES
from core.mqm import own_schemes
from core.mqm.schemes import GOOGLE, SCHEMES, Scheme
from core.ports.projects import Project
from core.services.calibrate import calibration as service
from core.services.labels.typologies import of_project
from pages._ui.shared import drafts, errors, wiring
from pages._ui.shared.markdown import escape_markdown

_OWN = "errorscope_schemes"
WEIGHTS = {
    "google": "Google MQM (major 5, minor 1)",
    "marot": "Marot (as Google; source errors 0)",
    "flat": "Severity only (major 5, minor 1)",
}
SAID = "lambda-scheme-said"


def schemes(project: Project) -> dict[str, Scheme]:
    """Return weight schemes by shown name: built-in ones, then those of this session and of saved λs."""
    return {
        scheme_name(s): s for s in (*SCHEMES.values(), *own(project), *service.saved_schemes(wiring.store(), project))
    }


def scheme_name(scheme: Scheme) -> str:
    """Return the shown name, with the version of a scheme that is not built in."""
    return scheme.name if scheme.name in SCHEMES else f"{scheme.name} v{scheme.version}"


def scheme_words(name: str) -> str:
    """Return the name with the main weights of a built-in scheme."""
    return WEIGHTS.get(re.sub(r" v\d+$", "", name), name)


def own(project: Project) -> list[Scheme]:
    """Return the schemes made in this session for this project."""
    made: list[Scheme] = st.session_state.get(drafts.kept(f"{_OWN}-{project.id}"), [])
    return made


def editor(project: Project) -> None:
    """Draw an editor for a new scheme. It lives in this session, and is stored with every λ saved under it."""
    known = schemes(project)
    if said := st.session_state.pop(SAID, ""):
        st.success(said, icon=":material/check:")
    typology = of_project(wiring.store(), project.id)
    with st.expander("Create a weight scheme"):
        base = known[st.selectbox("Start from", known, format_func=scheme_words, key=drafts.kept("lambda-scheme-base"))]
        rows = drafts.table(
            own_schemes.table(base), f"lambda-scheme-rows-{base.signature()}", num_rows="dynamic",
            column_config={
                "severity": st.column_config.SelectboxColumn("Severity", options=[*SEVERITIES, own_schemes.ANYTHING]),
                "category": st.column_config.SelectboxColumn("Category", options=own_schemes.categories(base, typology)),
                "weight": st.column_config.NumberColumn("Weight", min_value=0.0, help="0 ignores the error"),
            },
        )  # fmt: skip
        st.caption("The most specific category applies; a named severity overrides “any”.")
        left, right = st.columns(2, vertical_alignment="bottom")
        whole = left.checkbox(
            "A non-translation replaces the other errors", base.non_translation is not None,
            key=drafts.kept(f"lambda-scheme-whole-{base.signature()}"),
        )  # fmt: skip
        cost = right.number_input(
            "Weight of a non-translation", 0.0, None, base.non_translation or GOOGLE.non_translation or 25.0,
            key=drafts.kept(f"lambda-scheme-cost-{base.signature()}"),
        )  # fmt: skip
        left, right = st.columns([3, 1], vertical_alignment="bottom")
        name = left.text_input(
            "Name of the scheme", placeholder="for example: terminology first", max_chars=40,
            key=drafts.kept("lambda-scheme-name"),
        )  # fmt: skip
        if right.button("Add scheme", icon=":material/add:", width="stretch", key="lambda-scheme-add"):
            with errors.boundary():
                made = own_schemes.made(name, rows, non_translation=cost if whole else None, known=list(known.values()))
                mine = own(project)
                if made not in mine:
                    st.session_state[f"{_OWN}-{project.id}"] = [*mine, made]
                st.session_state[SAID] = (
                    f"Added “{escape_markdown(scheme_name(made))}”. It is compared here and can be chosen under "
                    f"*Severity weights* above. Save a λ fitted with it to keep it."
                )
                st.rerun()
