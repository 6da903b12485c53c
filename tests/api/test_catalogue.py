"""The German catalogue has every text of the annotator's page, with the same placeholders, and no other ones."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from api.task import catalogue
from core.campaigns import tutorial
from core.campaigns.protocol import PROTOCOLS
from core.errors import UserError
from core.mqm.typology import TYPOLOGIES, Typology
from tests.api.server_sentences import blank, sentences

TASK = catalogue.HERE.parent
PLACEHOLDER = re.compile(r"\{\w+\}")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def of_template() -> set[str]:
    """Return the texts of every `_('…')` of the pages, and the title without a campaign, which `page.py` translates."""
    pages = "".join((TASK / name).read_text("utf-8") for name in ("task.html", "tasks.html", "refused.html"))
    return {*re.findall(r"\b_\('([^']*)'\)", pages), "Mark the errors"}


def of_keys() -> set[str]:
    """Return the names of keys that are words."""
    table = re.search(r"export const KEYS = (\[.*?\n\]);", catalogue.EDITOR.read_text("utf-8"), re.DOTALL)
    return {key for key, *_ in json.loads(table[1] if table else "[]") if re.search(r"[A-Za-z]{2}", key)}


def of_remarks() -> set[str]:
    """Return the remarks of the tutorial and their parts."""
    code = ast.parse(Path(tutorial.__file__).read_text("utf-8"))
    texts = [node.value for node in ast.walk(code) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {t for t in texts if re.search(r"(?<!`)\{\w+\}|^an omission$", t)}


def of_script() -> set[str]:
    """Return the texts in the first argument of every `said(…)`; one with a condition has two."""
    code = (TASK / "task.js").read_text("utf-8")
    calls = (first_argument(code, found.end()) for found in re.finditer(r"\bsaid\(", code))
    return {text for call in calls for text in STRING.findall(call)}


def first_argument(code: str, start: int) -> str:
    """Return the code from `start` to the comma or bracket that ends the argument; those inside strings do not count."""
    argument = re.match(r'(?:"(?:[^"\\]|\\.)*"|[^",()])*', code[start:])
    return argument[0] if argument else ""


def of_typology(typology: Typology) -> Iterator[str]:
    yield typology.title
    yield from typology.whole
    for row in (*typology.severities, *typology.categories):
        yield from (row.definition, row.example)
    yield from (category.path for category in typology.categories)


def of_protocols() -> set[str]:
    """Return what the page shows of the protocols and their typologies. A title that is an abbreviation stays as it is."""
    texts: set[str] = set()
    for protocol in PROTOCOLS.values():
        texts |= {protocol.instructions, *(a.text for a in protocol.anchors), *of_typology(protocol.typology)}
        if not protocol.title.isupper():
            texts.add(protocol.title)
    for typology in TYPOLOGIES.values():
        texts |= set(of_typology(typology))
    return texts - {"", "ESA"}


def needed() -> set[str]:
    return {
        *catalogue.editor_texts().values(), *of_template(), *of_script(), *of_protocols(), *of_keys(), *of_remarks(),
    }  # fmt: skip


def test_the_texts_are_found() -> None:
    assert len(catalogue.editor_texts()) > 150
    assert {"Segments", "Take a break"} <= of_template()
    assert {"{done} done · about {left} left for you", "Well done.", "Not quite.", "Try again."} <= of_script()
    assert {"Non-translation", "Unusable", "Pairwise preference", "“left” for “right”."} <= of_protocols()
    assert {"Facts/Number", "“won” for a team that lost.", "Summaries"} <= of_protocols()
    assert {"Shift + arrows", "Esc"} <= of_keys()
    assert {"You missed {what}.", "“{quote}” in the source", "an omission"} <= of_remarks()
    assert {"this link was revoked", "{} of {} outputs have no score", "Compare both versions"} <= sentences()


@pytest.mark.parametrize(
    "texts", [catalogue.editor_texts().values(), of_template(), of_script(), of_protocols(), of_keys(), of_remarks()]
)
def test_every_text_has_a_german_one_with_the_same_placeholders(texts: set[str]) -> None:
    known = catalogue.texts("de")
    assert set(texts) - known.keys() == set()
    differing = [t for t in texts if sorted(PLACEHOLDER.findall(t)) != sorted(PLACEHOLDER.findall(known[t]))]
    assert differing == []


def test_every_sentence_of_the_server_has_a_german_one() -> None:
    known = catalogue.texts("de", catalogue.SERVER)
    assert sentences() - {blank(text) for text in known} == {"Mark the errors"}  # the title, in the texts of the page
    assert [t for t in known if sorted(PLACEHOLDER.findall(t)) != sorted(PLACEHOLDER.findall(known[t]))] == []
    assert {blank(text) for text in known} - sentences() == {"got", "expected"}


def test_a_sentence_keeps_its_values() -> None:
    said = catalogue.translator("de")
    assert said("3 of 12 outputs have no score") == "3 von 12 Ausgaben haben keinen Wert"
    error = UserError("this category does not exist", got="'Odd'", hint="Choose one from the list")
    assert error.sentence(said) == "Diese Kategorie gibt es nicht (gefunden: 'Odd'). Wählen Sie eine aus der Liste"
    assert said("A sentence that nobody has translated") == "A sentence that nobody has translated"


def test_quotation_marks_are_in_the_texts_only() -> None:
    files = [*catalogue.EDITOR.parent.glob("*.js"), TASK / "task.js"]
    assert len(files) > 5
    quoted = [f.name for f in files if "“" in re.sub(r"//.*|/\*.*?\*/", "", f.read_text("utf-8"))]
    assert quoted == ["texts.js"]


def test_spaces_and_lines_at_the_ends_are_kept() -> None:
    def ends(text: str) -> tuple[str, str]:
        return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]

    assert [text for text, german in catalogue.texts("de").items() if ends(text) != ends(german)] == []


def test_no_entry_is_unused_fuzzy_or_obsolete() -> None:
    with (catalogue.HERE / "de.po").open("rb") as held:
        read = read_po(held, locale="de")
    entries = [message for message in read if message.id]
    assert {str(m.id) for m in entries if not m.context} - needed() == set()
    assert [m.id for m in entries if m.fuzzy or not m.string] == []
    assert not read.obsolete
