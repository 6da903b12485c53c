"""Who annotates: a name, asked once and kept in a cookie of this browser; never in the address, which people share."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import streamlit as st

from pages._ui import errors

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
    """The name with single blanks and nothing unprintable; empty when nothing is left of it."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:LONGEST].strip()


def rater() -> str | None:
    """The annotator's name in this session, else the one this browser remembers."""
    name = st.session_state.get(_NAME) or cleaned(unquote(st.context.cookies.get(COOKIE, "")))
    return name or None


def ask() -> str | None:
    """The annotator's name; draws the question, and returns None, while it is not known."""
    known = rater()
    if known:
        return known
    st.markdown("**Who is annotating?** Your labels are kept under this name; other annotators do not see them here.")
    _form("first")
    return None


def switch(name: str) -> None:
    """Say who annotates, and let somebody else take over."""
    with st.popover(errors.plain(name), icon=":material/person:", help="Annotating under this name"):
        st.markdown("Somebody else at this screen? Labels from then on are kept under the new name.")
        _form("switch")


def remember(name: str) -> None:
    """Keep the name in this browser. Draws nothing."""
    if unquote(st.context.cookies.get(COOKIE, "")) != name:
        _component()(key="errorscope-remember-annotator", data={"cookie": COOKIE, "name": name})


def _form(where: str) -> None:
    with st.form(f"annotator-{where}", border=False, width=360):
        given = cleaned(st.text_input("Name", max_chars=LONGEST, key=f"annotator-name-{where}"))
        if st.form_submit_button("Start" if where == "first" else "Change", type="primary"):
            if given:
                st.session_state[_NAME] = given
                st.rerun()
            st.caption("Type a name first.")


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component("errorscope_remember", js=_SCRIPT)
