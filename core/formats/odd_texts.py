"""Texts that are read as they are, but are probably not what a system or a person wrote."""

from __future__ import annotations

import re
from collections import Counter

from core.formats.problems import counted, shown

_NO_TEXT = frozenset({"nan", "NaN", "NA", "N/A", "#N/A", "None", "NULL", "null", "<NA>"})
_SUBWORDS = re.compile(r"\w@@( |$)|(^|\s)▁\w")


class OddTexts:
    """Count the texts of a file that stand for a missing text (`nan`, as pandas writes it), or are in subwords (`de@@ lay`, `▁de lay`)."""

    def __init__(self) -> None:
        self._missing: Counter[tuple[str, str]] = Counter()
        self._subwords: Counter[str] = Counter()

    def take(self, role: str, text: str) -> None:
        """Count a text; `role` is its role in the plural, such as `references`."""
        if len(text) <= 4 and text in _NO_TEXT:
            self._missing[role, text] += 1
        elif ("@@" in text or "▁" in text) and _SUBWORDS.search(text):
            self._subwords[role] += 1

    def notes(self, file: str) -> list[str]:
        missing = [
            f"{file}: {counted(n, 'text')} among the {role} {'is' if n == 1 else 'are'} {shown(text)}, read as a text. "
            "If it stands for a missing text, leave it empty."
            for (role, text), n in self._missing.items()
        ]
        return missing + [
            f"{file}: {counted(n, 'text')} among the {role} {'has' if n == 1 else 'have'} marks of subwords (“@@”, “▁”). "
            "Metrics need the text without them."
            for role, n in self._subwords.items()
        ]
