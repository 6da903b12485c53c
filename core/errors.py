"""Errors a person can act on.

Every message says what is wrong, where, what was found, what was expected and what to do next. They are caught in two
places only: `pages/_ui/errors.py` and the command line. Anything else that is raised is a fault of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple


class Problem(NamedTuple):
    """One row of the table of problems an upload is answered with. `row` counts from 1 as an editor does; 0 = the whole file."""

    file: str
    row: int
    column: str
    found: str
    expected: str
    todo: str

    def sentence(self) -> str:
        place = ", ".join(p for p in (self.file, f"line {self.row}" if self.row else "", self.column) if p)
        return f"{place}: found {self.found}; expected {self.expected}. {self.todo}"


class UserError(Exception):
    """Something the user can mend: `what` happened `where`, what was `got` and `expected`, and the next step (`hint`)."""

    def __init__(self, what: str, *, where: str = "", got: str = "", expected: str = "", hint: str = "") -> None:
        self.what, self.where, self.got, self.expected, self.hint = what, where, got, expected, hint
        detail = "; ".join(p for p in (got and f"got {got}", expected and f"expected {expected}") if p)
        message = f"{where}: {what}" if where else what
        if detail:
            message += f" ({detail})"
        super().__init__(f"{message}. {hint}" if hint else f"{message}.")


class Unavailable(UserError):  # noqa: N818  (a state, not a fault)
    """Storage could not take this now: locked, full, or not writable. Nothing was changed; the same may succeed later."""


class ImportProblems(UserError):  # noqa: N818  (the table it carries)
    """An upload that cannot be taken as it is; nothing of it was imported."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0].sentence()
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        super().__init__("nothing was imported", hint=first + more)


def unknown(kind: str, name: str, names: Iterable[str], *, hint: str = "") -> UserError:
    """There is no such thing; which there are, and the nearest of them, or else `hint`."""
    there = list(names)
    near = get_close_matches(name, there, n=2)
    return UserError(
        f"there is no {kind} “{name}”",
        expected="one of " + ", ".join(there),
        hint=f"Did you mean {' or '.join(near)}?" if near else hint,
    )
