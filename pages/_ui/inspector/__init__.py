"""The inspector of one output: its refinement round by round, what else was likely at each token, edits of one's own, marks.

`data` is made in `pages._ui.inspector_parts`. The browser answers with the states `attempts` {list: [{n, base,
text}]} (all that no `answered` has reached yet, again and again until one does), `at` {round} (whose alternatives are
wanted, where not all were sent), `replay`, `again` (empty the list of tries) and `close`; each with a fresh `n` and with
`of`, the `key` of the data it answers to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
ANSWERS = ("attempts", "at", "replay", "again", "close")


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component(
        "errorscope_inspector",
        css=(HERE / "inspector.css").read_text(encoding="utf-8"),
        js=(HERE / "inspector.js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )


def answer(key: str, name: str, of: str) -> Mapping[str, Any]:
    """What the browser last said under this name of the data with key `of`; readable before the inspector is drawn."""
    said = (st.session_state.get(key) or {}).get(name) or {}
    return said if said.get("of") == of else {}


def inspector(data: Mapping[str, Any], *, key: str, on_close: Callable[[], None]) -> None:
    """Draw the inspector."""
    callbacks = {f"on_{name}_change": lambda: None for name in ANSWERS}
    _component()(key=key, data=dict(data), **callbacks | {"on_close_change": on_close})
