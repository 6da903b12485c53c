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

HERE = Path(__file__).parent


@st.cache_resource
def _component() -> Any:
    return st.components.v2.component(
        "errorscope_alignment",
        css=(HERE / "alignment.css").read_text(encoding="utf-8"),
        js=(HERE / "alignment.js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )


def alignment(data: Mapping[str, Any], *, key: str) -> None:
    """Draw both texts and their matches."""
    _component()(key=key, data=dict(data))
