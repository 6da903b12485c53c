"""Login sessions, random tokens of sessions and links, and the delay after failed logins."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import NamedTuple

from core.ports.people import Account, Identity, People
from core.ports.store import Store

FORGET_SECONDS = 3600.0
_Key = tuple[str, str, str]
_MOST = 20_000
"""Names and addresses that are remembered; the oldest are forgotten first."""


class AttemptLimit(NamedTuple):
    """`free` attempts without waiting, then 1, 2, 4, … seconds, at most `longest`."""

    free: int
    longest: float


PER_PAIR, PER_ADDRESS, PER_NAME = AttemptLimit(5, 60.0), AttemptLimit(20, 300.0), AttemptLimit(100, 60.0)


class _Failures(NamedTuple):
    n: int
    until: float
    last: float


class LoginThrottle:
    """Failed logins per name and address, per address, and per name from all addresses, in the memory of this process.

    An attempt counts as failed from its start, so that many at the same time gain nothing. An address allows more attempts, because
    people may share one. Somebody who guesses from one address does not keep the owner of the name out at another one. A browser that
    has logged in under the name before has only its own failures, so that nobody else can keep it out.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        per_pair: AttemptLimit = PER_PAIR,
        per_address: AttemptLimit = PER_ADDRESS,
        per_name: AttemptLimit = PER_NAME,
    ) -> None:
        self._clock = clock
        self._limits = {"pair": per_pair, "browser": per_pair, "address": per_address, "name": per_name}
        self._failures: OrderedDict[_Key, _Failures] = OrderedDict()
        self._lock = Lock()

    def begin(self, name: str, address: str, browser: str = "") -> float:
        """Count an attempt and return 0, or return the seconds to wait before the next one.

        `browser` identifies a browser that has logged in under this name before.
        """
        keys = self._keys(name, address, browser)
        with self._lock:
            now = self._clock()
            wait = max(self._failures[key].until - now if key in self._failures else 0.0 for key in keys)
            if wait > 0:
                return wait
            for key in keys:
                self._count(key, now)
            while len(self._failures) > _MOST:
                self._failures.popitem(last=False)
            return 0.0

    def succeeded(self, name: str, address: str, browser: str = "") -> None:
        """Forget the failures of this name here, and only this attempt of the address: an attacker may have an account too."""
        with self._lock:
            for key in self._keys(name, address, browser):
                if key[0] in ("pair", "browser"):
                    self._failures.pop(key, None)
                elif failures := self._failures.get(key):
                    self._failures[key] = failures._replace(n=failures.n - 1, until=0.0)

    def _count(self, key: _Key, now: float) -> None:
        before = self._failures.pop(key, _Failures(0, 0.0, now))
        n = 1 if now - before.last > FORGET_SECONDS else before.n + 1
        limit = self._limits[key[0]]
        # The exponent is bounded: 2**n of a patient attacker would become too large for a float.
        wait = 0.0 if n < limit.free else min(limit.longest, 2.0 ** min(n - limit.free, 30))
        self._failures[key] = _Failures(n, now + wait, now)

    @staticmethod
    def _keys(name: str, address: str, browser: str) -> tuple[_Key, ...]:
        known = name.casefold()[:200]
        if browser:
            return (("browser", browser, known),)
        return ("pair", address, known), ("address", address, ""), ("name", "", known)


SESSION_COOKIE = "errorscope_session"
CSRF_HEADER = "x-errorscope-token"
"""The header with the token against requests that another site makes with somebody's cookie (CSRF)."""
_BYTES = 32
_LONGEST = 100


def new_token() -> str:
    """Return 256 random bits as text for cookies and addresses."""
    return secrets.token_urlsafe(_BYTES)


def token_hash(token: str) -> str | None:
    """Return the SHA-256 of a token in hexadecimal; None for text that cannot be a token."""
    if not token or len(token) > _LONGEST or not token.isascii():
        return None
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def csrf_token(secret: bytes, session: str) -> str:
    """Return the token that pages of this login session send with each request; `session` is "" without a login."""
    return hmac.new(secret, b"csrf\x1f" + session.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def is_csrf_token(secret: bytes, session: str, token: str) -> bool:
    """Return whether `token` is the token of this login session."""
    return hmac.compare_digest(csrf_token(secret, session).encode(), token.encode("utf-8", "replace"))


def outbox_name(secret: bytes, who: Identity) -> str:
    """Return the name of the outbox in which browsers keep what this person has not saved yet.

    An account has one, and so have all links of one project and calibration set, so that a renewed link sends what its predecessor has
    left. The name says nothing about ids, and differs between databases that are served at one address.
    """
    if who.link is not None:
        owner = f"link\x1f{who.link.project_id}\x1f{'' if who.link.batch is None else f'set {who.link.batch}'}"
    else:
        owner = f"account\x1f{who.account.id}" if who.account is not None else "local"
    return hmac.new(secret, f"outbox\x1f{owner}".encode(), hashlib.sha256).hexdigest()[:32]


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
