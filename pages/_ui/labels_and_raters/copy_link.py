"""A button that copies a link to another page of this app, or a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

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


def copy_link(page: str, query: Mapping[str, str], key: str) -> None:
    """Draw the button for the page with these query parameters."""
    copy_path(f"{page}?{urlencode(query)}", key)


def copy_path(path: str, key: str) -> None:
    """Draw the button for an address of this server, relative to the pages."""
    _component()(key=key, data={"path": path}, width="content")


def copy_text(text: str, label: str, key: str, copied: str = "Copied") -> None:
    """Draw the button for a text; once it is copied, the button says `copied`."""
    _component()(key=key, data={"text": text, "label": label, "copied": copied}, width="content")


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component("errorscope_copy_link", html=_HTML, css=_CSS, js=_SCRIPT)
