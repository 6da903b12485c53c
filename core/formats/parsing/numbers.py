"""Parse numbers in files, within bounds that keep sums and squares from overflowing."""

from __future__ import annotations

import math
import re

LARGEST = 1e15
"""The largest absolute value of a number."""
LONGEST = 100
"""The longest number in characters."""
BOUNDS = "a number from −10¹⁵ to 10¹⁵"

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NEARLY = re.compile(
    r"[<>≤≥~≈±]?\s*[+\-−–]?\s*(\d[\d_'’\u00a0\u202f ]*([.,]\d{3})*([.,]\d*)?|[.,]\d+|inf(inity)?|∞)(e[+\-−]?\d+)?\s*[%‰*]?"
    r"|\d+\s*/\s*\d+",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"[+\-−–]?\d{1,3}([,.'’ \u00a0\u202f]\d{3})+([.,]\d+)?")
_NO_NUMBER = re.compile(r"#[A-Z0-9/]+[!?]?|[\W_]+|n\.\s?[ad]\.?", re.IGNORECASE)
_ABSENT = frozenset({"", "na", "n/a", "nan", "none", "null", "<na>"})


def parse_number(text: str) -> float | None:
    """Return the number in a text, or None if it is not a number within the bounds.

    ASCII digits with a decimal point and an optional exponent; surrounding blanks are ignored. Not accepted: infinity, digits of other
    scripts, `1_000`, hexadecimal numbers, a comma for decimals or thousands.
    """
    stripped = text.strip()
    if len(stripped) > LONGEST or not _NUMBER.fullmatch(stripped):
        return None
    value = float(stripped)
    return value if abs(value) <= LARGEST else None


def looks_like_a_number(text: str) -> bool:
    """Return whether a text is written as a number, within the bounds or not."""
    return _NUMBER.fullmatch(text.strip()) is not None


def means_a_number(text: str) -> bool:
    """Return whether a text is a number in any usual form, also those that `parse_number` refuses: 4,5 · 80% · −1 (U+2212) · <1 · Infinity."""
    stripped = text.strip()
    return len(stripped) <= LONGEST and _NEARLY.fullmatch(stripped) is not None


def stands_for_no_number(text: str) -> bool:
    """Return whether a text stands for a number that could not be given: #DIV/0!, #N/A, a dash, a question mark, n.a."""
    stripped = text.strip()
    return len(stripped) <= LONGEST and _NO_NUMBER.fullmatch(stripped) is not None


def expected_number(text: str) -> str:
    """Return what was expected instead of a text that `parse_number` does not accept."""
    if looks_like_a_number(text):
        return BOUNDS + f", in at most {LONGEST} characters"
    if _THOUSANDS.fullmatch(text.strip()):
        return "a number with a point for decimals and no separator of thousands"
    if text.count(",") == 1:
        return "a number with a point, not a comma"
    if "%" in text:
        return "a number without %"
    return "a number with the minus sign of the keyboard, -" if set(text) & set("−–") else "a number"


def json_number(value: object) -> float | None:
    """Return the number of a JSON value, also one written as a text; None if it is not a number within the bounds."""
    if isinstance(value, str):
        return parse_number(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -LARGEST <= value <= LARGEST else None


def parse_lambda(text: str) -> float | None:
    """Return the λ in a text: a number ≥ 0, or ∞ for "inf" and "∞"; None for anything else."""
    if text.strip().lower() in ("inf", "∞"):
        return math.inf
    lam = parse_number(text)
    return lam if lam is not None and lam >= 0 else None


def is_absent(text: str) -> bool:
    """Return whether a text stands for a missing number: empty, NA, N/A, NaN, None, null, <NA>."""
    return text.strip().lower() in _ABSENT
