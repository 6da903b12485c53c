"""Parse JSON from files within limits, so that every text gives either a value or an error with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from core.data import is_storable

DEPTH = 64
"""The deepest nesting of lists and objects."""
DIGITS = 100
"""The longest number in characters."""


class NotJson(ValueError):  # noqa: N818  (what the text is)
    """The reason why a text is not JSON or not accepted. `key` is a repeated key of an object.

    `unstorable` is True if a text has a NUL or half a surrogate pair; then `place` is the key of the outer object it belongs to.
    """

    def __init__(self, why: str, key: str | None = None, *, unstorable: bool = False, place: str = "") -> None:
        super().__init__(why)
        self.key = None if key is None else readable(key)
        self.unstorable, self.place = unstorable, readable(place)


def readable(text: str) -> str:
    """Return a text for a message, with characters that no file can store as escape codes."""
    return "".join(c if is_storable(c) else f"\\u{ord(c):04x}" for c in text)


def _short(digits: str) -> str:
    if len(digits) > DIGITS:
        raise NotJson(f"a number of {len(digits):,} characters")
    return digits


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        key = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise NotJson("a repeated key in one object", key)
    return found


_TYPED = json.JSONDecoder(parse_int=lambda n: int(_short(n)), parse_float=lambda n: float(_short(n)))
_AS_WRITTEN = json.JSONDecoder(object_pairs_hook=_unique, parse_float=str, parse_int=str, parse_constant=str)


def parsed(text: str) -> Any:
    """Return the value of a JSON text. Raises `NotJson` for invalid JSON, a number of more than `DIGITS` characters, nesting deeper than
    `DEPTH`, and a NUL or half a surrogate pair in a text."""
    return _checked(text, _TYPED.decode)


def as_written(text: str) -> Any:
    """Return the value of a JSON text, with numbers as the texts they were written as. Raises `NotJson` as `parsed` does, and for
    repeated keys in an object."""
    return _checked(text, _AS_WRITTEN.decode)


def _checked(text: str, decode: Callable[[str], Any]) -> Any:
    try:
        value = decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at character {error.pos + 1}") from error
    except RecursionError as error:
        raise NotJson("nesting too deep") from error
    if text.count("[") + text.count("{") > DEPTH and _depth_over(value, DEPTH):
        raise NotJson("nesting too deep")
    if "\\u" in text:
        _check_texts(value)
    return value


def _check_texts(value: Any) -> None:
    parts = value.items() if isinstance(value, dict) else [("", value)]
    for key, part in parts:
        if not (is_storable(key) and all(map(is_storable, _texts(part)))):
            raise NotJson("a NUL or half a surrogate pair", unstorable=True, place=key)


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _depth_over(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
        left += _children(item)
