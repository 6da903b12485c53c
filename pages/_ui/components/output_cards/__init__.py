"""The side-by-side cards of one segment, drawn in the browser so that moving λ re-ranks them at once,
and as a table. Order, pinned systems and view are remembered by the browser for each project.

`data` is `core.services.compare.segment.payload` plus position, total, lam, presets, search (the label of the search box),
inspected (the id of the card in the inspector, or None) and spot (that of the output chosen in a list, or None). The browser sends five messages (`pages._ui.components.shared`): `go` {to},
`lam` {value}, `reference` {value}, `inspect` {id} and `reply` {id, metric}, the last three with the `doc` and `segment` they were meant for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pages._ui.components import shared

_component = partial(shared.build, "errorscope_compare_cards", __file__, "cards.css", "cards.js", "../shared/lanes.css")


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
    """Draw the cards. Choices made on the cards of another segment are dropped."""

    def is_of_segment(value: Mapping[str, Any]) -> bool:
        return (value.get("doc"), value.get("segment")) == (data["doc"], data["segment"])

    handlers: dict[str, shared.Handler] = {
        "go": lambda value: on_go(int(value["to"])),
        "lam": lambda value: on_lam(str(value["value"])),
        "reference": lambda value: on_reference(int(value["value"])) if is_of_segment(value) else None,
        "inspect": lambda value: on_inspect(value) if is_of_segment(value) else None,
        "reply": lambda value: on_reply(value) if is_of_segment(value) else None,
    }
    shared.draw_component(_component(), data, key=key, of=of, handlers=handlers)
