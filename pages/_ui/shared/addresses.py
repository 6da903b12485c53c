"""Addresses to send to others: new ones, which are shown once, a button that copies them, and how long links of annotators work."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode, urljoin

import streamlit as st

from core.formatting import format_count
from core.ports.campaigns import Campaign
from core.services.campaigns import running, setup_design
from core.services.people.links import LinkState
from core.settings import load_access
from pages._ui.shared import files, page
from pages._ui.shared.markdown import doc_link, escape_markdown

VALID = {7: "7 days", 30: "30 days", 90: "90 days", 365: "a year", 0: "unlimited time"}
"""For how many days a link works; 0 for a link that does not expire."""
STATES: dict[LinkState, str] = {"active": ":green[Active]", "expired": ":orange[Expired]", "revoked": ":gray[Revoked]"}
MOST_LINKS = 8
"""More links scroll."""
_LINKS = {True: "campaign-new-links", False: "campaign-more-links"}
"""Where the links are that were made at the start of a campaign, and later."""
_HTML = '<button type="button"></button><textarea readonly hidden rows="1" aria-label="Link"></textarea>'
_CSS = """
button, textarea { font: inherit; font-size: 0.875rem; color: var(--st-text-color); background: transparent; border: 1px solid var(--st-border-color);
  border-radius: var(--st-button-radius, 0.5rem); padding: 0.4rem 0.75rem; cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
textarea { width: 14rem; margin-inline-start: 0.5rem; resize: none; white-space: pre; }
"""
_SCRIPT = """
export default function({ parentElement, data }) {
  const [button, shown] = [parentElement.querySelector("button"), parentElement.querySelector("textarea")];
  const { label = "Copy link", copied = "Link copied" } = data;
  const text = data.text ?? new URL(data.path, location.href).href;
  button.textContent = label;
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = copied;
      setTimeout(() => { button.textContent = label; }, 2500);
    } catch {  // without HTTPS there is no clipboard: show the text, selected
      Object.assign(shown, { hidden: false, value: text });
      shown.select();
    }
  };
}
"""


def expiry(days: int) -> datetime | None:
    """Return the end of the day in so many days (UTC); None for 0, which means never."""
    return setup_design.expiry(days, datetime.now(UTC).date())


def warn_if_local() -> None:
    """Say that links work on this machine only, if that is so."""
    if not load_access().for_others:
        st.warning(
            "**These links work only on this machine.** Before you send them, let others reach the server: "
            f"{doc_link('docs/access.md')} says how. "
            "Links made before stay valid: only the name of the server in them has to be replaced.",
            icon=":material/link_off:",
        )


def copy_path(path: str, key: str) -> None:
    """Draw a button that copies an address of this server, given relative to the pages."""
    _copy_button(key, {"path": path})


def copy_link(name: str, query: Mapping[str, str], key: str) -> None:
    """Draw a button that copies the address of the page of this name with these query parameters."""
    copy_path(f"{name}?{urlencode(query)}", key)


def _copy_button(key: str, data: Mapping[str, str]) -> None:
    page.small_component("errorscope_copy_link", _SCRIPT, _HTML, _CSS)(key=key, data=data, width="content")


class NewAddress(NamedTuple):
    """The address of something new: what it was made for, its number, the path, and words in Markdown that name it."""

    of: Hashable
    number: int
    path: str
    words: str


def show_once(key: str, new: NewAddress) -> None:
    """Remember an address in this session, for `draw_new`."""
    st.session_state[key] = new


def draw_new(key: str, of: Hashable, *, opens: bool = False) -> None:
    """Draw the new address of `of`, if there is one. It is in this session only, and gone when it is hidden or the page is reloaded."""
    new: NewAddress | None = st.session_state.get(key)
    if new is None or new.of != of:
        return
    with st.container(border=True, key=f"{key}-address"):
        st.markdown(f"**{new.words}.** The address is shown only once. Copy it now.")
        st.code(urljoin(st.context.url or "", new.path), language=None, wrap_lines=True)
        with st.container(horizontal=True, vertical_alignment="center"):
            copy_path(new.path, f"{key}-copy")
            if opens:
                st.link_button("Open page", new.path, icon=":material/open_in_new:")
            st.button("Hide address", key=f"{key}-hide", on_click=_hide, args=(key,))


def hide(key: str, number: int) -> None:
    """Forget the new address, if it is that of the thing with this number: it is revoked."""
    new: NewAddress | None = st.session_state.get(key)
    if new is not None and new.number == number:
        _hide(key)


def _hide(key: str) -> None:
    st.session_state.pop(key, None)


class NewCampaignLinks(NamedTuple):
    """Names and paths of personal links that were just made, and the accounts that were added; `started` with the campaign."""

    campaign: int
    paths: Sequence[tuple[str, str]]
    accounts: Sequence[str] = ()
    started: bool = False


def show_campaign_links(new: NewCampaignLinks) -> None:
    """Remember the links in this session, for `draw_campaign_links`."""
    st.session_state[_LINKS[new.started]] = new


def draw_campaign_links(campaign: Campaign, *, started: bool) -> None:
    """Draw the links that were made at the start of the campaign or, if not `started`, later; nothing if there are none."""
    key = _LINKS[started]
    new: NewCampaignLinks = st.session_state.get(key, NewCampaignLinks(0, ()))
    if new.campaign != campaign.id or campaign.state == "finished":
        return
    addresses = [(name, urljoin(st.context.url or "", path)) for name, path in new.paths]
    with st.container(border=True, key=f"{key}-box"):
        if started:
            st.markdown(":material/check_circle: **The campaign was started.**")
        if new.accounts:
            st.markdown(f"These accounts find it when they log in: {escape_markdown(', '.join(new.accounts))}.")
        if not addresses:
            st.button("Close", on_click=_hide, args=(key,), type="tertiary")
            return
        st.markdown(
            f"{format_count(len(addresses), 'personal link')}, shown only once. Copy what is below now, and send each person their own link."
        )
        if started:
            warn_if_local()
        with st.container(height=420 if len(addresses) > MOST_LINKS else "content", border=False):
            for name, link in addresses:
                left, right = st.columns([1, 4], vertical_alignment="center")
                left.markdown(escape_markdown(name))
                right.code(link, language=None, wrap_lines=True)
        with st.container(horizontal=True, vertical_alignment="center"):
            lines = "\n".join(f"{name}\t{link}" for name, link in addresses)
            _copy_button(f"{key}-copy", {"text": lines, "label": "Copy all", "copied": "Links copied"})
            table, name = running.links_csv(addresses), f"{files.file_name(campaign.name)}-links.csv"
            files.download("Download as CSV", table, name, key=f"{key}-csv")
            st.button(
                "Hide links", on_click=_hide, args=(key,), type="tertiary", key=f"{key}-hide",
                help="They are not shown again. *People* makes a new link for whoever has lost one.",
            )  # fmt: skip
