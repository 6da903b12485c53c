"""Downloads, and file names made of project names. All pages draw their downloads here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import streamlit as st

from pages._ui.shared import person

MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "tex": "text/x-tex",
    "tsv": "text/tab-separated-values",
    "txt": "text/plain",
    "zip": "application/zip",
}


def file_name(name: str) -> str:
    """Return a project's name as the start of a file name: letters, digits, dashes."""
    return re.sub(r"\W+", "-", name).strip("-_")[:60] or "project"


Content = str | bytes


def download(
    label: str,
    content: Content | Callable[[], Content],
    name: str,
    key: str | None = None,
    *,
    mime: str = "",
    **layout: Any,
) -> None:
    """Draw a download button for a file; text is encoded in UTF-8. Without `mime`, `name` ends as in `MIME`.

    A function is called at the click, as the person for whom the button was drawn: it may use `wiring`.
    """
    data = person.made_at_click(lambda: _encoded(content())) if callable(content) else _encoded(content)
    st.download_button(
        label, data, name, mime or MIME[name.rpartition(".")[2]],
        key=key, on_click="ignore", icon=":material/download:", **layout,
    )  # fmt: skip


def _encoded(content: Content) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
