"""The span editor: a component that keeps its state in the browser and posts the annotator's actions to `/api/actions`.

It receives `data` (`core.services.labels.editor.editor_data`) with `server` {url, headers} and `outbox`, the name of the sender's outbox
(`core.services.people.sessions.outbox_name`); without them, nothing is saved. An action stays in the browser, is shown as not saved, and is
sent again until the server says that it is saved or refused. The page gets only the message `go`
{to: next | previous | unlabelled | stay} (`pages._ui.components.shared`); `stay` says that the segment was submitted or that its submission was withdrawn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pages._ui.components import shared

_component = partial(shared.build, "errorscope_span_editor", __file__, "editor.css", "annotator.js")


def span_editor(data: Mapping[str, Any], *, key: str, on_go: Callable[[str], None]) -> None:
    """Draw the editor; `on_go` is called with each navigation step."""
    of = json.dumps([data["project"], data["rater"]])
    shared.draw_component(_component(), data, key=key, of=of, handlers={"go": lambda value: on_go(str(value["to"]))})
