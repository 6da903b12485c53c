"""Personal links of annotators, and public pages of results: create one, show its address once, list and revoke them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import streamlit as st

from core.ports.people import Link, SharedResult
from core.ports.projects import Project
from core.reports.public_page import PublicPage
from core.services.people import links
from core.services.people.accounts import LONGEST_PERSON_NAME
from pages._ui.shared import addresses, errors, page, state, wiring
from pages._ui.shared.markdown import escape_markdown

_NEW, _NEW_PAGE = "access-new", "public-page-new"
_ALL = "All outputs"
EVALUATION = "Meta-evaluation"
FOR_GOOD = "It cannot be made to work again."


def draw_links(project: Project | None) -> None:
    """Draw the form and the list of links."""
    if project is None:
        page.info("There is no project yet.")
        return
    st.markdown(
        "A personal link lets one annotator label without an account. The annotator sees the outputs without names of systems "
        "and scores. Labels are saved under the name of the link."
    )
    addresses.warn_if_local()
    _link_form(project)
    addresses.draw_new(_NEW, project.id)
    of_project = wiring.store().people.links(project.id)
    if of_project:
        st.subheader("Links of this project", anchor=False)
    for link in reversed(of_project):
        _link_row(link)


def _link_form(project: Project) -> None:
    sets = [batch.name for batch in wiring.store().batches.list(project.id) if not batch.archived]
    form, valid = "access-link", addresses.VALID
    state.first_values(form, {"access-link-name": ""})
    with st.form(form), errors.boundary():
        first, second, third = st.columns(3)
        name = first.text_input("Name of the annotator", max_chars=LONGEST_PERSON_NAME, key="access-link-name")
        chosen = second.selectbox(
            "Outputs", [_ALL, *sets], help="A calibration set, or everything", key="access-link-set"
        )
        days = third.selectbox("Works for", valid, format_func=valid.__getitem__, index=1, key="access-link-days")
        if st.form_submit_button("Create link", type="primary"):
            who, batch = wiring.identity().who, None if chosen == _ALL else chosen
            made = links.create(wiring.store(), who, project.id, name, batch, addresses.expiry(days))
            rater = escape_markdown(made.link.rater)
            addresses.show_once(_NEW, addresses.NewAddress(project.id, made.link.id, made.path, f"Link for {rater}"))
            state.carried_out(form, f"There is a link for {rater}.")


def _link_row(link: Link) -> None:
    def revoke() -> None:
        links.revoke(wiring.store(), wiring.identity().who, link)
        addresses.hide(_NEW, link.id)

    is_active = links.state_of_link(link, datetime.now(UTC))
    until = f"until {page.moment(link.expires)}" if link.expires else "does not expire"
    with page.row(
        f"**{escape_markdown(link.rater)}** · {addresses.STATES[is_active]} · {escape_markdown(link.batch or _ALL)} · {until}  \n"
        f"created {page.day(link.created)} by {escape_markdown(link.created_by)}"
    ):
        if is_active == "active":
            words = f"**The link stops working at once.** Its labels stay. {FOR_GOOD}"
            page.ask_first("Revoke", words, "Revoke this link", revoke, f"access-revoke-{link.id}", type="tertiary")


def draw_public_page(project: Project, campaign: int | None, title: str, make: Callable[[PublicPage], str]) -> None:
    """Draw what shares a result, for those who manage the project. `make` returns the page of the result as it is now."""
    if not wiring.may_change(project.id):
        return
    with st.expander("Public page", icon=":material/public:"), errors.boundary():
        st.markdown(
            "A public page shows this result to everybody who has its link, without an account: tables, charts and methods as they are "
            "now. It names no annotators, does not change, and can be revoked."
        )
        addresses.warn_if_local()
        _page_form(project, campaign, title, make)
        addresses.draw_new(_NEW_PAGE, (project.id, campaign), opens=True)
        for shared in links.shared_results_of(wiring.store(), project.id, campaign):
            _page_row(project, shared, "")


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
        _page_row(project, shared, EVALUATION if shared.campaign is None else names.get(shared.campaign, ""))


def _page_form(project: Project, campaign: int | None, title: str, make: Callable[[PublicPage], str]) -> None:
    key = f"public-page-{project.id}-{campaign}"
    with st.form(key), errors.boundary():
        typed = st.text_input(
            "Title", title, max_chars=links.LONGEST_TITLE, key=f"{key}-title", help="Everybody who opens the page reads it."
        )  # fmt: skip
        blind = st.checkbox(
            "Hide the names of the systems", key=f"{key}-blind",
            help="Letters replace the names: *System A* is the first in the results.",
        )  # fmt: skip
        if st.form_submit_button("Create public page", type="primary"):
            new_page, who = PublicPage(links.titled(typed), blind, project.systems), wiring.identity().who
            with st.spinner("Drawing the charts …"):
                html = make(new_page)
            made = links.share_result(wiring.store(), who, project.id, campaign, new_page.title, blind, html)
            words = f"Link to “{escape_markdown(made.shared.title)}”"
            new = addresses.NewAddress((project.id, campaign), made.shared.id, made.path, words)
            addresses.show_once(_NEW_PAGE, new)


def _page_row(project: Project, shared: SharedResult, of: str) -> None:
    def revoke() -> None:
        wiring.store().shared.revoke(project.id, shared.id)
        addresses.hide(_NEW_PAGE, shared.id)

    facts = [
        ":gray[Revoked]" if shared.revoked else ":green[Public]", escape_markdown(of), "systems hidden" if shared.blind else ""
    ]  # fmt: skip
    until = f" · revoked {shared.revoked:%d %b %Y, %H:%M} UTC" if shared.revoked else ""
    with page.row(
        f"**{escape_markdown(shared.title)}** · {' · '.join(filter(None, facts))}  \n"
        f"shared {shared.created:%d %b %Y, %H:%M} UTC by {escape_markdown(shared.created_by)}{until}"
    ):
        if not shared.revoked:
            words = f"**The link stops working at once**, and the page is deleted. {FOR_GOOD}"
            page.ask_first(
                "Revoke", words, "Revoke this page", revoke, f"public-page-revoke-{shared.id}", type="tertiary"
            )
