"""Personal links of the open project: create, show once, list, revoke."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urljoin

import streamlit as st

from core.ports.people import Link
from core.ports.projects import Project
from core.services.people.accounts import LONGEST_PERSON_NAME
from core.services.people.links import create, revoke, state_of_link
from core.settings import load_access
from pages._ui.labels_and_raters.copy_link import copy_path
from pages._ui.shared import errors, page, state, wiring
from pages._ui.shared.markdown import doc_link, escape_markdown

_NEW = "access-new-link"
_ALL = "All outputs"
VALID = {7: "7 days", 30: "30 days", 90: "90 days", 365: "a year", 0: "unlimited time"}
"""For how many days a link works; 0 for a link that does not expire."""
_STATES = {"active": ":green[Active]", "expired": ":orange[Expired]", "revoked": ":gray[Revoked]"}


def draw_links(project: Project | None) -> None:
    """Draw the form and the list of links."""
    if project is None:
        page.info("There is no project yet.")
        return
    st.markdown(
        "A personal link lets one annotator label without an account. The annotator sees the outputs without names of systems "
        "and scores. Labels are saved under the name of the link."
    )
    warn_if_local()
    _form(project)
    _created(project)
    links = wiring.store().people.links(project.id)
    if links:
        st.subheader("Links of this project", anchor=False)
    for link in reversed(links):
        _row(link)


def warn_if_local() -> None:
    """Say that links work on this machine only, if that is so."""
    if not load_access().for_others:
        st.warning(
            "**These links work only on this machine.** Before you send them, let others reach the server: "
            f"{doc_link('docs/access.md')} says how. "
            "Links made before stay valid: only the name of the server in them has to be replaced.",
            icon=":material/link_off:",
        )


def _form(project: Project) -> None:
    sets = [batch.name for batch in wiring.store().batches.list(project.id) if not batch.archived]
    form = "access-link"
    state.first_values(form, {"access-link-name": ""})
    with st.form(form), errors.boundary():
        first, second, third = st.columns(3)
        name = first.text_input("Name of the annotator", max_chars=LONGEST_PERSON_NAME, key="access-link-name")
        chosen = second.selectbox(
            "Outputs", [_ALL, *sets], help="A calibration set, or everything", key="access-link-set"
        )
        days = third.selectbox("Works for", VALID, format_func=VALID.__getitem__, index=1, key="access-link-days")
        if st.form_submit_button("Create link", type="primary"):
            end = _end_of(datetime.now(UTC).date() + timedelta(days=days)) if days else None
            who, batch = wiring.identity().who, None if chosen == _ALL else chosen
            made = create(wiring.store(), who, project.id, name, batch, end)
            st.session_state[_NEW] = (project.id, made)
            state.carried_out(form, f"There is a link for {escape_markdown(made.link.rater)}.")


def _end_of(day: date) -> datetime:
    return datetime.combine(day + timedelta(days=1), time(), UTC)


def _created(project: Project) -> None:
    """Draw the address of a new link. It is in this session only, and gone when it is hidden or the page is reloaded."""
    of, made = st.session_state.get(_NEW, (None, None))
    if made is None or of != project.id:
        return
    with st.container(border=True, key="access-new"):
        st.markdown(f"**Link for {escape_markdown(made.link.rater)}.** The address is shown only once. Copy it now.")
        st.code(urljoin(st.context.url or "", made.path), language=None, wrap_lines=True)
        with st.container(horizontal=True, vertical_alignment="center"):
            copy_path(made.path, "access-copy")
            st.button("Hide address", on_click=lambda: st.session_state.pop(_NEW, None))


def _row(link: Link) -> None:
    state = state_of_link(link, datetime.now(UTC))
    until = f"until {page.moment(link.expires)}" if link.expires else "does not expire"
    with st.container(border=True), st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{escape_markdown(link.rater)}** · {_STATES[state]} · {escape_markdown(link.batch or _ALL)} · {until}  \n"
            f"created {page.day(link.created)} by {escape_markdown(link.created_by)}"
        )
        st.space("stretch")
        if state == "active":
            _revoke(link)


def _revoke(link: Link) -> None:
    with st.popover("Revoke", type="tertiary", key=f"access-ask-{link.id}"):
        st.markdown("**The link stops working at once.** Its labels stay. It cannot be made to work again.")
        if st.button("Revoke this link", key=f"access-revoke-{link.id}"):
            with errors.boundary():
                revoke(wiring.store(), wiring.identity().who, link)
                st.rerun()
