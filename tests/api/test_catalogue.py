"""The German catalogue has every text of the annotator's page, with the same placeholders, and no other ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from babel.messages.pofile import read_po

from api.task import catalogue
from core.campaigns.protocol import PROTOCOLS
from core.mqm.typology import MQM, Typology

TASK = catalogue.HERE.parent
PLACEHOLDER = re.compile(r"\{\w+\}")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def of_template() -> set[str]:
    """Return the texts of every `_('…')` of the page, and its title without a campaign, which `page.py` translates."""
    return {*re.findall(r"\b_\('([^']*)'\)", (TASK / "task.html").read_text("utf-8")), "Mark the errors"}


def of_script() -> set[str]:
    """Return the texts in the first argument of every `said(…)`; one with a condition has two."""
    code = (TASK / "task.js").read_text("utf-8")
    calls = (first_argument(code, found.end()) for found in re.finditer(r"\bsaid\(", code))
    return {text for call in calls for text in STRING.findall(call)}


def first_argument(code: str, start: int) -> str:
    """Return the code from `start` to the comma or bracket that ends the argument; those inside strings do not count."""
    found = re.match(r'(?:"(?:[^"\\]|\\.)*"|[^",()])*', code[start:])
    return found[0] if found else ""


def of_typology(typology: Typology) -> Iterator[str]:
    yield from typology.whole
    for row in (*typology.severities, *typology.categories):
        yield from (row.definition, row.example)


def of_protocols() -> set[str]:
    """Return what the page shows of the protocols and their typologies. A title that is an abbreviation stays as it is."""
    found: set[str] = set()
    for protocol in PROTOCOLS.values():
        found |= {protocol.instructions, *(a.text for a in protocol.anchors), *of_typology(protocol.typology)}
        if not protocol.title.isupper():
            found.add(protocol.title)
    return found - {""}


def of_paths() -> set[str]:
    """Return the categories of the protocols without the MQM typology: they may have a translation, but need none."""
    return {c.path for p in PROTOCOLS.values() if p.typology is not MQM for c in p.typology.categories}


def needed() -> set[str]:
    return {*catalogue.editor_texts().values(), *of_template(), *of_script(), *of_protocols()}


def test_the_texts_are_found() -> None:
    assert len(catalogue.editor_texts()) > 150
    assert {"Segments", "Take a break"} <= of_template()
    assert {"{done} of {total} submitted", "Well done.", "Not quite.", "Try again."} <= of_script()
    assert {"Non-translation", "Unusable", "Pairwise preference", "“left” for “right”."} <= of_protocols()


@pytest.mark.parametrize("texts", [catalogue.editor_texts().values(), of_template(), of_script(), of_protocols()])
def test_every_text_has_a_german_one_with_the_same_placeholders(texts: set[str]) -> None:
    known = catalogue.texts("de")
    assert set(texts) - known.keys() == set()
    differing = [t for t in texts if sorted(PLACEHOLDER.findall(t)) != sorted(PLACEHOLDER.findall(known[t]))]
    assert differing == []


def test_spaces_and_lines_at_the_ends_are_kept() -> None:
    def ends(text: str) -> tuple[str, str]:
        return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]

    assert [text for text, german in catalogue.texts("de").items() if ends(text) != ends(german)] == []


def test_no_entry_is_unused_fuzzy_or_obsolete() -> None:
    with (catalogue.HERE / "de.po").open("rb") as held:
        read = read_po(held, locale="de")
    entries = [message for message in read if message.id]
    assert {str(m.id) for m in entries} - needed() - of_paths() == set()
    assert [m.id for m in entries if m.fuzzy or not m.string] == []
    assert not read.obsolete
