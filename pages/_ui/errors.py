"""Where errors end: a calm message for what a person can mend, an apology with a number for what is our fault."""

from __future__ import annotations

import functools
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import streamlit as st

from core.errors import ImportProblems, Unavailable, UserError
from pages._ui.markdown import escape_markdown

KEPT = "Marks that are not saved yet stay in the annotator's browser, and are sent when Annotate is open again."
P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger("errorscope")
plain = escape_markdown


def show(error: UserError) -> None:
    """One message: what is wrong, where, what was found and expected, and what to do next."""
    detail = "; ".join(
        p for p in (error.got and f"found {error.got}", error.expected and f"expected {error.expected}") if p
    )
    lines = [
        f"**{plain(error.what[:1].upper() + error.what[1:])}**" + (f" ({plain(error.where)})" if error.where else "")
    ]
    lines += [plain(part) for part in (detail, error.hint, KEPT if isinstance(error, Unavailable) else "") if part]
    st.error("  \n".join(lines), icon=":material/info:")
    if isinstance(error, ImportProblems):
        st.dataframe([p._asdict() for p in error.problems], hide_index=True, width="stretch")


def apologise(error: Exception) -> None:
    """Say sorry with a number, and write the whole story under that number into the log."""
    number = secrets.token_hex(4)
    log.error("error %s", number, exc_info=error)
    st.error(
        f"**Something went wrong here, and it is not your doing.** Reload the page to go on. "
        f"If it happens again, report it with the number **{number}**; the log has the details under it.",
        icon=":material/error:",
    )


@contextmanager
def boundary() -> Iterator[None]:
    """Nothing raised inside reaches the screen as a traceback. Streamlit's own control flow passes through."""
    try:
        yield
    except UserError as error:
        show(error)
    except Exception as error:
        apologise(error)


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """The boundary around a callback or a fragment, which run outside that of the app."""

    @functools.wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R | None:
        with boundary():
            return function(*args, **kwargs)
        return None

    return inside
