"""Sentences of an output and of another text, with a heatmap of their matches and unmatched sentences.

`data` is `core.services.compare.alignment.payload` plus name (of the output), against (the other text: "reference 2", "source"),
the (as in "the source"), matcher, matched (its name) and good (the initial threshold of a good match). Nothing is sent
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages._ui.components import shared

HERE = Path(__file__).parent


@st.cache_resource
def _component() -> Any:
    return shared.build("errorscope_alignment", HERE, "alignment.css", "alignment.js")


def alignment(data: Mapping[str, Any], *, key: str) -> None:
    """Draw both texts and their matches."""
    shared.draw(_component(), data, key=key, handlers={})
