"""The form of a text that is searched."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """Return the text in the form used for search: NFKC, case-folded."""
    return unicodedata.normalize("NFKC", text).casefold()
