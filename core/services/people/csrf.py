"""Tokens against requests that another site makes with somebody's cookie (CSRF)."""

from __future__ import annotations

import hashlib
import hmac

CSRF_HEADER = "x-errorscope-token"
"""The name of the header with the token."""


def csrf_token(secret: bytes, session: str) -> str:
    """Return the token that pages of this login session send with each request; `session` is "" without a login."""
    return hmac.new(secret, b"csrf\x1f" + session.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def is_csrf_token(secret: bytes, session: str, given: str) -> bool:
    """Return whether `given` is the token of this login session."""
    return hmac.compare_digest(csrf_token(secret, session).encode(), given.encode("utf-8", "replace"))
