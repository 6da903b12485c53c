"""Types of columns: texts, times and JSON, the same in both databases."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Text, TypeDecorator
from sqlalchemy.exc import DontWrapMixin

from core.data import is_storable
from core.errors import UserError


class NotStorable(UserError, DontWrapMixin):  # noqa: N818  (what the text is)
    """The error for a text with a NUL or an unpaired surrogate, which PostgreSQL cannot store."""

    def __init__(self, text: str) -> None:
        at = next(i for i, character in enumerate(text) if not is_storable(character))
        name = "a NUL character" if text[at] == "\0" else "half a character (an unpaired surrogate)"
        start = max(0, at - 30)
        super().__init__(
            "this text cannot be stored",
            got=f"{name} at position {at + 1}, in {ascii(text[start : at + 30])}",
            hint="Remove that character; nothing was saved",
        )


def check_storable(texts: Iterable[str | None]) -> None:
    """Raise `NotStorable` for the first text that `core.data.is_storable` refuses."""
    given = [text for text in texts if text]
    if not is_storable("".join(given)):
        raise NotStorable(next(text for text in given if not is_storable(text)))


class StoredText(TypeDecorator[str]):
    """A text of any length. Raises `NotStorable` for a text that `core.data.is_storable` refuses, on both databases alike."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        check_storable((value,))
        return value


TEXT = StoredText()


class Utc(TypeDecorator[datetime]):
    """An aware datetime, stored as UTC without a zone."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Json(TypeDecorator[Any]):
    """Plain JSON values as text. ∞ and −∞ are kept; NaN is refused (a missing number is None with a reason)."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else to_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def to_json(value: Any) -> str:
    """Return `value` as ASCII JSON. Raises ValueError if it contains NaN."""
    if _holds_nan(value):
        raise ValueError("NaN is not stored; a missing number is None with a reason")
    return json.dumps(value, separators=(",", ":"))


def _holds_nan(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, dict):
        return any(_holds_nan(v) for v in value.values())
    return isinstance(value, list | tuple) and any(_holds_nan(v) for v in value)


def now() -> datetime:
    return datetime.now(UTC)
