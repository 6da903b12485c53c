"""The glossary covers what the pages explain."""

import ast
from pathlib import Path

import pytest

from pages._ui.shared.page import GLOSSARY, definition, glossary_entries
from tests.paths import ROOT

MAX_WORDS = 60


def used() -> dict[str, Path]:
    """Return the terms that pages define, each with a file that does."""
    found = {}
    for path in (ROOT / "pages").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "definition":
                for argument in node.args:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        found[argument.value] = path
    return found


def test_every_term_of_a_page_has_an_entry() -> None:
    assert {term: path for term, path in used().items() if term.casefold() not in glossary_entries()} == {}


def test_entries_are_short_unique_sorted_and_found_by_term() -> None:
    assert {
        term: len(text.split()) for term, text in glossary_entries().items() if not 0 < len(text.split()) <= MAX_WORDS
    } == {}
    headings = [line[3:] for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    keys = [heading.casefold().replace("λ", "lambda") for heading in headings]
    assert keys == sorted(set(keys))
    assert len(glossary_entries()) == len(headings)

    assert definition("Kendall τ-b").startswith("Rank correlation")
    assert "More:" not in "".join(glossary_entries().values())
    with pytest.raises(KeyError):
        definition("no such term")
