"""Public pages of results: create one, show its address once, list and revoke them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urljoin

import streamlit as st

from core.ports.people import SharedResult
from core.ports.projects import Project
from core.reports.public_page import PublicPage
from core.services.people import links
from pages._ui.access.links import warn_if_local
from pages._ui.labels_and_raters.copy_link import copy_path
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

_NEW = "public-page-new"
EVALUATION = "Meta-evaluation"


def draw_public_page(project: Project, campaign: int | None, title: str, make: Callable[[PublicPage], str]) -> None:
    """Draw what shares a result, for those who manage the project. `make` returns the page of the result as it is now."""
    if not wiring.may_change(project.id):
        return
    with st.expander("Public page", icon=":material/public:"), errors.boundary():
        st.markdown(
            "A public page shows this result to everybody who has its link, without an account: tables, charts and methods as they are "
            "now. It names no annotators, does not change, and can be revoked."
        )
        warn_if_local()
        _form(project, campaign, title, make)
        _created(project, campaign)
        for shared in links.shared_results_of(wiring.store(), project.id, campaign):
            _row(project, shared, "")


def draw_public_pages(project: Project | None) -> None:
    """Draw all public pages of the project."""
    if project is None:
        page.info("There is no project yet.")
        return
    pages = wiring.store().shared.list(project.id)
    if not pages:
        page.info(
            "No result of this project has a public page. *Public page* is below the results of a campaign and below *Meta-evaluation*."
        )
    names = {c.id: f"Campaign {c.name}" for c in wiring.store().campaigns.list(project.id)}
    for shared in reversed(pages):
        _row(project, shared, EVALUATION if shared.campaign is None else names.get(shared.campaign, ""))


def _form(project: Project, campaign: int | None, title: str, make: Callable[[PublicPage], str]) -> None:
    key = f"public-page-{project.id}-{campaign}"
    with st.form(key), errors.boundary():
        typed = st.text_input(
            "Title",
            title,
            max_chars=links.LONGEST_TITLE,
            key=f"{key}-title",
            help="Everybody who opens the page reads it.",
        )
        blind = st.checkbox(
            "Hide the names of the systems", key=f"{key}-blind",
            help="Letters replace the names: *System A* is the first in the results.",
        )  # fmt: skip
        if st.form_submit_button("Create public page", type="primary"):
            new_page = PublicPage(links.titled(typed), blind, project.systems)
            with st.spinner("Drawing the charts …"):
                html = make(new_page)
            made = links.share_result(
                wiring.store(), wiring.identity().who, project.id, campaign, new_page.title, blind, html
            )
            st.session_state[_NEW] = (project.id, campaign, made)


def _created(project: Project, campaign: int | None) -> None:
    """Draw the address of a new page. It is in this session only, and gone when it is hidden or the page is reloaded."""
    *of, made = st.session_state.get(_NEW, (None, None, None))
    if made is None or of != [project.id, campaign]:
        return
    with st.container(border=True, key="public-page-address"):
        st.markdown(f"**Link to “{escape_markdown(made.shared.title)}”.** The address is shown only once. Copy it now.")
        st.code(urljoin(st.context.url or "", made.path), language=None, wrap_lines=True)
        with st.container(horizontal=True, vertical_alignment="center"):
            copy_path(made.path, "public-page-copy")
            st.link_button("Open page", made.path, icon=":material/open_in_new:")
            st.button("Hide address", key="public-page-hide", on_click=lambda: st.session_state.pop(_NEW, None))


def _row(project: Project, shared: SharedResult, of: str) -> None:
    facts = [
        ":gray[Revoked]" if shared.revoked else ":green[Public]", escape_markdown(of), "systems hidden" if shared.blind else ""
    ]  # fmt: skip
    until = f" · revoked {shared.revoked:%d %b %Y, %H:%M} UTC" if shared.revoked else ""
    with st.container(border=True), st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{escape_markdown(shared.title)}** · {' · '.join(filter(None, facts))}  \n"
            f"shared {shared.created:%d %b %Y, %H:%M} UTC by {escape_markdown(shared.created_by)}{until}"
        )
        st.space("stretch")
        if not shared.revoked:
            _revoke(project, shared)


def _revoke(project: Project, shared: SharedResult) -> None:
    with st.popover("Revoke", type="tertiary", key=f"public-page-ask-{shared.id}"):
        st.markdown("**The link stops working at once**, and the page is deleted. It cannot be made to work again.")
        if st.button("Revoke this page", key=f"public-page-revoke-{shared.id}"):
            with errors.boundary():
                wiring.store().shared.revoke(project.id, shared.id)
                new = st.session_state.get(_NEW)
                if new and new[2].shared.id == shared.id:
                    del st.session_state[_NEW]
                st.rerun()
