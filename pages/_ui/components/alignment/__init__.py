"""Sentences of an output and of another text, with a heatmap of their matches and unmatched sentences.

`data` is `core.services.compare.alignment.payload` plus name (of the output), against (the other text: "reference 2", "source"),
the (as in "the source"), matcher, matched (its name) and good (the initial threshold of a good match). Nothing is sent
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pages._ui.components import shared

_component = partial(shared.build, "errorscope_alignment", __file__, "alignment.css", "alignment.js")


def alignment(data: Mapping[str, Any], *, key: str) -> None:
    """Draw both texts and their matches."""
    shared.draw_component(_component(), data, key=key, handlers={})
