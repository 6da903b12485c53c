"""Numbers and counts as text for people.

Addresses, files and signatures have formats of their own: nothing here is meant to be parsed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from functools import partial

MISSING = "–"
_ISOLATE, _END = "\u2068", "\u2069"
_FIGURE = re.compile(r"[<±+−]?[\d.,∞]+\s?%?(\s\[[^]]*\])?(\s\([^)]*\))?[\s•†]*|\[[^]]*\]|[\d–]+")


def format_number(value: float | None, digits: int = 3, *, leading_zero: bool = False, missing: str = MISSING) -> str:
    """Return `value` with this many decimals and a minus sign: .434, −.021, 10.500; `missing` for None.

    Statistics between −1 and 1 are written without the leading zero; scores of metrics with it.
    """
    if value is None:
        return missing
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) else ""
    return sign + (text if leading_zero else text.removeprefix("0") if text.startswith("0.") else text)


def with_interval(shown: str, low: float | None, high: float | None, form: Callable[[float], str] | None = None) -> str:
    """Return a value as text with the ends of its interval, if it has one: ".434 [.33, .53]". By default they have two decimals."""
    if low is None or high is None:
        return shown
    first, last = (form(end) if form else format_number(end, 2) for end in (low, high))
    return f"{shown} [{first}, {last}]"


def format_interval(
    value: float | None, low: float | None, high: float | None, digits: int = 3, *, leading_zero: bool = False
) -> str:
    """Return a value with the ends of its interval, all with this many decimals; a dash without a value."""
    form = partial(format_number, digits=digits, leading_zero=leading_zero)
    return form(value) if value is None else with_interval(form(value), low, high, form)


def format_figure(value: float) -> str:
    """Return `value` with four significant digits and a minus sign."""
    return f"{value:.4g}".replace("-", "−")


def format_change(value: float, digits: int = 3, *, leading_zero: bool = False) -> str:
    """Return a difference with its sign: +.021, −.300, ±0 if it is 0 at this many decimals."""
    text = format_number(value, digits, leading_zero=leading_zero)
    return "±0" if not float(f"{value:.{digits}f}") else text if value < 0 else f"+{text}"


def format_percent(share: float | None, digits: int = 0, *, missing: str = MISSING) -> str:
    """Return a share as a percentage: 41 %, −0.3 %; `missing` for None."""
    return missing if share is None else f"{format_number(100 * share, digits, leading_zero=True)} %"


def is_figure(text: str) -> bool:
    """Return whether this is a number as text, possibly with an interval, a count, a percent sign or a mark."""
    return bool(_FIGURE.fullmatch(text))


def format_lambda(value: float, digits: int = 3) -> str:
    """Return λ with this many significant digits, or ∞."""
    if math.isinf(value):
        return "∞"
    rounded = float(f"{value:.{digits}g}")
    if rounded < 1000:
        return f"{value:.{digits}g}"
    text = f"{rounded:,.{max(0, digits - len(str(int(rounded))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_fitted_lambda(value: float, ci: tuple[float, float] | None) -> str:
    """Return λ, or an end of its 95 % CI, to the decimals that two digits of the width of the CI support, and at most three digits.

    Two digits if the CI has no upper end; three without a CI.
    """
    if ci is None or math.isinf(value):
        return format_lambda(value)
    if math.isinf(ci[1]):
        return format_lambda(value, 2)
    text, width = format_lambda(value), ci[1] - ci[0]
    decimals = max(0, 1 - math.floor(math.log10(width))) if width > 0 else 3
    return f"{value:,.{decimals}f}" if len(text.partition(".")[2]) > decimals else text


def format_count(n: int, noun: str, plural: str = "") -> str:
    """Return the count with its noun: "1 output", "1,200 outputs". `plural` is for irregular nouns."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def isolated(text: str, least: float = 0.0) -> str:
    """Return a name or text so that letters from right to left in it do not move what is written around it, nor its own punctuation.

    A text without such letters, or with a smaller share than `least`, is unchanged: a sentence that begins with a name must not get
    its direction. The characters that are added are invisible; the direction follows the first letter.
    """
    directions = [unicodedata.bidirectional(c) for c in text]
    right_to_left = sum(d in ("R", "AL", "AN") for d in directions)
    if right_to_left <= least * (right_to_left + directions.count("L")) or (text[:1], text[-1:]) == (_ISOLATE, _END):
        return text
    return f"{_ISOLATE}{text}{_END}"


def format_clock(seconds: float) -> str:
    """Return hours, minutes and seconds: "1:07:30"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60:,}:{minutes % 60:02}:{rest:02}"


def format_duration(seconds: float, *, exact: bool = False) -> str:
    """Return a rounded duration: "40 s", "2 min", "1 h 10 min", "14 h"; if `exact`, to the minute: "1 h 14 min"."""
    if seconds <= 59:
        return f"{max(1, round(seconds))} s"
    minutes = max(1, round(seconds / 60))
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min"
    if exact:
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    rest = 10 * round(rest / 10)
    hours, rest = (hours + 1, 0) if rest == 60 else (hours, rest)
    return f"{hours} h {rest} min" if rest and hours < 10 else f"{hours} h"
