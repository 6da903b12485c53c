"""Names of people, as they are typed."""

from __future__ import annotations

LONGEST = 60
LONGEST_ACCOUNT = 190
"""Largest number of characters in the name of an account, which may be an e-mail address."""


def cleaned(name: str, longest: int = LONGEST) -> str:
    """Return the name without unprintable characters and repeated spaces, cut to `longest` characters; possibly empty."""
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())[:longest].strip()
