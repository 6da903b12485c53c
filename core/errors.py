"""Errors that the user can fix.

Every message says what happened, where, what was found and expected, and what to do next. Only
`pages/_ui/shared/errors.py` and the command line catch these errors. Any other exception is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

PROGRAM = "errorscope"
"""The name of the command line, for messages, files and pages that name a command."""


class Problem(NamedTuple):
    """One problem of an uploaded file. `row` is the line number, counted from 1; 0 means the whole file."""

    file: str
    row: int
    column: str
    got: str
    expected: str
    todo: str

    def sentence(self) -> str:
        place = ", ".join(p for p in (self.file, f"line {self.row}" if self.row else "", self.column) if p)
        opening = f"{place}: found" if place else "Found"
        return f"{opening} {self.got}; expected {self.expected}. {self.todo}"


class UserError(Exception):
    """An error the user can fix: `what` happened `where`, what was `got` and `expected`, and what to do next (`hint`)."""

    def __init__(self, what: str, *, where: str = "", got: str = "", expected: str = "", hint: str = "") -> None:
        self.what, self.where, self.got, self.expected, self.hint = what, where, got, expected, hint
        super().__init__(self.sentence())

    def __reduce__(self) -> tuple[Any, ...]:
        """Let processes exchange the error; subclasses take other arguments."""
        return _restored, (type(self), self.args), self.__dict__

    def sentence(self, said: Callable[[str], str] = str) -> str:
        """Return the whole message. `said` may translate its parts."""
        got, expected = (
            self.got and f"{said('got')} {self.got}",
            self.expected and f"{said('expected')} {self.expected}",
        )
        detail = "; ".join(part for part in (got, expected) if part)
        message = f"{self.where}: {said(self.what)}" if self.where else said(self.what)
        if detail:
            message += f" ({detail})"
        return f"{message}. {said(self.hint)}" if self.hint else f"{message}."


def _restored(kind: type[UserError], args: tuple[object, ...]) -> UserError:
    return kind.__new__(kind, *args)


class Unavailable(UserError):  # noqa: N818  (a state, not a fault)
    """The database is locked, full or not writable. Nothing was changed; trying again later may succeed."""


class Stale(UserError):  # noqa: N818  (a state, not a fault)
    """What this action was made on has changed since. Nothing was changed; the user decides between the two versions."""


class NotAllowed(UserError):  # noqa: N818  (an answer, not a fault)
    """The person may not do this, or must not know that it exists. Nothing was read or changed."""


class ImportProblems(UserError):  # noqa: N818  (the table it carries)
    """An upload with problems; nothing was imported."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0].sentence()
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        super().__init__("nothing was imported", hint=first + more)


def unknown(kind: str, name: str, names: Iterable[str], *, hint: str = "") -> UserError:
    """Return the error for an unknown name. It lists the known names and suggests the closest ones, or gives `hint`."""
    known_names = list(names)
    near = get_close_matches(name, known_names, n=2)
    return UserError(
        f"there is no {kind} “{name}”",
        expected="one of " + ", ".join(known_names),
        hint=f"Did you mean {' or '.join(near)}?" if near else hint,
    )
