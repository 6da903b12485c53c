"""The side-by-side cards of one segment, drawn in the browser so that moving λ re-ranks them at once.

`data` is `core.services.segment.payload` plus position, total, lam, presets, search (the label of the search box) and
inspected (the id of the card in the inspector, or None). The browser answers with four states: `go` {to}, `lam` {value},
`reference` {value} and `inspect` {id}; each carries a fresh `n`, so that the same answer twice is two changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component(
        "errorscope_compare_cards",
        css=(HERE / "cards.css").read_text(encoding="utf-8"),
        js=(HERE / "cards.js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )


def cards(
    data: Mapping[str, Any],
    *,
    key: str,
    on_go: Callable[[], None],
    on_lam: Callable[[], None],
    on_reference: Callable[[], None],
    on_inspect: Callable[[], None],
) -> None:
    """Draw the cards; the answers stand in `st.session_state[key]` when a callback runs."""
    _component()(
        key=key,
        data=dict(data),
        on_go_change=on_go,
        on_lam_change=on_lam,
        on_reference_change=on_reference,
        on_inspect_change=on_inspect,
    )
