"""The inspector of one output: its refinement round by round, what else was likely at each token, edits of one's own, marks.

`data` is made in `pages._ui.inspector_parts`. The browser sends the messages (`pages._ui.component`) `attempts` {list:
[{n, base, text}]} (all that no `answered` has reached yet), `at` {round} (whose alternatives are wanted, where not all were
sent), `replay`, `again` (empty the list of tries) and `close`; each with a fresh `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages._ui import component

HERE = Path(__file__).parent
ANSWERS = ("attempts", "at", "replay", "again", "close")


@st.cache_resource
def _component() -> Any:
    return component.build("errorscope_inspector", HERE, "inspector.css", "inspector.js")


def answer(key: str, name: str, of: str) -> Mapping[str, Any]:
    """Return what the browser last sent under this name for the data with key `of`; readable before the inspector is drawn."""
    return component.last(key, name, of)


def inspector(data: Mapping[str, Any], *, key: str, on_close: Callable[[], None]) -> None:
    """Draw the inspector."""
    handlers: dict[str, component.Handler] = {name: lambda value: None for name in ANSWERS}
    handlers["close"] = lambda value: on_close()
    component.draw(_component(), data, key=key, of=str(data["key"]), handlers=handlers)
