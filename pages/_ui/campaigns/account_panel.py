"""People with an account who take part in a campaign: add one, close the campaign to one, and who comes in how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import streamlit as st

from core.errors import UserError
from core.formatting import isolated
from core.ports.campaigns import Campaign, Participant
from core.ports.people import Account, Link
from core.services.campaigns import people as service
from core.services.people import links
from pages._ui.campaigns import campaign_data
from pages._ui.shared import errors, page, wiring


def titles(project_id: int, accounts: Iterable[Account]) -> dict[int, str]:
    """Return the names of accounts with their roles in the project, by id."""
    roles = {account.id: role for account, role in wiring.store().people.members(project_id)}
    return {a.id: f"{isolated(a.name)} ({roles[a.id]})" if a.id in roles else a.name for a in accounts}


def say_who_is_not_blind(project_id: int, accounts: Iterable[Account]) -> None:
    """Name the accounts that see names of systems and labels of the project on other pages."""
    roles = {account.id: role for account, role in wiring.store().people.members(project_id)}
    seeing = [a.name for a in accounts if a.manager or roles.get(a.id, "annotator") != "annotator"]
    if seeing:
        page.caption(
            f"{', '.join(map(isolated, seeing))} {'sees' if len(seeing) == 1 else 'see'} the names of systems and the labels of this project on "
            "other pages. For blind ratings choose people without a role here, or annotators."
        )


def access(campaign: Campaign) -> Mapping[str, Link | Account]:
    """Return by name how each annotator comes in: with the account, or with the newest link."""
    people = wiring.store().people
    found: dict[str, Link | Account] = {link.rater: link for link in people.links(campaign.texts)}
    return found | {account.name: account for account in people.taking_part(campaign.texts)}


def named(has: Link | Account | None, now: datetime) -> str:
    """Return the access in words."""
    if has is None:
        return "none"
    return "account" if isinstance(has, Account) else f"link {links.state(has, now)}"


def add(campaign: Campaign) -> None:
    """Draw the choice of an account; nothing on a server without accounts."""
    store = wiring.store()
    if not store.people.accounts():
        return
    there = {account.id: account for account in service.addable(store, campaign)}
    names = titles(campaign.project_id, there.values())
    with st.container(horizontal=True, vertical_alignment="bottom"), errors.boundary():
        chosen = st.selectbox(
            "Or a person with an account", there, index=None, placeholder="Choose or type a name", width=360,
            format_func=names.__getitem__, key=f"campaign-account-{campaign.id}",
            help="The person logs in, finds the campaign there with Continue, and sees what annotators with a link see.",
        )  # fmt: skip
        if st.button("Add account", key=f"campaign-add-account-{campaign.id}"):
            if chosen is None:
                raise UserError("no account is chosen", hint="Choose one")
            service.add_account(store, wiring.identity().who, campaign, there[chosen])
            campaign_data.changed()
            st.rerun()
    if chosen is not None:
        say_who_is_not_blind(campaign.project_id, [there[chosen]])


def change(campaign: Campaign, who: Participant, account: Account | None) -> None:
    """Draw what can be changed for a participant with an account, which may be closed out (None)."""
    store, me = wiring.store(), wiring.identity().who
    if account is not None:
        st.markdown("Account", width="content")
        with st.popover("Remove account", key=f"campaign-ask-remove-{who.id}"):
            st.markdown("**The campaign is closed to this account at once.** The labels stay and count.")
            if st.button("Remove this account", key=f"campaign-remove-{who.id}"):
                service.remove_account(store, me, campaign, account)
                st.rerun()
        return
    st.markdown("Account, removed", width="content")
    if campaign.state != "finished" and st.button("Add account again", key=f"campaign-again-{who.id}"):
        found = next(a for a in store.people.accounts() if a.name == who.rater)
        service.add_account(store, me, campaign, found)
        st.rerun()
