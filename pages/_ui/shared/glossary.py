"""Definitions of terms, read from docs/glossary.md."""

from __future__ import annotations

from functools import cache
from pathlib import Path

GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"


def definition(term: str) -> str:
    """Return the definition of a term as Markdown: the first paragraph of its entry. Case does not matter.

    Raises `KeyError` for a term without an entry.
    """
    return entries()[term.casefold()]


@cache
def entries() -> dict[str, str]:
    """Return every definition by its term, case-folded."""
    return {term.casefold(): text for term, text in terms().items()}


@cache
def terms() -> dict[str, str]:
    """Return every definition by its term, in the order of the file."""
    sections = GLOSSARY.read_text(encoding="utf-8").split("\n## ")[1:]
    paragraphs = [section.split("\n\n") for section in sections]
    return {term.strip(): " ".join(first.split()) for term, first, *_ in paragraphs}
