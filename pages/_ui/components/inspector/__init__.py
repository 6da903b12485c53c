"""The inspector of one output: its refinement round by round, alternatives per token, tries, and error spans.

`data` is made in `pages._ui.compare.inspector`. The browser sends the messages (`pages._ui.components.shared`) `attempts` {list:
[{n, base, text}]} (all that no `answered` has reached yet), `at` {round} (whose alternatives are wanted, where not all were
sent), `replay`, `again` (empty the list of tries) and `close`; each with a fresh `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages._ui.components import shared

HERE = Path(__file__).parent
ANSWERS = ("attempts", "at", "replay", "again", "close")


@st.cache_resource
def _component() -> Any:
    return shared.build("errorscope_inspector", HERE, "inspector.css", "inspector.js")


def answer(key: str, name: str, of: str) -> Mapping[str, Any]:
    """Return the last message of this name for the data with key `of`; available before the inspector is drawn."""
    return shared.last(key, name, of)


def inspector(data: Mapping[str, Any], *, key: str, on_close: Callable[[], None]) -> None:
    """Draw the inspector."""
    handlers: dict[str, shared.Handler] = {name: lambda value: None for name in ANSWERS}
    handlers["close"] = lambda value: on_close()
    shared.draw(_component(), data, key=key, of=str(data["key"]), handlers=handlers)
