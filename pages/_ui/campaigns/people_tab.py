"""The people of a campaign: invitations, links, exclusion, task lists handed over, units, time and pay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from core.errors import UserError
from core.formatting import format_clock, format_count, isolated
from core.ports.campaigns import Campaign, Participant
from core.ports.people import Account, Link
from core.ports.projects import Project
from core.services.campaigns import people
from core.services.campaigns.monitor import CampaignSnapshot
from core.services.campaigns.people import HandOverPreview
from core.services.campaigns.work import gets_units
from core.services.people import links
from pages._ui.campaigns import campaign_data
from pages._ui.campaigns.progress_tab import note
from pages._ui.shared import addresses, errors, page, state, tables, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.markdown import escape_markdown


def waiting(campaign: Campaign, snapshot: CampaignSnapshot) -> None:
    """Say which units of fixed lists nobody will rate unless the manager does something."""
    rests = campaign_data.rests(campaign)
    if not rests:
        return
    idle = [w for p in snapshot.people if not gets_units(w := p.work.participant) and rests[w.id].items]
    if idle:
        of = ", ".join(f"{len(rests[w.id].items)} of {w.rater} ({note(w)})" for w in idle)
        page.info(
            f"Units that nobody will rate: {escape_markdown(of)}. Choose the annotator below and hand over the rest of the list."
        )
    if (without := snapshot.design.people - len(snapshot.people)) > 0:
        st.caption(
            f"{without} of the {format_count(snapshot.design.people, 'planned list')} have no annotator: invite "
            f"{without} more."
        )


def draw_hand_over(campaign: Campaign, who: Participant, participants: Mapping[int, Participant]) -> None:
    """Draw the form, if something of this person's list is left."""
    rest = campaign_data.rests(campaign).get(who.id)
    if rest is None or not rest.items or campaign.state == "finished":
        return
    with st.popover("Hand over the rest", key=f"campaign-ask-hand-over-{who.id}"), errors.boundary():
        others = [p.id for p in participants.values() if p.id != who.id and gets_units(p)]
        if not others:
            st.markdown("**No other annotator can receive units.** Invite somebody, and hand this list over then.")
            return
        to = st.selectbox(
            "To", [None, *others], format_func=lambda p: "All others" if p is None else participants[p].rater,
            key=f"campaign-hand-over-to-{who.id}",
        )  # fmt: skip
        shown = campaign_data.hand_over_preview(campaign, who.id, to)
        st.markdown(escape_markdown(says(shown, excluded=bool(who.excluded))))
        reason = st.text_input(
            "Reason", max_chars=200, key=f"campaign-hand-over-why-{who.id}", help="Kept in the audit record."
        )
        label = f"Hand over {format_count(shown.moving, 'unit')}"
        if st.button(label, type="primary", key=f"campaign-hand-over-{who.id}", disabled=not shown.moving):
            people.hand_over(wiring.store(), wiring.identity().who, campaign, who.id, to, reason)
            campaign_data.changed(campaign)
            st.rerun()


def says(shown: HandOverPreview, *, excluded: bool) -> str:
    """Return what will move, in sentences."""
    left = "need another rater" if excluded else "are not submitted"
    parts = [f"{format_count(shown.units, 'unit')} of {shown.name} {left}."]
    if shown.shares:
        parts.append(f"{', '.join(f'{s.name} gets {s.units}' for s in shown.shares)}.")
    if shown.staying:
        parts.append(
            f"{shown.staying} cannot be reassigned: these annotators already rate them. Invite somebody for them."
        )
    if shown.moving and shown.begun and not excluded:
        parts.append(f"{shown.begun} of them are begun: {shown.name} can still submit these, as extra ratings.")
    if shown.moving and not excluded:
        parts.append(f"{shown.name} gets no more units.")
    return " ".join(parts)


def account_titles(project_id: int, accounts: Iterable[Account]) -> dict[int, str]:
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


def access_by_rater(campaign: Campaign) -> Mapping[str, Link | Account]:
    """Return by name how each annotator comes in: with the account, or with the newest link."""
    accounts_and_links = wiring.store().people
    by_name: dict[str, Link | Account] = {link.rater: link for link in accounts_and_links.links(campaign.texts)}
    return by_name | {account.name: account for account in accounts_and_links.taking_part(campaign.texts)}


