"""Sentences of an output beside those of another text: a heatmap of their matches, links between the texts, and what has none.

`data` is `core.services.alignment.payload` plus name (of the output), against (the other text: "reference 2", "source"),
the (it in a sentence: "the source"), matcher, matched (its name in words) and good (from where on a match is good, until
somebody moves it). Nothing is sent back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pages._ui import component

HERE = Path(__file__).parent


@st.cache_resource
def _component() -> Any:
    return component.build("errorscope_alignment", HERE, "alignment.css", "alignment.js")


def alignment(data: Mapping[str, Any], *, key: str) -> None:
    """Draw both texts and their matches."""
    component.draw(_component(), data, key=key, handlers={})
