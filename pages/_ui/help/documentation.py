"""The index of the documentation, with links to its pages."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import streamlit as st

from pages._ui.shared.markdown import doc_link

INDEX = Path(__file__).parents[3] / "docs" / "README.md"
_LINK = re.compile(r"\[([^]]+)\]\(([^)]+)\)")


def draw() -> None:
    """Draw the table of docs/README.md."""
    table = INDEX.read_text(encoding="utf-8").split("\n\n")[1]
    st.markdown(_LINK.sub(lambda link: doc_link(posixpath.normpath(f"docs/{link[2]}"), link[1]), table))
    st.caption("The pages open in a new tab. They describe this version and need no connection to the internet.")
