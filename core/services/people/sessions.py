"""Login sessions of accounts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from core.ports.people import Account, Identity, People
from core.ports.store import Store
from core.services.people.tokens import new_token, token_hash

LIFETIME = timedelta(hours=12)
"""A session ends this long after login, whether it was used or not."""


class NewSession(NamedTuple):
    """The token is shown to the browser once and stored nowhere."""

    token: str
    expires: datetime


def start(store: Store, account: Account, how: str = "password") -> NewSession:
    """Start a session with a token of its own, also if the person has one already, and record the login."""
    token, expires = new_token(), datetime.now(UTC) + LIFETIME
    store.people.start_session(token_hash(token) or "", account.id, expires)
    store.audit.record(account.name, "logged in", how=how)
    return NewSession(token, expires)


def resolve(people: People, token: str) -> Identity | None:
    """Return who has this session now, with the present roles; None if it ended, expired or never existed."""
    hashed = token_hash(token)
    account = people.session(hashed) if hashed else None
    if account is None:
        return None
    return Identity(account, people.roles(account.id), campaigns=tuple(people.campaigns(account.id)))


def end(store: Store, token: str) -> None:
    """End the session, if there is one, and record it."""
    hashed = token_hash(token)
    account = store.people.session(hashed) if hashed else None
    if hashed and account:
        store.people.end_session(hashed)
        store.audit.record(account.name, "logged out")
