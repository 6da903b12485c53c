"""Draw the rest of a page after its first part is on the screen.

The browser shows new elements together, when the scripts of all of them are loaded: the charts and tables at the foot of a page kept what
people read first from them for two seconds.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

SCRIPT = """const whenIdle = window.requestIdleCallback ?? ((call) => setTimeout(call))
export default function ({ setTriggerValue }) {
  const began = performance.now()
  const isLoading = () => document.querySelector('[data-testid^="stSkeleton"]') && performance.now() - began < 2000
  const look = () => isLoading() ? setTimeout(look, 30)
    : whenIdle(() => setTriggerValue("shown", true), { timeout: 1000 })
  requestAnimationFrame(look)
}"""
"""Asks for the rest when the browser is idle and has the scripts of all elements, or after 3 s."""
_SHOWN = "errorscope_shown"


def comes_later(part: str, words: str) -> bool:
    """Return whether this part is drawn in the next run: once per session and part, with the caption `words` in its place."""
    shown: set[str] = st.session_state.setdefault(_SHOWN, set())
    if part in shown:
        return False
    st.caption(words)
    _component()(key=f"deferred-{part}", on_shown_change=lambda: shown.add(part))
    return True


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component("errorscope_deferred", js=SCRIPT)
