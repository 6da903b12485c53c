"""Random tokens of sessions and personal links, of which storage has the hash, and texts made with the secret of the server."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from core.ports.people import Identity

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


def is_csrf_token(secret: bytes, session: str, given: str) -> bool:
    """Return whether `given` is the token of this login session."""
    return hmac.compare_digest(csrf_token(secret, session).encode(), given.encode("utf-8", "replace"))


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
