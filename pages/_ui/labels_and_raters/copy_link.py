"""A button that copies a link to another page of this app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

_HTML = '<button type="button">Copy link</button><input readonly hidden aria-label="Link">'
_CSS = """
button, input { font: inherit; font-size: 0.875rem; color: var(--st-text-color); background: transparent; border: 1px solid var(--st-border-color);
  border-radius: var(--st-button-radius, 0.5rem); padding: 0.4rem 0.75rem; cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
input { width: 14rem; margin-inline-start: 0.5rem; }
"""
_SCRIPT = """
export default function({ parentElement, data }) {
  const [button, shown] = [parentElement.querySelector("button"), parentElement.querySelector("input")];
  const link = new URL(data.path, location.href).href;
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = "Link copied";
      setTimeout(() => { button.textContent = "Copy link"; }, 2500);
    } catch {  // without HTTPS there is no clipboard: show the link, selected
      Object.assign(shown, { hidden: false, value: link });
      shown.select();
    }
  };
}
"""


def copy_link(page: str, query: Mapping[str, str], key: str) -> None:
    """Draw the button for the page with these query parameters."""
    _component()(key=key, data={"path": f"{page}?{urlencode(query)}"}, width="content")


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component("errorscope_copy_link", html=_HTML, css=_CSS, js=_SCRIPT)
