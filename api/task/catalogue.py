"""Texts of the annotator's page in the reader's language, from gettext catalogues (`locale/*.po`). English needs none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from babel.core import negotiate_locale
from babel.messages.pofile import read_po
from starlette.requests import HTTPConnection

from core.errors import UserError

HERE = Path(__file__).parent / "locale"
LANGUAGES = {"en": "English", "de": "Deutsch"}
Translate = Callable[[str], str]
SERVER = "server"
"""The gettext context of sentences that routes answer with."""
LATER = "Try again in a few minutes"
EDITOR = Path(__file__).parents[2] / "pages" / "_ui" / "components" / "span_annotator" / "texts.js"


@cache
def page_texts(language: str) -> Mapping[str, str]:
    """Return the texts for the scripts of the page: those of the editor by key, the others by their English text."""
    known = texts(language)
    return {**{key: known[text] for key, text in editor_texts().items() if text in known}, **known}


@cache
def editor_texts() -> Mapping[str, str]:
    """Return the English texts of the editor by key."""
    table = re.search(r"export const EDITOR_TEXTS = (\{.*?\n\});", EDITOR.read_text(encoding="utf-8"), re.DOTALL)
    by_key: dict[str, str] = json.loads(table[1]) if table else {}
    return by_key


@cache
def texts(language: str, context: str | None = None) -> Mapping[str, str]:
    """Return the translation of each English text, or of each sentence that the server writes (context "server"); others are left out."""
    file = HERE / f"{language}.po"
    if not file.exists():
        return {}
    with file.open("rb") as stream:
        messages = read_po(stream, locale=language)
    return {str(m.id): str(m.string) for m in messages if m.id and m.string and m.context == context}


@cache
def translator(language: str) -> Translate:
    """Return a function that translates a text, or a sentence of the server whose `{values}` are filled in already."""
    known = {**(written := texts(language, SERVER)), **texts(language)}
    filled = [(_form(text), other) for text, other in written.items() if "{" in text]

    def said(text: str) -> str:
        if text in known:
            return known[text]
        for form, other in filled:
            if match := form.fullmatch(text):
                return other.format(**match.groupdict())
        return text

    return said


def _form(text: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", text)
    return re.compile(
        "".join(f"(?P<{part}>.+)" if at % 2 else re.escape(part) for at, part in enumerate(parts)), re.DOTALL
    )


def begun(sentence: str) -> str:
    """Return the sentence with a capital letter at its beginning."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def unavailable(request: HTTPConnection, error: UserError) -> str:
    """Return the sentence for storage that cannot be used. A hint that has no translation is for whoever runs the server."""
    said = of_request(request)
    hint = said(error.hint)
    foreign = language_of(request) != "en" and hint == error.hint
    return begun(f"{said(error.what)}. {said(LATER) if foreign else hint}")


def language_of(request: HTTPConnection) -> str:
    """Return the language of a request: `lang` of its address, or what its browser accepts."""
    return chosen(request.query_params.get("lang"), request.headers.get("accept-language", ""))


def of_request(request: HTTPConnection) -> Translate:
    return translator(language_of(request))


def chosen(asked: str | None, accepted: str) -> str:
    """Return the language of the page: the one asked for, else the first that the browser accepts (`Accept-Language`), else English."""
    if asked in LANGUAGES:
        return str(asked)
    accepted_languages = [
        part.partition(";")[0].strip().replace("-", "_") for part in accepted.split(",") if part.strip()
    ]
    negotiated = negotiate_locale(accepted_languages, list(LANGUAGES), sep="_")
    return negotiated if negotiated in LANGUAGES else "en"
