"""What a manager can change for one annotator of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import streamlit as st

from core.errors import UserError
from core.ports.campaigns import Campaign, Participant
from core.ports.people import Account, Link
from core.services.campaigns import people as service
from core.services.campaigns.monitoring import CampaignSnapshot
from core.services.people import links
from pages._ui.campaigns import account_panel, campaign_data, hand_over_panel, people_tab
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

_STATES = {"active": ":green[active]", "expired": ":orange[expired]", "revoked": ":gray[revoked]"}


def draw(campaign: Campaign, found: CampaignSnapshot, access: Mapping[str, Link | Account]) -> None:
    """Draw the choice of a person and the changes."""
    people = {p.work.participant.id: p.work.participant for p in found.people}
    st.subheader("Change one annotator", anchor=False)
    chosen = st.selectbox(
        "Annotator", people, format_func=lambda i: people[i].rater, key=f"campaign-person-{campaign.id}", width=360
    )
    if chosen is None:
        return
    who = people[chosen]
    with st.container(horizontal=True, vertical_alignment="center"), errors.boundary():
        has = access.get(who.rater)
        if isinstance(has, Account):
            account_panel.change(campaign, who, has)
        elif any(account.name == who.rater for account in wiring.store().people.accounts()):
            account_panel.change(campaign, who, None)
        else:
            _link(campaign, who, has)
        if campaign.state != "finished":
            _units(who)
        hand_over_panel.draw(campaign, who, people)
        exclusion(campaign, who, "people")


def _link(campaign: Campaign, who: Participant, link: Link | None) -> None:
    state = links.state(link, datetime.now(UTC)) if link else None
    until = f" until {page.moment(link.expires)}" if link and link.expires else ""
    st.markdown(f"Link: {_STATES[state]}{until}" if state else "No link", width="content")
    if link is not None and state == "active":
        with st.popover("Revoke link", key=f"campaign-ask-revoke-{who.id}"):
            st.markdown("**The link stops working at once.** The labels stay. It cannot be made to work again.")
            if st.button("Revoke this link", key=f"campaign-revoke-{who.id}"):
                links.revoke(wiring.store(), wiring.identity().who, link)
                st.rerun()
    if campaign.state == "finished":
        return
    label = "New link" if state else "Create link"
    if st.button(label, key=f"campaign-link-{who.id}", help="Valid for 30 days. A link that is active stays so."):
        made = service.invite(wiring.store(), wiring.identity().who, campaign, [who.rater], people_tab.end_of(30))
        people_tab.show_links(campaign, made)
        st.rerun()


def _units(who: Participant) -> None:
    label = "Give units again" if who.left else "Give no more units"
    if st.button(label, key=f"campaign-left-{who.id}", help="Submitted units count. Open ones can be submitted."):
        wiring.store().campaigns.change(who._replace(left=not who.left))
        st.rerun()


def exclusion(campaign: Campaign, who: Participant, where: str) -> None:
    """Draw the form that excludes a participant with a reason, or the button that includes one again."""
    key = f"{where}-{who.id}"
    if who.excluded:
        if st.button("Include again", key=f"campaign-include-{key}", help=f"Excluded: {escape_markdown(who.excluded)}"):
            _exclude(campaign, who, "")
        return
    with st.popover("Exclude", key=f"campaign-ask-exclude-{key}"), st.form(f"campaign-exclude-{key}", border=False):
        st.markdown(
            f"**The labels of {escape_markdown(who.rater)} no longer count, and no more units are given.** Nothing is deleted: "
            "you can include the person again."
        )
        reason = st.text_input("Reason", max_chars=200, key=f"campaign-reason-{key}", help="Stated with the results.")
        if st.form_submit_button("Exclude", type="primary"):
            with errors.boundary():
                if not reason.strip():
                    raise UserError("the reason is missing", hint="Type why the labels should not count")
                _exclude(campaign, who, reason)


def _exclude(campaign: Campaign, who: Participant, reason: str) -> None:
    with errors.boundary():
        service.exclude(wiring.store(), wiring.identity().who, campaign, who.id, reason)
        campaign_data.changed()
        st.rerun()
