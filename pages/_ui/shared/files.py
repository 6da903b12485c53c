"""Downloads of text files, and file names made of project names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import streamlit as st

MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "tex": "text/x-tex",
    "txt": "text/plain",
}


def file_name(name: str) -> str:
    """Return a project's name as the start of a file name: letters, digits, dashes."""
    return re.sub(r"\W+", "-", name).strip("-_")[:60] or "project"


def download(label: str, text: str | Callable[[], str], name: str, key: str | None = None, **layout: Any) -> None:
    """Draw a download button for a text file in UTF-8; a function is called at the click. `name` ends as in `MIME`."""
    data = _encoded(text) if isinstance(text, str) else lambda: _encoded(text())
    mime = MIME[name.rpartition(".")[2]]
    st.download_button(label, data, name, mime, key=key, on_click="ignore", icon=":material/download:", **layout)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
