"""The Help page, and the glossary that pages explain their terms with."""

import ast
import re
from pathlib import Path

import pytest

from core.metrics.readiness import configured_models
from core.ports.store import Store
from core.settings import load_settings
from pages._ui.help.help_parts import annotate_keys, facts, matching
from pages._ui.shared.page import GLOSSARY, definition, glossary_entries
from tests.pages.opened_page import run
from tests.paths import ROOT


def test_every_part_of_the_page_is_drawn_and_searched(store: Store) -> None:
    at = run("help")
    assert [tab.label.rpartition(": ")[2] for tab in at.tabs] == [
        "Workflow", "Documentation", "Keys", "Glossary", "Report a problem",
    ]  # fmt: skip
    linked = re.findall(r"\]\(documentation/([^)#]+)", at.tabs[1].markdown[0].value)
    assert len(linked) > 25
    assert [path for path in linked if not (ROOT / path).exists()] == []
    steps = [h.value for h in at.tabs[0].subheader]
    assert steps == ["1. Upload", "2. Score", "3. Compare", "4. Annotate", "5. Calibrate", "6. Evaluate"]
    assert "Errorscope: " in at.code[0].value
    at.text_input(key="help-words").set_value("tie calibration").run()
    shown = [m.value for m in at.tabs[3].markdown]
    assert shown[0].startswith("**Tie calibration**")
    assert len(shown) < 5
    at.text_input(key="help-words").set_value("xylophone").run()
    assert at.tabs[3].info[0].value == "No term matches all of these words."


def test_terms_keys_and_reports_are_in_words() -> None:
    assert list(matching("Segment"))[:2] == ["Segment", "Submitted segment"]
    assert "System level" not in matching("segment")
    keys = dict(annotate_keys())
    assert keys["Enter"].startswith("submit")
    assert len(keys) > 10
    assert not any(re.search(r"[\[\]]", text) for text in keys.values())

    chosen = load_settings(
        {"ERRORSCOPE_DB": "postgresql+psycopg://me:secret@db.example/labels", "ERRORSCOPE_HOME": "/home/me"}
    )
    text = facts(chosen, configured_models(), "Firefox")
    assert "Database: postgresql+psycopg\n" in text
    assert text.endswith("Browser: Firefox")
    assert re.search(r"^Model \(seq2seq\): \S+ [0-9a-f]+$", text, re.MULTILINE)
    assert "secret" not in text
    assert "/home/me" not in text


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
