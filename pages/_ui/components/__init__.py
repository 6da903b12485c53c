"""The browser components, and their messages, of which each is received exactly once.

A component calls `send(name, value)` (shared/component.js). It repeats all waiting messages until the data of the component
acknowledge their ids; the server passes each id to its handler once. So a message that is lost while the page is redrawn
arrives later.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from core.browser_scripts import ROOT, script_address
from pages._ui.shared import errors, wiring

Handler = Callable[[Mapping[str, Any]], None]
HERE = Path(__file__).parent


class Component(NamedTuple):
    """A component by name, with its script and its style sheets, relative to this folder."""

    name: str
    script: str
    styles: tuple[str, ...]


LANES = "shared/lanes.css"
EDITOR = Component("errorscope_span_editor", "span_annotator/annotator.js", ("span_annotator/editor.css",))
CARDS = Component("errorscope_compare_cards", "output_cards/cards.js", ("output_cards/cards.css", LANES))
INSPECTOR = Component("errorscope_inspector", "inspector/inspector.js", ("inspector/inspector.css",))
ALIGNMENT = Component("errorscope_alignment", "alignment/alignment.js", ("alignment/alignment.css",))
MARKED_TEXTS = Component("errorscope_marked_texts", "marked_texts/marked.js", ("marked_texts/marked.css", LANES))


@dataclass
class Mailbox:
    """The messages of one component in a session: what they are about, received ids, and the last value of each name."""

    of: str = ""
    acknowledged: tuple[str, ...] = ()
    last: dict[str, Mapping[str, Any]] = field(default_factory=dict)


@st.cache_resource
def build(component: Component) -> Any:
    """Return what draws the component.

    Streamlit loads a component from a blob, which has no relative addresses: it imports the script from the server.
    """
    address = wiring.address(f"assets/{script_address((HERE / component.script).relative_to(ROOT).as_posix())}")
    return st.components.v2.component(
        component.name,
        css="\n".join((HERE / style).read_text(encoding="utf-8") for style in component.styles),
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
    component: Component, data: Mapping[str, Any], *, key: str, of: str = "", handlers: Mapping[str, Handler]
) -> None:
    """Draw a component. `of` identifies what is shown: messages sent for something else are dropped."""
    box = mailbox(key)
    if box.of != of:
        box.of, box.last = of, {}

    @errors.guarded
    def arrived() -> None:
        receive(key, st.session_state.get(key), handlers)

    messages = {"key": key, "of": of, "acknowledged": list(box.acknowledged)}
    build(component)(key=key, data={**data, "messages": messages}, on_messages_change=arrived)


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


def span_editor(data: Mapping[str, Any], *, key: str, on_go: Callable[[str], None]) -> None:
    """Draw the span editor, which keeps its state in the browser and posts the annotator's actions to `/api/actions`.

    `data` is `core.services.labels.editor.editor_data` with `server` {url, headers} and `outbox`, the name of the sender's outbox
    (`core.services.people.sessions.outbox_name`); without them, nothing is saved. An action stays in the browser, is shown as not saved,
    and is sent again until the server says that it is saved or refused. `on_go` is called with each navigation step: next, previous,
    unlabelled, or stay, when the segment was submitted or its submission was withdrawn.
    """
    handlers: dict[str, Handler] = {"go": lambda value: on_go(str(value["to"]))}
    draw_component(EDITOR, data, key=key, of=json.dumps([data["project"], data["rater"]]), handlers=handlers)


def cards(
    data: Mapping[str, Any],
    *,
    key: str,
    of: str,
    on_go: Callable[[int], None],
    on_lam: Callable[[str], None],
    on_reference: Callable[[int], None],
    on_inspect: Callable[[Mapping[str, Any]], None],
    on_reply: Callable[[Mapping[str, Any]], None],
) -> None:
    """Draw the side-by-side cards of one segment, which the browser ranks again as soon as λ is moved, or the same as a table.

    `data` is `core.services.compare.segment.payload` plus position, total, lam, presets, search (the label of the search box),
    inspected (the id of the card in the inspector, or None) and spot (that of the output chosen in a list, or None). The browser
    remembers order, pinned systems and view for each project. Choices made on the cards of another segment are dropped.
    """

    def is_of_segment(value: Mapping[str, Any]) -> bool:
        return (value.get("doc"), value.get("segment")) == (data["doc"], data["segment"])

    handlers: dict[str, Handler] = {
        "go": lambda value: on_go(int(value["to"])),
        "lam": lambda value: on_lam(str(value["value"])),
        "reference": lambda value: on_reference(int(value["value"])) if is_of_segment(value) else None,
        "inspect": lambda value: on_inspect(value) if is_of_segment(value) else None,
        "reply": lambda value: on_reply(value) if is_of_segment(value) else None,
    }
    draw_component(CARDS, data, key=key, of=of, handlers=handlers)


def inspector(data: Mapping[str, Any], *, key: str, on_close: Callable[[], None]) -> None:
    """Draw the inspector of one output: its refinement round by round, alternatives per token, tries, and error spans.

    `data` is made in `pages._ui.compare.inspector`, which reads the `last` of the messages `attempts` {list: [{n, base, text}]} (all that
    no `answered` has reached yet), `at` {round} (whose alternatives are wanted, where not all were sent), `replay` and `again` (empty
    the list of tries); each with a fresh `n`.
    """
    handlers: dict[str, Handler] = dict.fromkeys(("attempts", "at", "replay", "again"), lambda value: None)
    handlers["close"] = lambda value: on_close()
    draw_component(INSPECTOR, data, key=key, of=str(data["key"]), handlers=handlers)


def alignment(data: Mapping[str, Any], *, key: str) -> None:
    """Draw the sentences of an output and of another text, with a heatmap of their matches and unmatched sentences.

    `data` is `core.services.compare.alignment.payload` plus name (of the output), against (the other text: "reference 2", "source"),
    the (as in "the source"), matcher, matched (its name) and good (the initial threshold of a good match).
    """
    draw_component(ALIGNMENT, data, key=key, handlers={})


def marked_texts(
    columns: Sequence[Mapping[str, Any]], *, key: str, layers: Sequence[Mapping[str, Any]] | None = None
) -> None:
    """Draw texts side by side, each with the error spans of one rater.

    Columns are {name, note, output, source, marks: [{severity, category, quote, note, side}]}; `output` and `source` are lists of
    [text, severity, [number, …]] (`core.services.labels.agreement.stretches`), `source` is empty if it has no error spans. With `layers`
    (`core.services.compare.segment.layers_json`), columns are {name, text, lanes}, and each text has lanes (shared/lanes.js).
    """
    data = {"columns": [dict(c) for c in columns], "layers": None if layers is None else [dict(of) for of in layers]}
    draw_component(MARKED_TEXTS, data, key=key, handlers={})
