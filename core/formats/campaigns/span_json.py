"""Read and write error spans as JSON objects with the offsets that Appraise, WMT and Pearmut count.

`start_i` and `end_i` are the first and the last unit. "missing" stands for an omission without a position. What the plain keys cannot
restore (a position in the source, a span that begins or ends at a unit the tool does not count) is kept under `errorscope`, which other
tools ignore.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from core.data import SEVERITIES, Side, Span
from core.formats.labels.annotator_answers import EXACT, INSTRUCTIONS, OMISSION
from core.formats.labels.label_file import UNSPECIFIED, Severities, category_or_none
from core.formats.problems import shown

_TAG = re.compile(r"</?br\s*/?>", re.IGNORECASE)

BLANKS = "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What JavaScript's `trim` removes."""

OUTSIDE = "offsets outside the text"
BACKWARDS = "ends before it begins"
HALF = "begins or ends inside a character"


class Units:
    """The UTF-16 units of a text: an emoji counts as two.

    Without `breaks`, line breaks do not count. With `tags`, a tag such as `<br>` counts as one unit, since the tool displays it as a line
    break. With `trim`, blanks at both ends of the text do not count.
    """

    def __init__(self, text: str, *, breaks: bool = True, tags: bool = False, trim: bool = False) -> None:
        inside = (len(text) - len(text.lstrip(BLANKS)), len(text.rstrip(BLANKS))) if trim else (0, len(text))
        self.length = len(text)
        self._starts: Sequence[int] = range(len(text))
        self._ends: Sequence[int] = range(1, len(text) + 1)
        self._halves: set[int] = set()
        """Units whose start is not the start of a code point: the second half of a pair."""
        if (
            max(text, default="") > "\uffff"
            or (not breaks and "\n" in text)
            or (tags and _TAG.search(text))
            or inside != (0, len(text))
        ):
            self._count_each(text, breaks, tags, inside)
        self.count = len(self._starts)

    def _count_each(self, text: str, breaks: bool, tags: bool, inside: tuple[int, int]) -> None:
        starts, ends = list[int](), list[int]()
        at = 0
        while at < len(text):
            tag = _TAG.match(text, at) if tags and text[at] == "<" else None
            end = tag.end() if tag else at + 1
            ignored = (text[at] == "\n" and not breaks) or not inside[0] <= at < inside[1]
            width = 0 if ignored else 1 + (ord(text[at]) > 0xFFFF)
            if width == 2:
                self._halves.add(len(starts) + 1)
            starts += [at] * width
            ends += [end] * width
            at = end
        self._starts, self._ends = starts, ends

    def place(self, first: int, last: int) -> tuple[int, int] | str:
        """Return the half-open span of code points from its first to its last unit, or the reason why there is none.

        A span without text has its last unit before the first.
        """
        if last < first - 1:
            return BACKWARDS
        if not 0 <= first <= last + 1 <= self.count:
            return OUTSIDE
        if first in self._halves or last + 1 in self._halves:
            return HALF
        start = self._starts[first] if first < self.count else self.length
        return (start, self._ends[last]) if last >= first else (start, start)

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last unit inside a half-open span of code points. `place` restores it if no unit is cut."""
        first = bisect_left(self._starts, start)
        last = bisect_right(self._ends, end) - 1 if start < end else first - 1
        return first, max(last, first - 1)


units_of = lru_cache(maxsize=2)(Units)  # an output and its source: all their error spans are read one after another

UNDECIDED = "undecided"
LONGEST_OFFSET = 18
"""The most digits of an offset."""

_MISSING = ("missing", "[missing]")
_FAULT = ("instructions fault", "[instructions fault]")

_SEVERITIES = Severities()
NO_SEVERITY = "no severity chosen"
NO_OFFSETS = "offsets that are not whole numbers"
NO_TEXT = "the text of the item is not known"
NO_OBJECT = "not an object"


class SpanStyle(NamedTuple):
    """How a tool counts: see `Units`. With `tokens`, [missing] and [instructions fault] are the units after the text."""

    breaks: bool
    tags: bool
    tokens: bool
    trim: bool


APPRAISE = SpanStyle(breaks=True, tags=True, tokens=False, trim=True)
PEARMUT = SpanStyle(breaks=False, tags=False, tokens=True, trim=False)


class SpanText(NamedTuple):
    """The texts of one rated output with their units. `output` is None if it is not known."""

    output: str | None
    source: str
    units: Units
    tokens: bool

    @classmethod
    def of(cls, output: str | None, source: str | None, style: SpanStyle) -> SpanText:
        units = Units(output or "", breaks=style.breaks, tags=style.tags, trim=style.trim)
        return cls(output, source or "", units, style.tokens)


def read_span(value: Any, texts: SpanText) -> tuple[Span | None, str]:
    """Return the span, checked against its text, and what is odd about it ("" if nothing); None if it has no place in the text."""
    if not isinstance(value, dict):
        return None, NO_OBJECT
    if texts.output is None:
        return None, NO_TEXT
    severity, odd = _severity(value.get("severity"))
    category, note = category_of(value), value.get("note")
    where, token = _place(value, texts)
    if isinstance(where, str):
        return None, where
    side, start, end = where
    text = texts.output if side == "output" else texts.source
    note = note if isinstance(note, str) else ""
    span = Span(side, start, end, text[start:end], severity, category or token or UNSPECIFIED, note)
    span.check(text)
    return span, odd


def _severity(name: Any) -> tuple[str, str]:
    return read_severity(name) if isinstance(name, str) and name.strip() else (UNDECIDED, NO_SEVERITY)


def read_severity(name: str) -> tuple[str, str]:
    """Return the severity of this name, and what is odd about it ("" if nothing)."""
    if name.strip().casefold() == UNDECIDED:
        return UNDECIDED, NO_SEVERITY
    known = _SEVERITIES.find(name)
    return (known, "") if known else (name, f"severity {shown(name)}")


def category_of(value: dict[str, Any]) -> str | None:
    """Return the category that the object of a span names, as a path; None if it names none."""
    path = value.get("error_type") or value.get("category")
    if isinstance(path, list):
        path = "/".join(str(part) for part in path if part is not None)
    return path if isinstance(path, str) and path else None


def _place(value: dict[str, Any], texts: SpanText) -> tuple[tuple[Side, int, int] | str, str | None]:
    """Return side and code points, or the reason why there are none, and the category that a token stands for."""
    first, last = _offset(value.get("start_i")), _offset(value.get("end_i"))
    token = _token(first, last, texts)
    exact = _exact(value.get(EXACT), texts)
    if exact is not None and _plain(*exact, texts) in ((first, last), None):
        return exact, None
    if token is not None:
        return ("output", 0, 0), token
    if not isinstance(first, int) or not isinstance(last, int):
        return NO_OFFSETS, None
    place = texts.units.place(first, last)
    return (place, None) if isinstance(place, str) else (("output", *place), None)


def _offset(value: Any) -> Any:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= LONGEST_OFFSET:
        return int(value)
    return value


def _token(first: Any, last: Any, texts: SpanText) -> str | None:
    if first in _MISSING or last in _MISSING:
        return OMISSION
    if first in _FAULT or last in _FAULT:
        return INSTRUCTIONS
    if texts.tokens and isinstance(first, int) and first == last:
        return {texts.units.count: OMISSION, texts.units.count + 1: INSTRUCTIONS}.get(first)
    return None


def _exact(kept: Any, texts: SpanText) -> tuple[Side, int, int] | None:
    match kept:
        case ["output" | "source" as side, int(start), int(end)]:
            text = texts.source if side == "source" else texts.output or ""
            return (side, start, end) if 0 <= start <= end <= len(text) else None
    return None


def _plain(side: Side, start: int, end: int, texts: SpanText) -> tuple[int, int] | None:
    return texts.units.back(start, end) if side == "output" else None


def write_span(span: Span, texts: SpanText, *, key: str = "error_type") -> dict[str, Any]:
    """Return the object of a span; `key` names the category: a list under `error_type`, a text under `category`."""
    path = category_or_none(span.category)
    rest: dict[str, Any] = {
        "severity": span.severity.lower() if span.severity in SEVERITIES else span.severity,
        key: path if key == "category" or path is None else path.split("/"),
    }
    if span.note:
        rest["note"] = span.note
    value = dict(zip(("start_i", "end_i"), _written(span, texts), strict=True)) | rest
    if read_span(value, texts)[0] != span:
        value[EXACT] = [span.side, span.start, span.end]
    return value


def _written(span: Span, texts: SpanText) -> tuple[int | str, int | str]:
    missing: int | str = texts.units.count if texts.tokens else _MISSING[0]
    if span.side == "source":
        return missing, missing
    if (span.start, span.end) == (0, 0) and span.category != UNSPECIFIED:
        at = texts.units.count + 1 if texts.tokens and span.category == INSTRUCTIONS else missing
        return at, at
    return texts.units.back(span.start, span.end)
