"""The span editor: a component that keeps its state in the browser and sends actions in batches.

It receives `data` (see `exchange.editor_data`) and answers with the state `outbox`
{n, rater, batches: [{project, doc, segment, actions: [{id, kind, output, payload, time}]}]}, every action of this
annotator that is not acknowledged yet, repeated until it is, and with the message
`go` {to: next | previous | unlabelled} (`pages._ui.components.shared`).
`data` answers with `received` (the last n that was processed), `acknowledged` [id] and `refused` {id: reason}. An action in
neither could not be saved now: it stays in the browser, is shown as not saved, and is sent again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from pages._ui.components import shared

SCRIPTS = ("text.js", "align.js", "log.js", "outbox.js", "editor.js")
_component = partial(shared.build, "errorscope_span_editor", __file__, "editor.css", *SCRIPTS)


def sent(key: str) -> Mapping[str, Any] | None:
    """Return the outbox as the browser last sent it; available before the editor is drawn."""
    state = st.session_state.get(key)
    return state.get("outbox") if state else None


def span_editor(data: Mapping[str, Any], *, key: str, on_go: Callable[[str], None]) -> None:
    """Draw the editor; `on_go` is called with each navigation step."""
    of = json.dumps([data["project"], data["rater"]])
    handlers: dict[str, shared.Handler] = {"go": lambda value: on_go(str(value["to"]))}
    shared.draw(_component(), data, key=key, of=of, handlers=handlers, on_outbox_change=lambda: None)
