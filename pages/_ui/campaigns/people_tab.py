"""The people of a campaign: invitations, links, exclusion, and the table of units, time and pay."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urljoin

import streamlit as st

from core.formats.write import csv_text
from core.formatting import format_clock, format_count
from core.ports.campaigns import Campaign
from core.ports.people import Account, Link
from core.ports.projects import Project
from core.services.campaigns import people as service
from core.services.campaigns.monitoring import CampaignSnapshot
from core.services.people import links
from pages._ui.access.links import warn_if_local
from pages._ui.campaigns import account_panel, campaign_data, hand_over_panel, person_panel
from pages._ui.campaigns.progress_tab import note
from pages._ui.labels_and_raters.copy_link import copy_text
from pages._ui.shared import errors, page, state, tables, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.markdown import escape_markdown

_NEW = "campaign-invited"
_VALID = {7: "7 days", 30: "30 days", 90: "90 days", 365: "a year", 0: "unlimited time"}


def draw(project: Project, campaign: Campaign) -> None:
    """Draw invitations, the table of people, and what can be changed for one of them."""
    found, manager = campaign_data.current(campaign), campaign_data.manages(campaign)
    ended = campaign.state == "finished"
    if manager and not ended:
        _created(campaign)
        with (
            st.expander("Invite annotators", icon=":material/person_add:", expanded=not found.people),
            errors.boundary(),
        ):
            _invite(campaign)
            account_panel.add(campaign)
    if not found.people:
        above = " Type the names above: everybody gets a personal link." * (manager and not ended)
        page.info(f"Nobody {'was' if ended else 'has been'} invited{' yet' * (not ended)}.{above}")
        return
    access = account_panel.access(campaign) if manager else {}
    _table(found, access)
    with st.container(horizontal=True):
        name = f"{file_name(campaign.name)}.pay.csv"
        download(
            "Pay table (CSV)", lambda: service.pay_table(wiring.store(), campaign), name, f"campaign-pay-{campaign.id}"
        )
    if manager:
        if not ended:
            hand_over_panel.waiting(campaign, found)
        person_panel.draw(campaign, found, access)


def _invite(campaign: Campaign) -> None:
    warn_if_local()
    form, field = f"campaign-invite-{campaign.id}", f"campaign-names-{campaign.id}"
    state.first_values(form, {field: ""})
    with st.form(form, border=False), errors.boundary():
        names = st.text_area(
            "Names of the annotators, one per line", key=field, height=120,
            help="Labels are saved under these names. Use codes such as A01 if the names must stay private.",
        )  # fmt: skip
        days = st.selectbox(
            "Links work for", _VALID, format_func=_VALID.__getitem__, index=1, key=f"campaign-valid-{campaign.id}",
            width=240,
        )  # fmt: skip
        if st.form_submit_button("Create links", type="primary"):
            wanted = [line for line in names.splitlines() if line.strip()]
            made = service.invite(wiring.store(), wiring.identity().who, campaign, wanted, end_of(days))
            show_links(campaign, made)
            state.carried_out(form, f"{format_count(len(made), 'person', 'people')} invited.")


def end_of(days: int) -> datetime | None:
    """Return the end of the day in so many days (UTC); None for 0, which means never."""
    last: date = datetime.now(UTC).date() + timedelta(days=days + 1)
    return datetime.combine(last, time(), UTC) if days else None


def show_links(campaign: Campaign, made: list[links.NewLink]) -> None:
    """Keep the addresses of new links in this session, so that the page shows them once."""
    st.session_state[_NEW] = (campaign.id, made)
    campaign_data.changed()


def _created(campaign: Campaign) -> None:
    of, made = st.session_state.get(_NEW, (None, []))
    if of != campaign.id or not made:
        return
    addresses = [(new.link.rater, urljoin(st.context.url or "", new.path)) for new in made]
    with st.container(border=True, key="campaign-created"):
        st.markdown(
            f"**{format_count(len(made), 'new link')}.** The addresses are shown only once. Copy them or save the file now, and "
            "send each person their own link."
        )
        lines = "\n".join(f"{name}\t{address}" for name, address in addresses)
        st.code(lines, language=None, height=min(240, 40 + 24 * len(made)))
        with st.container(horizontal=True, vertical_alignment="center"):
            copy_text(lines, "Copy all", "campaign-copy-links")
            download(
                "CSV", csv_text(("name", "link"), addresses), f"{file_name(campaign.name)}.links.csv", "campaign-links"
            )
            st.button("Hide addresses", on_click=lambda: st.session_state.pop(_NEW, None), key="campaign-hide-links")


def _table(found: CampaignSnapshot, access: Mapping[str, Link | Account]) -> None:
    now, currency = datetime.now(UTC), found.design.currency
    rows = []
    for person in found.people:
        who = person.work.participant
        row: dict[str, object] = {"annotator": who.rater}
        if access:
            row["access"] = account_panel.named(access.get(who.rater), now)
        row |= {"completion code": who.code, "units": person.work.units, "time, h:min:s": person.work.seconds}
        if found.design.pay_per_hour:
            row[f"pay, {currency}"] = person.work.pay
        rows.append(row | {"note": f"{note(who)}: {who.excluded}" if who.excluded else note(who)})
    if not any(row["note"] for row in rows):
        rows = [{k: v for k, v in row.items() if k != "note"} for row in rows]
    formats = {"time, h:min:s": format_clock, f"pay, {currency}": lambda v: f"{v:,.2f}"}
    units = "Submitted items, checks and repeats, without the tutorial"
    tables.data_table(rows, formats, {
        "units": st.column_config.NumberColumn(help=units),
        "time, h:min:s": st.column_config.NumberColumn(help="Working time with the tutorial; a pause counts at most two minutes"),
        "completion code": st.column_config.TextColumn(help="Shown to annotators when they have finished"),
    })  # fmt: skip
    total = sum(person.work.pay for person in found.people)
    if found.design.pay_per_hour:
        st.caption(
            escape_markdown(
                f"Pay in all: {total:,.2f} {currency}, at {found.design.pay_per_hour:,.2f} {currency} per hour of working time."
            )
        )
