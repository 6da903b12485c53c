"""Validate all fields of an incoming action before it is recorded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args

from core.data import SEVERITIES, Verdict, is_storable
from core.ports.labels import ASKS, Action, ActionKind

VERDICTS: tuple[Verdict | None, ...] = ("no_error", "non_translation", None)
LONGEST_NOTE = 10_000
LONGEST_REASON = 500
HIGHEST_SCORE = 100
LONGEST_CATEGORY = 200
LARGEST_PLACE = 2**31
"""The largest offset of an error span, in code points."""
_ID = re.compile(r"[ -~]{1,200}")


def malformed(action: Action) -> str:
    """Return what is wrong with the form of an action, or "". The texts of the segment are not checked."""
    p = action.payload
    if not isinstance(p, Mapping):
        return f"payload {_shown(p)}"
    if action.kind not in get_args(ActionKind):
        return f"kind {_shown(action.kind)}"
    if not isinstance(action.id, str) or not _ID.fullmatch(action.id):
        return f"id {_shown(action.id)}; expected 1 to 200 printable ASCII characters"
    if not _is_time(action.client_time):
        return f"time {_shown(action.client_time)}; expected an ISO 8601 date and time"
    if not (isinstance(seen := p.get("seen", ""), str) and (not seen or _ID.fullmatch(seen))):
        return f"version {_shown(seen)}; expected the id of an action"
    if action.kind in ("add", "change", "delete") and not (isinstance(p.get("mark"), str) and _ID.fullmatch(p["mark"])):
        return f"mark {_shown(p.get('mark'))}; expected 1 to 200 printable ASCII characters"
    if action.kind == "reject" or "suggestion" in p:
        if not (isinstance(name := p.get("suggestion"), str) and _ID.fullmatch(name)):
            return f"suggestion {_shown(name)}; expected the id of a suggestion"
    if action.kind in ("add", "change"):
        return _malformed_span(p)
    if action.kind == "verdict" and ("value" not in p or p["value"] not in VERDICTS):
        return f"verdict {_shown(p.get('value'))}"
    if action.kind in ("score", "prefer", "decline"):
        return _malformed_answer(action.kind, p)
    if action.kind == "submit" and not (isinstance(p.get("systems", []), list | tuple) and p.get("systems", [""])):
        return f"systems {_shown(p['systems'])}"
    if action.kind == "submit" and not (
        isinstance(a := p.get("asks", ["spans"]), list | tuple) and a and all(x in ASKS for x in a)
    ):
        return f"asks {_shown(p['asks'])}"
    if name := {"open": "order", "reveal": "systems"}.get(action.kind):
        systems = p.get(name)
        if not (isinstance(systems, list | tuple) and all(isinstance(system, str) for system in systems)):
            return f"{name} {_shown(systems)}"
        ids = p.get("ids", []) if action.kind == "open" else []
        if not (isinstance(ids, list | tuple) and all(isinstance(i, str) and _ID.fullmatch(i) for i in ids)):
            return f"ids {_shown(ids)}"
    return ""


def _malformed_span(p: Mapping[str, Any]) -> str:
    if p.get("side") not in ("output", "source"):
        return f"side {_shown(p.get('side'))}"
    for name in ("start", "end"):
        if type(p.get(name)) is not int or not 0 <= p[name] <= LARGEST_PLACE:
            return f"{name} {_shown(p.get(name))}"
    if p.get("severity") not in SEVERITIES:
        return f"severity {_shown(p.get('severity'))}; expected {', '.join(SEVERITIES)}"
    if not isinstance(p.get("quote"), str):
        return f"quote {_shown(p.get('quote'))}"
    return text_fault("category", p.get("category"), LONGEST_CATEGORY) or (
        text_fault("note", p.get("note", ""), LONGEST_NOTE) if p["category"] else "no category"
    )


def _malformed_answer(kind: ActionKind, p: Mapping[str, Any]) -> str:
    if kind == "score":
        value = p.get("value", "")
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST_SCORE
        return "" if value is None or number else f"score {_shown(value)}; expected 0 to {HIGHEST_SCORE}"
    if kind == "prefer":
        return "" if isinstance(p.get("winner"), str | None) else f"winner {_shown(p['winner'])}"
    return text_fault("reason", p.get("reason"), LONGEST_REASON)


def text_fault(name: str, text: object, longest: int) -> str:
    """Return what is wrong with a text of an action, or ""."""
    if not isinstance(text, str):
        return f"{name} {_shown(text)}"
    if len(text) > longest:
        return f"a {name} of {len(text):,} characters; at most {longest:,} are allowed"
    if not is_storable(text):
        return f"a {name} with a NUL or a lone surrogate (half a character); type it again"
    return ""


def _is_time(text: object) -> bool:
    if not isinstance(text, str) or len(text) > 40:
        return False
    try:
        return not text or datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def _shown(value: object) -> str:
    try:
        return repr(value)[:60]
    except (ValueError, RecursionError):  # an integer with thousands of digits; deep nesting
        return type(value).__name__