def access_text(has: Link | Account | None, now: datetime) -> str:
    """Return the access in words."""
    if has is None:
        return "none"
    return "account" if isinstance(has, Account) else f"link {links.state_of_link(has, now)}"


def draw_add_account(campaign: Campaign) -> None:
    """Draw the choice of an account; nothing on a server without accounts."""
    store = wiring.store()
    if not store.people.accounts():
        return
    addable = {account.id: account for account in people.addable(store, campaign)}
    names = account_titles(campaign.project_id, addable.values())
    with st.container(horizontal=True, vertical_alignment="bottom"), errors.boundary():
        chosen = st.selectbox(
            "Or a person with an account", addable, index=None, placeholder="Choose or type a name", width=360,
            format_func=names.__getitem__, key=f"campaign-account-{campaign.id}",
            help="The person logs in, finds the campaign there with Continue, and sees what annotators with a link see.",
        )  # fmt: skip
        if st.button("Add account", key=f"campaign-add-account-{campaign.id}"):
            if chosen is None:
                raise UserError("no account is chosen", hint="Choose one")
            people.add_account(store, wiring.identity().who, campaign, addable[chosen])
            campaign_data.changed(campaign)
            st.rerun()
    if chosen is not None:
        say_who_is_not_blind(campaign.project_id, [addable[chosen]])


def draw_account_access(campaign: Campaign, who: Participant, account: Account | None) -> None:
    """Draw what can be changed for a participant with an account, which may be closed out (None)."""
    store, me = wiring.store(), wiring.identity().who
    if account is not None:
        st.markdown("Account", width="content")
        words = "**The campaign is closed to this account at once.** The labels stay and count."
        remove = partial(people.remove_account, store, me, campaign, account)
        page.ask_first("Remove account", words, "Remove this account", remove, f"campaign-remove-{who.id}")
        return
    st.markdown("Account, removed", width="content")
    if campaign.state != "finished" and st.button("Add account again", key=f"campaign-again-{who.id}"):
        current_account = next(a for a in store.people.accounts() if a.name == who.rater)
        people.add_account(store, me, campaign, current_account)
        st.rerun()


def draw_people(project: Project, campaign: Campaign) -> None:
    """Draw invitations, the table of people, and what can be changed for one of them."""
    snapshot, manager = campaign_data.current(campaign), campaign_data.manages(campaign)
    ended = campaign.state == "finished"
    if manager and not ended:
        addresses.draw_campaign_links(campaign, started=False)
        with (
            st.expander("Invite annotators", icon=":material/person_add:", expanded=not snapshot.people),
            errors.boundary(),
        ):
            _invite(campaign)
            draw_add_account(campaign)
    if not snapshot.people:
        above = " Type the names above: everybody gets a personal link." * (manager and not ended)
        page.info(f"Nobody {'was' if ended else 'has been'} invited{' yet' * (not ended)}.{above}")
        return
    access = access_by_rater(campaign) if manager else {}
    _table(snapshot, access)
    with st.container(horizontal=True):
        name = f"{file_name(campaign.name)}.pay.csv"
        download(
            "Pay table (CSV)", lambda: people.pay_table(wiring.store(), campaign), name, f"campaign-pay-{campaign.id}"
        )
    if manager:
        if not ended:
            waiting(campaign, snapshot)
        draw_person(campaign, snapshot, access)


def _invite(campaign: Campaign) -> None:
    addresses.warn_if_local()
    form, field = f"campaign-invite-{campaign.id}", f"campaign-names-{campaign.id}"
    state.first_values(form, {field: ""})
    with st.form(form, border=False), errors.boundary():
        names = st.text_area(
            "Names of the annotators, one per line", key=field, height=120,
            help="Labels are saved under these names. Use codes such as A01 if the names must stay private.",
        )  # fmt: skip
        days = st.selectbox(
            "Links work for", addresses.VALID, format_func=addresses.VALID.__getitem__, index=1, key=f"campaign-valid-{campaign.id}",
            width=240,
        )  # fmt: skip
        if st.form_submit_button("Create links", type="primary"):
            invited_names = [line for line in names.splitlines() if line.strip()]
            made = people.invite(wiring.store(), wiring.identity().who, campaign, invited_names, addresses.expiry(days))
            show_links(campaign, made)
            state.carried_out(form, f"{format_count(len(made), 'person', 'people')} invited.")


