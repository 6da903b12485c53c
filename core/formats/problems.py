"""Collect the problems of an upload, and texts that are probably not what a system or a person wrote."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from core.data import SegmentKey
from core.errors import ImportProblems, Problem
from core.formatting import format_count

CAP = 200
"""How many problems are listed; the rest are only counted."""

_MORE = re.compile(r"([\d,]+) more problems?")


class Collector:
    """Collect problems. The first `CAP` are kept; `closed()` ends them with "N more problems"."""

    def __init__(self) -> None:
        self.total = 0
        self.kept: list[Problem] = []

    def add(self, file: str, row: int, column: str, got: str, expected: str, todo: str) -> None:
        self.total += 1
        if len(self.kept) < CAP:
            self.kept.append(Problem(file, row, column, got, expected, todo))

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
        last = Problem("", 0, "", format_count(more, "more problem"), "none", "Fix the problems above and upload again")
        return (*self.kept, last)

    def check(self) -> None:
        """Raise `ImportProblems` if there was any problem."""
        if self:
            raise ImportProblems(self.closed())


def refused(file: str, row: int, got: str, expected: str, todo: str, column: str = "") -> ImportProblems:
    """Return the error with this one problem."""
    return ImportProblems([Problem(file, row, column, got, expected, todo)])


class OtherFormat(NamedTuple):
    """What a file is that a reader does not know, and what to do instead."""

    got: str
    todo: str


def _more(problem: Problem) -> int:
    counted_row = _MORE.fullmatch(problem.got) if not problem.file else None
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


_NO_TEXT = frozenset({"nan", "NaN", "NA", "N/A", "#N/A", "None", "NULL", "null", "<NA>"})
_SUBWORDS = re.compile(r"\w@@( |$)|(^|\s)▁\w")


class OddTexts:
    """Count the texts of a file that stand for a missing text (`nan`, as pandas writes it), or are in subwords (`de@@ lay`, `▁de lay`)."""

    def __init__(self) -> None:
        self._missing: Counter[tuple[str, str]] = Counter()
        self._subwords: Counter[str] = Counter()

    def take(self, role: str, text: str) -> None:
        """Count a text; `role` is its role in the plural, such as `references`."""
        if len(text) <= 4 and text in _NO_TEXT:
            self._missing[role, text] += 1
        elif ("@@" in text or "▁" in text) and _SUBWORDS.search(text):
            self._subwords[role] += 1

    def notes(self, file: str) -> list[str]:
        missing = [
            f"{file}: {format_count(n, 'text')} among the {role} {'is' if n == 1 else 'are'} {shown(text)}, read as a text. "
            "If it stands for a missing text, leave it empty."
            for (role, text), n in self._missing.items()
        ]
        return missing + [
            f"{file}: {format_count(n, 'text')} among the {role} {'has' if n == 1 else 'have'} marks of subwords (“@@”, “▁”). "
            "Metrics need the text without them."
            for role, n in self._subwords.items()
        ]
