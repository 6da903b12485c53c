"""The inspector of one output: its refinement round by round, alternatives per token, tries, and error spans.

`data` is made in `pages._ui.compare.inspector`. The browser sends the messages (`pages._ui.components.shared`) `attempts` {list:
[{n, base, text}]} (all that no `answered` has reached yet), `at` {round} (whose alternatives are wanted, where not all were
sent), `replay`, `again` (empty the list of tries) and `close`; each with a fresh `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pages._ui.components import shared

ANSWERS = ("attempts", "at", "replay", "again", "close")
_component = partial(shared.build, "errorscope_inspector", __file__, "inspector.css", "inspector.js")


def inspector(data: Mapping[str, Any], *, key: str, on_close: Callable[[], None]) -> None:
    """Draw the inspector."""
    handlers: dict[str, shared.Handler] = {name: lambda value: None for name in ANSWERS}
    handlers["close"] = lambda value: on_close()
    shared.draw_component(_component(), data, key=key, of=str(data["key"]), handlers=handlers)
