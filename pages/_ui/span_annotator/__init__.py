"""The span editor: a component that keeps its state in the browser and sends what was done in batches.

It receives `data` (see `exchange.editor_data`) and answers with the state `outbox`
{n, rater, batches: [{project, doc, segment, actions: [{id, kind, output, payload, time}]}]}, every action of this annotator
that no `data` has acknowledged yet, again and again until one does, and with the trigger `go` {to: next | previous | unlabelled}.
`data` answers with `received` (the last n that was worked through), `acknowledged` [id] and `refused` {id: why}; an action that
is in neither could not be written now: it stays in the browser, is shown as not saved yet, and is sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
SCRIPTS = ("text.js", "log.js", "outbox.js", "editor.js")


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component(
        "errorscope_span_editor",
        css=(HERE / "editor.css").read_text(encoding="utf-8"),
        js="\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS),
        isolate_styles=False,
    )


def sent(key: str) -> Mapping[str, Any] | None:
    """The outbox as the browser last sent it; readable before the editor is drawn."""
    state = st.session_state.get(key)
    return state.get("outbox") if state else None


def span_editor(data: Mapping[str, Any], *, key: str, on_go: Callable[[], None]) -> None:
    """Draw the editor. When `on_go` runs, where to go stands in `st.session_state[key]["go"]["to"]`."""
    _component()(key=key, data=dict(data), on_outbox_change=lambda: None, on_go_change=on_go)
