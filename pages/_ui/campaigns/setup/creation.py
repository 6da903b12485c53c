"""Create a campaign with a progress bar and Cancel, and show its personal links once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urljoin

import streamlit as st

from core.campaigns.design import CampaignDesign
from core.formatting import format_count
from core.ports.campaigns import Campaign
from core.ports.people import Account
from core.progress import Progress
from core.services.campaigns import running
from core.services.campaigns.setup import create
from pages._ui.access.links import warn_if_local
from pages._ui.campaigns import campaign_data
from pages._ui.campaigns.setup.choices import Setup
from pages._ui.labels_and_raters.copy_link import copy_text
from pages._ui.shared import files, long_jobs, wiring
from pages._ui.shared.markdown import escape_markdown

_PRESSED, _ASKED, _LINKS = "campaign-pressed", "campaign-new", "campaign-new-links"
MOST_LINKS = 8
"""More links scroll."""


class NewCampaign(NamedTuple):
    """What was asked for. With `start`, people are invited and may begin."""

    name: str
    design: CampaignDesign
    names: Sequence[str]
    accounts: Sequence[Account]
    expires: datetime | None
    start: bool
    setup: Mapping[str, Any]
    draft: Campaign | None


def press(start: bool) -> None:
    """Remember the click. A click that is seen in a run only is lost if that run is interrupted."""
    st.session_state[_PRESSED] = start


def ask_if_pressed(
    setup: Setup,
    name: str,
    design: CampaignDesign,
    names: Sequence[str],
    accounts: Sequence[Account],
    expires: datetime | None,
) -> None:
    """Ask for a campaign if a button was pressed: the page creates it in this run and, if it is interrupted, in the next one.

    Raises `UserError` for what would stop its start.
    """
    start = st.session_state.pop(_PRESSED, None)
    if start is None:
        return
    invited = (tuple(names), tuple(accounts)) if start else ((), ())
    new_campaign = NewCampaign(name, design, *invited, expires, start, setup.choices.values, setup.draft)
    running.check_start(
        wiring.store(), setup.project.id, name, design, new_campaign.names, setup.draft, new_campaign.accounts
    )
    st.session_state[_ASKED] = (setup.project.id, secrets.token_hex(8), new_campaign)


def draw_creation(setup: Setup) -> None:
    """Create the campaign that was asked for, and open it."""
    project, token, new_campaign = st.session_state.get(_ASKED, (None, "", None))
    if new_campaign is None or (project, new_campaign.draft) != (setup.project.id, setup.draft):
        return
    dropped = st.empty()
    dropped.button("Change the settings", on_click=_forget, type="tertiary", help="Stops the creation of the campaign")

    def work(progress: Progress) -> int:
        store, who = wiring.store(), wiring.identity().who
        if not new_campaign.start:
            made = create(
                store,
                who,
                project,
                new_campaign.name,
                new_campaign.design,
                progress,
                setup=new_campaign.setup,
                draft=new_campaign.draft,
            )
        else:
            made, links = running.start(
                store, who, project, new_campaign.name, new_campaign.design, new_campaign.names, new_campaign.expires, progress,
                setup=new_campaign.setup, draft=new_campaign.draft, accounts=new_campaign.accounts,
            )  # fmt: skip
            shown = [(new.link.rater, new.path) for new in links]
            st.session_state[_LINKS] = (made.id, shown, [account.name for account in new_campaign.accounts])
        _forget()  # from here on, nothing may interrupt before the campaign is opened: it would be created again
        return made.id

    made = long_jobs.run_cached(("campaign", token), "Preparing texts and checks …", work)
    if made is not None:
        setup.choices.clear()
        campaign_data.open_campaign(made)
        st.rerun()


def _forget() -> None:
    st.session_state.pop(_ASKED, None)


def _hide_links() -> None:
    st.session_state.pop(_LINKS, None)


def links(campaign: Campaign) -> None:
    """Draw who was invited to a campaign that was just started. The personal links are in this session only."""
    of, paths, accounts = st.session_state.get(_LINKS, (None, (), ()))
    if of != campaign.id or campaign.state == "finished":
        return
    made = [(name, urljoin(st.context.url or "", path)) for name, path in paths]
    with st.container(border=True, key="campaign-links"):
        st.markdown(":material/check_circle: **The campaign was started.**")
        if accounts:
            st.markdown(f"These accounts find it when they log in: {escape_markdown(', '.join(accounts))}.")
        if not made:
            st.button("Close", on_click=_hide_links, type="tertiary")
            return
        st.markdown(
            f"{format_count(len(made), 'personal link')}, shown only once. Copy what is below now, and send each person their own link."
        )
        warn_if_local()
        with st.container(height=420 if len(made) > MOST_LINKS else "content", border=False):
            for name, link in made:
                left, right = st.columns([1, 4], vertical_alignment="center")
                left.markdown(escape_markdown(name))
                right.code(link, language=None, wrap_lines=True)
        with st.container(horizontal=True, vertical_alignment="center"):
            copy_text("\n".join(f"{name}\t{link}" for name, link in made), "Copy all", "campaign-copy", "Links copied")
            name = f"{files.file_name(campaign.name)}-links.csv"
            files.download("Download as CSV", running.links_csv(made), name, key="campaign-links-csv")
            st.button(
                "Hide links", on_click=_hide_links, type="tertiary",
                help="They are not shown again. *People* makes a new link for whoever has lost one.",
            )  # fmt: skip
