"""Build components, and receive each of their messages exactly once.

A component calls `send(name, value)` (component.js). It repeats all waiting messages until the data of the component
acknowledge their ids; the server passes each id to its handler once. So a message that is lost while the page is redrawn
arrives later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from core.browser_scripts import ROOT, script_address
from pages._ui.shared import errors, wiring

Handler = Callable[[Mapping[str, Any]], None]


@dataclass
class Mailbox:
    """The messages of one component in a session: what they are about, received ids, and the last value of each name."""

    of: str = ""
    acknowledged: tuple[str, ...] = ()
    last: dict[str, Mapping[str, Any]] = field(default_factory=dict)


@st.cache_resource
def build(name: str, module: str, style: str, script: str, *more_styles: str) -> Any:
    """Return the component `name` made of style sheets and a script beside `module`.

    Streamlit loads a component from a blob, which has no relative addresses: it imports the script from the server.
    """
    folder = Path(module).parent
    address = wiring.address(f"assets/{script_address((folder / script).relative_to(ROOT).as_posix())}")
    return st.components.v2.component(
        name,
        css="\n".join((folder / style).read_text(encoding="utf-8") for style in (style, *more_styles)),
        js=f"""const script = await import(new URL({json.dumps(address)}, location.origin));
export default script.default;
""",
        isolate_styles=False,
    )


def mailbox(key: str) -> Mailbox:
    """Return the mailbox of the component with this key in this session."""
    box: Mailbox = st.session_state.setdefault(f"mailbox-{key}", Mailbox())
    return box


def last(key: str, name: str, of: str) -> Mapping[str, Any]:
    """Return the last value sent under `name` for `of`, or an empty mapping; available before `draw_component`."""
    box = mailbox(key)
    return box.last.get(name, {}) if box.of == of else {}


def draw_component(
    component: Any, data: Mapping[str, Any], *, key: str, of: str = "", handlers: Mapping[str, Handler], **states: Any
) -> None:
    """Draw a component. `of` identifies what is shown: messages sent for something else are dropped."""
    box = mailbox(key)
    if box.of != of:
        box.of, box.last = of, {}

    @errors.guarded
    def arrived() -> None:
        receive(key, st.session_state.get(key), handlers)

    messages = {"key": key, "of": of, "acknowledged": list(box.acknowledged)}
    component(key=key, data={**data, "messages": messages}, on_messages_change=arrived, **states)


def receive(key: str, state: Any, handlers: Mapping[str, Handler]) -> None:
    """Acknowledge the messages in the state of a component, and pass new ones to their handlers."""
    sent = state.get("messages") if isinstance(state, Mapping) else None
    listed = sent.get("list") if isinstance(sent, Mapping) else None
    messages = [m for m in listed or () if isinstance(m, Mapping) and isinstance(m.get("id"), str)]
    box = mailbox(key)
    fresh = [m for m in messages if m["id"] not in box.acknowledged]
    box.acknowledged = tuple(m["id"] for m in messages if m["id"] in box.acknowledged)
    for message in fresh:
        box.acknowledged += (message["id"],)  # one by one: if a handler stops the run, the others are sent again
        name, value = message.get("name"), message.get("value")
        if isinstance(name, str) and name in handlers and isinstance(value, Mapping) and message.get("of") == box.of:
            box.last[name] = value
            errors.guarded(handlers[name])(value)
