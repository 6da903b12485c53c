"""The person of this session, found by the login cookie of its websocket, and what else is looked up once per run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.errors import UserError
from core.ports.people import LOCAL, Identity, People
from core.services.people import sessions
from core.services.people.accounts import accounts_required
from core.services.people.sessions import SESSION_COOKIE
from core.settings import load_access

T = TypeVar("T")
_WHO = "errorscope_who"
_KEPT = "errorscope_kept"


class _Click(NamedTuple):
    """A file that is made at a click: the login cookie of the person for whom the button was drawn, and what is kept meanwhile."""

    token: object
    kept: dict[Hashable, Any]


_CLICK: ContextVar[_Click | None] = ContextVar("errorscope_click", default=None)


def made_at_click(make: Callable[[], T]) -> Callable[[], T]:
    """Return a function that makes a file as the person of this session, for Streamlit to call at a click.

    Streamlit calls it outside a run, where no cookie is known. The login is looked up again at the click: who has logged out since then, or
    has lost the role, gets no file.
    """
    token = _token()

    @wraps(make)
    def made() -> T:
        before = _CLICK.set(_Click(token, {}))
        try:
            return make()
        finally:
            _CLICK.reset(before)

    return made


def is_known() -> bool:
    """Return whether the person can be looked up here: in a run, or while a file is made at a click."""
    return _CLICK.get() is not None or get_script_run_ctx(suppress_warning=True) is not None


def kept_for_run() -> dict[Hashable, Any]:
    """Return what is kept for this run or click, at first nothing. Callbacks belong to the next run. Elsewhere, nothing is kept."""
    if (click := _CLICK.get()) is not None:
        return click.kept
    run = get_script_run_ctx(suppress_warning=True)
    if run is None:
        return {}
    kept = getattr(run, _KEPT, None)
    if kept is None or kept[0] is not run.cursors:  # Streamlit makes new cursors for every run
        kept = run.cursors, {}
        setattr(run, _KEPT, kept)
    lookups: dict[Hashable, Any] = kept[1]
    return lookups


def identity(accounts: Callable[[], People]) -> Identity:
    """Return who uses this session, read again in every run, so that a logout or a new role takes effect at once.

    `accounts` opens the accounts. It is called once per run: every access to storage asks for the identity.
    Raises `UserError` if the person is no longer logged in, or has no role that opens pages.
    """
    kept = kept_for_run()
    if _WHO not in kept:
        kept[_WHO] = _identity(accounts())
    who: Identity = kept[_WHO]
    return who


def _token() -> object:
    click = _CLICK.get()
    return st.context.cookies.get(SESSION_COOKIE) if click is None else click.token


def _identity(accounts: People) -> Identity:
    token = _token()
    who = sessions.resolve(accounts, token) if isinstance(token, str) else None
    if who is None and not accounts_required(accounts, load_access()):
        return LOCAL
    if who is None:
        raise UserError("you are no longer logged in", hint="Reload the page to log in again")
    if not who.sees_pages:
        raise UserError("your account has no role that opens this page", hint="Ask a manager")
    return who


def forget_others(now: Identity) -> None:
    """Empty the session if another person has logged in since its last run: a browser may connect to it again."""
    if st.session_state.get(_WHO, now.who) != now.who:
        st.session_state.clear()
    st.session_state[_WHO] = now.who
