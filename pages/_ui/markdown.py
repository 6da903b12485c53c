"""Show text that users wrote as it is: Streamlit reads nearly every label, help text and message as Markdown."""

from __future__ import annotations

import re

_BREAK = ":small[]"
"""An empty directive. It draws nothing, but divides the text, so that no replacement on decoded text can match across it."""
_SPECIAL = re.compile(r"[\\`*_{}\[\]()<>#+\-.!|~$:&@^=\"'/]")
_DIVIDED = re.compile(
    r"(?<=:)(?=//|[\w+-]+:)"  # https://…, :streamlit:, :material_home:, :smile:
    r"|(?<=[<>=~-])(?=[<>=~-])"  # ->, <-, --, >=, <=, ~=: become symbols
    r"|(?=@)"  # e-mail addresses become links
    r"|(?<=www)(?=\.)",  # and so does www.
    re.IGNORECASE,
)
_LINE = re.compile(r"\r\n|\r|\n")


def escape_markdown(text: str) -> str:
    """Return Markdown that Streamlit shows as `text`: no mark-up, link, image, formula, icon, emoji or symbol.

    Every user text (names, ids, texts, notes, file and column names) passes through here before it becomes part of
    a label, a help text, an option or a message. Backslashes alone do not suffice: links, icons, emoji and symbols
    are looked for again after they are resolved. Line breaks stay; white space is shown as a browser shows it.
    """
    return "  \n".join(map(_line, _LINE.split(text))) if text else ""


def _line(line: str) -> str:
    body = line.lstrip(" \t")
    indent = "&#32;" if body != line or not body else ""  # neither a code block nor the end of the paragraph
    return indent + _BREAK.join(_SPECIAL.sub(r"\\\g<0>", part) for part in _DIVIDED.split(body))
