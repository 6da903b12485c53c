"""Detect the kind of script of a text, which decides how it is split into words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from core.text.words import UNSPACED, is_unspaced, words

Writing = Literal["spaced", "han", "unspaced"]
"""Words separated by spaces; Chinese characters; another script without spaces, or mixed with Chinese characters."""

MOSTLY_HAN = 0.9
_UNSPACED = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED) + "]")
_HAN = re.compile("[\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")


def has_unspaced(text: str) -> bool:
    """Return whether the text has a character of a script without spaces."""
    return any(is_unspaced(match[0]) for match in _UNSPACED.finditer(text))


@lru_cache(maxsize=1 << 14)
def writing(texts: Sequence[str]) -> Writing:
    """Return how most words of the texts (a tuple) are written; a character of a script without spaces counts as a word.

    Texts without any word are "spaced".
    """
    if not any(map(_UNSPACED.search, texts)):
        return "spaced"
    first = [text[start] for text in texts for start, _ in words(text)]
    single = [char for char in first if is_unspaced(char)]
    if 2 * len(single) < len(first) or not single:
        return "spaced"
    return "han" if sum(map(bool, map(_HAN.match, single))) >= MOSTLY_HAN * len(single) else "unspaced"


def tokens_by(names: dict[Writing, str], texts: Iterable[Sequence[str]]) -> str:
    """Return the names of the tokenizers used for the texts, joined by +; that for "spaced" if there are no texts."""
    found = {names[writing(tuple(given))] for given in texts}
    return "+".join(name for name in dict.fromkeys(names.values()) if name in found) or names["spaced"]
