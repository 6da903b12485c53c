"""Convert the offsets of annotation tools, which count other units than code points, and whose last unit is inclusive."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

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
