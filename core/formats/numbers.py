"""Numbers as people write them in tables."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ABSENT = frozenset({"", "na", "n/a", "nan", "none", "null"})


def number(text: str) -> float | None:
    """The finite number a text is, with a point for the decimals and blanks around it ignored; None if it is none."""
    stripped = text.strip()
    value = float(stripped) if _NUMBER.fullmatch(stripped) else None
    return value if value is not None and math.isfinite(value) else None


def is_absent(text: str) -> bool:
    """True for what tables write where there is no number: nothing, NA, N/A, NaN, None, null."""
    return text.strip().lower() in _ABSENT
