"""Show errors: a message for what users can fix, an apology with a number for faults of the program."""

from __future__ import annotations

import functools
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import streamlit as st

from core.errors import ImportProblems, Unavailable, UserError
from pages._ui.shared import tables
from pages._ui.shared.markdown import escape_markdown, with_doc_links

KEPT = "Error spans that are not saved yet stay in the annotator's browser. They are sent when Annotate is open again."
P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger("errorscope")


def show(error: UserError) -> None:
    """Show what is wrong, where, what was found and expected, and what to do next."""
    detail = "; ".join(
        p for p in (error.got and f"found {error.got}", error.expected and f"expected {error.expected}") if p
    )
    lines = [
        f"**{escape_markdown(error.what[:1].upper() + error.what[1:])}**"
        + (f" ({escape_markdown(error.where)})" if error.where else "")
    ]
    lines += [
        with_doc_links(part) for part in (detail, error.hint, KEPT if isinstance(error, Unavailable) else "") if part
    ]
    st.error("  \n".join(lines), icon=":material/info:")
    if isinstance(error, ImportProblems):
        tables.problem_table(error.problems)


def logged(error: Exception) -> str:
    """Log the traceback of a fault; return the number under which it is logged."""
    number = secrets.token_hex(4)
    log.error("error %s", number, exc_info=error)
    return number


def apologise(number: str) -> None:
    """Show an apology for the fault with this number."""
    st.error(
        f"**Something went wrong. This is a fault of the program, not yours.** Reload the page to continue. "
        f"If it happens again, report the number **{number}**: the log has the details.",
        icon=":material/error:",
    )


@contextmanager
def boundary() -> Iterator[None]:
    """Show whatever is raised inside as a message, never as a traceback. Streamlit's control flow passes through."""
    try:
        yield
    except UserError as error:
        show(error)
    except Exception as error:
        apologise(logged(error))


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """Put a boundary around a callback or a fragment: these run outside the boundary of the app."""

    @functools.wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R | None:
        with boundary():
            return function(*args, **kwargs)
        return None

    return inside
