"""The annotator's name: that of the account. Without accounts it is asked once and kept in a cookie, never in the address,
which people share."""

from __future__ import annotations

from urllib.parse import unquote

import streamlit as st

from core.services.people.accounts import LONGEST_PERSON_NAME, cleaned_name
from pages._ui.shared import page, wiring
from pages._ui.shared.markdown import escape_markdown

COOKIE = "errorscope_annotator"
_NAME = "errorscope_annotator"
_SCRIPT = """
export default function({ data }) {
  const value = encodeURIComponent(data.name);
  document.cookie = `${data.cookie}=${value}; path=/; max-age=31536000; SameSite=Strict`;
}
"""


def rater() -> str | None:
    """Return the name of the account; without accounts the name in this session, else the one in the cookie."""
    if (own := wiring.identity().rater) is not None:
        return own
    name = st.session_state.get(_NAME) or cleaned_name(unquote(st.context.cookies.get(COOKIE, "")))
    return name or None


ANNOTATE = (
    "**Enter your name to annotate.** Your labels are saved under this name. Other annotators do not see them unless they choose to.",
    "Start annotating",
)
DECIDE = (
    "**Enter your name to decide.** Your decisions are saved under this name. Each replaces the labels of the annotators in the results.",
    "Start deciding",
)
"""Why a name is asked for, as Markdown, and the button that starts the work."""


def ask(request: tuple[str, str] = ANNOTATE) -> str | None:
    """Return the person's name; draw the form and return None while it is unknown."""
    known = rater()
    if known:
        return known
    words, button = request
    st.markdown(words)
    _form("first", button)
    return None


def switch(name: str) -> None:
    """Show the annotator's name; without accounts with a form to change it."""
    if not wiring.identity().local:
        st.markdown(f":material/person: {escape_markdown(name)}", help="Your labels are saved under this name")
        return
    with st.popover(escape_markdown(name), icon=":material/person:", help="Your labels are saved under this name"):
        st.markdown("**Switch annotator.** New labels get the new name; existing labels keep theirs.")
        _form("switch", "Change")


def remember(name: str) -> None:
    """Store the name in the cookie, unless it is that of an account. Draws nothing."""
    if wiring.identity().local and unquote(st.context.cookies.get(COOKIE, "")) != name:
        page.small_component("errorscope_remember", _SCRIPT)(
            key="errorscope-remember-annotator", data={"cookie": COOKIE, "name": name}
        )


def _form(where: str, button: str) -> None:
    with st.form(f"annotator-{where}", border=False, width=360):
        name = cleaned_name(st.text_input("Name", max_chars=LONGEST_PERSON_NAME, key=f"annotator-name-{where}"))
        if st.form_submit_button(button, type="primary"):
            if name:
                st.session_state[_NAME] = name
                st.rerun()
            st.caption("Enter a name first.")
