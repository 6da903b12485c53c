"""Collect the problems of an upload: all are counted, a limited number is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.data import SegmentKey
from core.errors import ImportProblems, Problem

CAP = 200
"""How many problems are listed; the rest are only counted."""

_MORE = re.compile(r"([\d,]+) more problems?")


class Collector:
    """Collect problems. The first `CAP` are kept; `closed()` ends them with "N more problems"."""

    def __init__(self) -> None:
        self.total = 0
        self.kept: list[Problem] = []

    def add(self, file: str, row: int, column: str, found: str, expected: str, todo: str) -> None:
        self.total += 1
        if len(self.kept) < CAP:
            self.kept.append(Problem(file, row, column, found, expected, todo))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add the problems of another collector, including those that its last row only counts."""
        for problem in problems:
            if uncounted := _more(problem):
                self.total += uncounted
            else:
                self.add(*problem)

    def __bool__(self) -> bool:
        return self.total > 0

    def closed(self) -> tuple[Problem, ...]:
        """Return the problems kept, and a last row that counts the others."""
        more = self.total - len(self.kept)
        if not more:
            return tuple(self.kept)
        last = Problem("", 0, "", counted(more, "more problem"), "none", "Fix the problems above and upload again")
        return (*self.kept, last)

    def check(self) -> None:
        """Raise `ImportProblems` if there was any problem."""
        if self:
            raise ImportProblems(self.closed())


def _more(problem: Problem) -> int:
    counted_row = _MORE.fullmatch(problem.found) if not problem.file else None
    return int(counted_row[1].replace(",", "")) if counted_row else 0


def how_many(problems: Iterable[Problem]) -> int:
    """Return the number of problems, including those that the last row only counts."""
    return sum(_more(problem) or 1 for problem in problems)


def shown(text: str, limit: int = 60) -> str:
    """Return a user's text for a message: quoted, on one line, cut at `limit` code points."""
    flat = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: limit + 1])
    return f"“{flat[:limit]}{'…' if len(flat) > limit else ''}”"


def shown_segment(key: SegmentKey) -> str:
    """Return the name of a segment for a message, with its document if there is one."""
    return f"segment {shown(key.segment_id)}" + (f" of {shown(key.doc_id)}" if key.doc_id else "")


def counted(n: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 line`, `2,098 lines`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
