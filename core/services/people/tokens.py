"""Random tokens of sessions and personal links. The browser has the token, storage has its hash."""

from __future__ import annotations

import hashlib
import secrets

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
