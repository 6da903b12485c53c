"""Passwords: Argon2id with the parameters that argon2-cffi recommends (RFC 9106, second choice: 64 MiB, 3 passes, 4 lanes)."""

from __future__ import annotations

import os
import unicodedata
from functools import cache
from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from core.errors import UserError
from core.ports.people import Account, People

SHORTEST, LONGEST = 10, 1000
_HASHER = PasswordHasher()
AT_ONCE = min(4, max(1, (os.cpu_count() or 1) // 4))
"""Computations at the same time: each takes 64 MiB and four threads, and leaves cores to those who save labels. Others wait."""
_TURNS = BoundedSemaphore(AT_ONCE)


def hash_password(password: str) -> str:
    """Return the hash of a new password. Raises `UserError` if it is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise UserError(
            "this password cannot be used", got=f"{len(password)} characters", expected=f"{SHORTEST} to {LONGEST:,}",
            hint="Choose another password; several words are easy to remember",
        )  # fmt: skip
    with _TURNS:
        return _HASHER.hash(_bytes(password))


def check_password(people: People, name: str, password: str) -> Account | None:
    """Return the active account with this name and password, else None.

    An unknown name takes as long as a wrong password, so that the time does not tell which names exist. A hash with older
    parameters is replaced.
    """
    unknown = _hash_of_nobody()
    found = people.password_hash(name)
    stored = found[1] if found else None
    correct = _verified(stored or unknown, password[:LONGEST])
    if found is None or stored is None or not correct or not found[0].active:
        return None
    if _HASHER.check_needs_rehash(stored):
        people.set_password(found[0].id, hash_password(password))
    return found[0]


def _verified(stored: str, password: str) -> bool:
    with _TURNS:
        try:
            return _HASHER.verify(stored, _bytes(password))
        except (VerificationError, InvalidHashError):
            return False


@cache
def _hash_of_nobody() -> str:
    return _HASHER.hash(b"")


def _bytes(password: str) -> bytes:
    """Return the same bytes for the same characters: keyboards differ in how they compose accents."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
