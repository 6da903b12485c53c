"""The annotator's name: asked once and kept in a cookie, never in the address, which people share."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import streamlit as st

from pages._ui.shared.markdown import escape_markdown

COOKIE = "errorscope_annotator"
LONGEST = 60
_NAME = "errorscope_annotator"
_SCRIPT = """
export default function({ data }) {
  const value = encodeURIComponent(data.name);
  document.cookie = `${data.cookie}=${value}; path=/; max-age=31536000; SameSite=Strict`;
}
"""


def cleaned(name: str) -> str:
    """Return the name without unprintable characters and repeated spaces; possibly empty."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:LONGEST].strip()


def rater() -> str | None:
    """Return the annotator's name in this session, else the one in the cookie."""
    name = st.session_state.get(_NAME) or cleaned(unquote(st.context.cookies.get(COOKIE, "")))
    return name or None


def ask() -> str | None:
    """Return the annotator's name; draw the form and return None while it is unknown."""
    known = rater()
    if known:
        return known
    st.markdown(
        "**Enter your name to annotate.** Your labels are saved under this name. Other annotators do not see them unless they choose to."
    )
    _form("first")
    return None


def switch(name: str) -> None:
    """Show the annotator's name, with a form to change it."""
    with st.popover(escape_markdown(name), icon=":material/person:", help="Your labels are saved under this name"):
        st.markdown(
            "**Another person annotates now:** new labels are saved under the new name, the others keep theirs."
        )
        _form("switch")


def remember(name: str) -> None:
    """Store the name in the cookie. Draws nothing."""
    if unquote(st.context.cookies.get(COOKIE, "")) != name:
        _component()(key="errorscope-remember-annotator", data={"cookie": COOKIE, "name": name})


def _form(where: str) -> None:
    with st.form(f"annotator-{where}", border=False, width=360):
        given = cleaned(st.text_input("Name", max_chars=LONGEST, key=f"annotator-name-{where}"))
        if st.form_submit_button("Start" if where == "first" else "Change", type="primary"):
            if given:
                st.session_state[_NAME] = given
                st.rerun()
            st.caption("Enter a name first.")


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component("errorscope_remember", js=_SCRIPT)
