"""Texts of the annotator's page in the reader's language, from gettext catalogues (`locale/*.po`). English needs none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from babel.core import negotiate_locale
from babel.messages.pofile import read_po

HERE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch"}
Translate = Callable[[str], str]


EDITOR = Path(__file__).parents[2] / "pages" / "_ui" / "components" / "span_annotator" / "texts.js"


@cache
def page_texts(language: str) -> Mapping[str, str]:
    """Return the texts for the scripts of the page: those of the editor by key, the others by their English text."""
    known = texts(language)
    return {**{key: known[text] for key, text in editor_texts().items() if text in known}, **known}


@cache
def editor_texts() -> Mapping[str, str]:
    """Return the English texts of the editor by key."""
    table = re.search(r"const EDITOR_TEXTS = (\{.*?\n\});", EDITOR.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, str] = json.loads(table[1]) if table else {}
    return found


@cache
def texts(language: str) -> Mapping[str, str]:
    """Return the translation of each English text; texts without one are left out."""
    file = HERE / f"{language}.po"
    if not file.exists():
        return {}
    with file.open("rb") as held:
        return {str(m.id): str(m.string) for m in read_po(held, locale=language) if m.id and m.string}


def translator(language: str) -> Translate:
    known = texts(language)
    return lambda text: known.get(text, text)


def chosen(asked: str | None, accepted: str) -> str:
    """Return the language of the page: the one asked for, else the first that the browser accepts (`Accept-Language`), else English."""
    if asked in LANGUAGES:
        return str(asked)
    wanted = [part.partition(";")[0].strip().replace("-", "_") for part in accepted.split(",") if part.strip()]
    found = negotiate_locale(wanted, list(LANGUAGES), sep="_")
    return found if found in LANGUAGES else "en"
