"""Access: accounts, roles, personal links and public pages of the project, and the audit record."""

from __future__ import annotations

import streamlit as st

from pages._ui.access import accounts, links
from pages._ui.shared import errors, page, state, wiring

TABS = ("Personal links", "Accounts", "Public pages", "Audit record")


def main() -> None:
    wiring.store()
    project = state.projects().project
    page.heading("Access", "Invite annotators by links, give accounts roles, and see who did what.", project)
    who = wiring.identity()
    if not who.manages or (project is not None and who.role(project.id) != "manager"):
        page.info("Only managers of this project can see this page.")
        return
    inviting, members_tab, shared, acts = st.tabs(TABS, key="access-tabs")
    with inviting, errors.boundary():
        links.draw_links(project)
    with members_tab, errors.boundary():
        accounts.draw_accounts(project)
    with shared, errors.boundary():
        links.draw_public_pages(project)
    with acts, errors.boundary():
        accounts.draw_audit_record(project)


main()
