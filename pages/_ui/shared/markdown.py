"""Escape user texts: Streamlit reads nearly every label, help text and message as Markdown."""

from __future__ import annotations

import re

_BREAK = ":small[]"
"""An empty directive. It draws nothing but splits the text, so that no later replacement can match across it."""
_SPECIAL = re.compile(r"[\\`*{}\[\]()<>#+!|~$:&@^=\"'/]|(?<![A-Za-z0-9])[_.-]|[_.-](?![A-Za-z0-9])")
"""What Markdown may interpret. Inside a word, `_`, `.` and `-` mean nothing; without backslashes, `doc_id` is read aloud as it is."""
_DIVIDED = re.compile(
    r"(?<=:)(?=//|[\w+-]+:)"  # https://…, :streamlit:, :material_home:, :smile:
    r"|(?<=[<>=~-])(?=[<>=~-])"  # ->, <-, --, >=, <=, ~=: become symbols
    r"|(?=@)"  # e-mail addresses become links
    r"|(?<=www)(?=\.)",  # and so does www.
    re.IGNORECASE,
)
_LINE = re.compile(r"\r\n|\r|\n")


def escape_markdown(text: str) -> str:
    """Return Markdown that Streamlit shows as `text`, without markup, links, images, formulas, icons, emoji or symbols.

    Use it for every user text (names, ids, texts, notes, file and column names) in a label, help text, option or message.
    Backslashes alone are not enough: Streamlit looks for links, icons, emoji and symbols again after resolving them. Line
    breaks are kept; other white space collapses as in HTML.
    """
    return "  \n".join(map(_line, _LINE.split(text))) if text else ""


def _line(line: str) -> str:
    body = line.lstrip(" \t")
    indent = "&#32;" if body != line or not body else ""  # neither a code block nor the end of the paragraph
    return indent + _BREAK.join(_SPECIAL.sub(r"\\\g<0>", part) for part in _DIVIDED.split(body))
