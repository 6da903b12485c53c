"""Escape user texts: Streamlit reads nearly every label, help text and message as Markdown. Links to the documentation."""

from __future__ import annotations

import re
from pathlib import Path

from core.formatting import isolated

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
_ROOT = Path(__file__).parents[3]
_DOCUMENT = re.compile(r"\b(docs/[\w/-]+\.md)\b")


def escape_markdown(text: str) -> str:
    """Return Markdown that Streamlit shows as `text`, without markup, links, images, formulas, icons, emoji or symbols.

    Use it for every user text (names, ids, texts, notes, file and column names) in a label, help text, option or message.
    Backslashes alone are not enough: Streamlit looks for links, icons, emoji and symbols again after resolving them. Line
    breaks are kept; other white space collapses as in HTML. Lines with more letters from right to left than others are `isolated`.
    """
    return "  \n".join(map(_line, _LINE.split(text))) if text else ""


def _line(line: str) -> str:
    body = line.lstrip(" \t")
    indent = "&#32;" if body != line or not body else ""  # neither a code block nor the end of the paragraph
    return indent + isolated(_BREAK.join(_SPECIAL.sub(r"\\\g<0>", part) for part in _DIVIDED.split(body)), least=0.5)


def doc_link(path: str, label: str = "") -> str:
    """Return a link in Markdown to a file of the documentation, such as docs/formats.md#ratings, which `api.documentation` shows.

    The address is relative to a page of the app, so it works below any base path. Without a label, the link shows the path.
    """
    return f"[{label or path}](documentation/{path})"


def with_doc_links(text: str) -> str:
    """Return a message of the program as `escape_markdown` does, with links to the files of the documentation that it names."""
    parts = _DOCUMENT.split(text)
    named = (doc_link(path) if (_ROOT / path).is_file() else escape_markdown(path) for path in parts[1::2])
    return "".join(escape_markdown(between) + next(named, "") for between in parts[::2])