def show_links(campaign: Campaign, made: list[links.NewLink]) -> None:
    """Keep the addresses of new links in this session, so that the page shows them once."""
    addresses.show_campaign_links(addresses.NewCampaignLinks(campaign.id, [(new.link.rater, new.path) for new in made]))
    campaign_data.changed(campaign)


def _table(snapshot: CampaignSnapshot, access: Mapping[str, Link | Account]) -> None:
    now, currency = datetime.now(UTC), snapshot.design.currency
    rows = []
    for person in snapshot.people:
        who = person.work.participant
        row: dict[str, object] = {"annotator": who.rater}
        if access:
            row["access"] = access_text(access.get(who.rater), now)
        row |= {"completion code": who.code, "units": person.work.units, "time, h:min:s": person.work.seconds}
        if snapshot.design.pay_per_hour:
            row[f"pay, {currency}"] = person.work.pay
        rows.append(row | {"note": f"{note(who)}: {who.excluded}" if who.excluded else note(who)})
    if not any(row["note"] for row in rows):
        rows = [{k: v for k, v in row.items() if k != "note"} for row in rows]
    formats = {"time, h:min:s": format_clock, f"pay, {currency}": lambda v: f"{v:,.2f}"}
    tables.data_table(rows, formats, helps={
        "units": "Submitted items, checks and repeats, without the tutorial",
        "time, h:min:s": "Working time with the tutorial; a pause counts at most two minutes",
        "completion code": "Shown to annotators when they have finished",
    })  # fmt: skip
    total = sum(person.work.pay for person in snapshot.people)
    if snapshot.design.pay_per_hour:
        st.caption(
            escape_markdown(
                f"Pay in all: {total:,.2f} {currency}, at {snapshot.design.pay_per_hour:,.2f} {currency} per hour of working time."
            )
        )


def draw_person(campaign: Campaign, snapshot: CampaignSnapshot, access: Mapping[str, Link | Account]) -> None:
    """Draw the choice of a person and the changes."""
    participants = {p.work.participant.id: p.work.participant for p in snapshot.people}
    st.subheader("Change one annotator", anchor=False)
    chosen = st.selectbox(
        "Annotator",
        participants,
        format_func=lambda i: participants[i].rater,
        key=f"campaign-person-{campaign.id}",
        width=360,
    )
    if chosen is None:
        return
    who = participants[chosen]
    with st.container(horizontal=True, vertical_alignment="center"), errors.boundary():
        has = access.get(who.rater)
        if isinstance(has, Account):
            draw_account_access(campaign, who, has)
        elif any(account.name == who.rater for account in wiring.store().people.accounts()):
            draw_account_access(campaign, who, None)
        else:
            _link(campaign, who, has)
        if campaign.state != "finished":
            _units(who)
        draw_hand_over(campaign, who, participants)
        exclusion(campaign, who, "people")


def _link(campaign: Campaign, who: Participant, link: Link | None) -> None:
    state = links.state_of_link(link, datetime.now(UTC)) if link else None
    until = f" until {page.moment(link.expires)}" if link and link.expires else ""
    st.markdown(f"Link: {addresses.STATES[state]}{until}" if state else "No link", width="content")
    if link is not None and state == "active":
        words = "**The link stops working at once.** The labels stay. It cannot be made to work again."
        revoke = partial(links.revoke, wiring.store(), wiring.identity().who, link)
        page.ask_first("Revoke link", words, "Revoke this link", revoke, f"campaign-revoke-{who.id}")
    if campaign.state == "finished":
        return
    label = "New link" if state else "Create link"
    if st.button(label, key=f"campaign-link-{who.id}", help="Valid for 30 days. A link that is active stays so."):
        made = people.invite(wiring.store(), wiring.identity().who, campaign, [who.rater], addresses.expiry(30))
        show_links(campaign, made)
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
        people.exclude(wiring.store(), wiring.identity().who, campaign, who.id, reason)
        campaign_data.changed(campaign)
        st.rerun()
