"""Texts that are longer than a model of pairs reads, as overlapping windows of them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from transformers import PreTrainedTokenizerBase

from core.errors import UserError

OVERLAP = 4
"""Neighbouring windows share one part in so many of their tokens, or a little less: they begin and end between words."""
SLACK = 6
"""Tokens left free: a window may be read as a few more of them than it had within its text."""


class Reader:
    """Tokens of texts, counted and cut; no state is shared with the tokenizer it was made from."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        from tokenizers import Tokenizer

        backend: Any = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise UserError(
                "this tokenizer does not say where its tokens stand, so that long texts cannot be read in windows",
                where=type(tokenizer).__name__,
                hint="Choose long:cut",
            )
        self._inner = Tokenizer.from_str(backend.to_str())
        self._inner.no_truncation()
        self._inner.no_padding()
        self._inner.encode_special_tokens = True
        self.special = tokenizer.num_special_tokens_to_add(pair=True)

    def count(self, text: str) -> int:
        """How many tokens a text has, special ones not counted."""
        return len(self._inner.encode(text, add_special_tokens=False).ids)

    def pieces(self, first: str, second: str, limit: int) -> tuple[list[str], list[str]]:
        """Windows of both texts such that any two of them fit into `limit` tokens; the texts themselves where they fit.

        The first text gives way to the second as far as the second needs no more than half of the room.
        """
        room = limit - self.special
        if len((first + second).encode("utf-8", "surrogatepass")) + SLACK <= room:
            return [first], [second]
        size = self.count(first)
        if size + self.count(second) <= room:
            return [first], [second]
        room -= SLACK
        seconds = self.windows(second, max(room // 2, room - size))
        return self.windows(first, room - max(map(self.count, seconds))), seconds

    def windows(self, text: str, size: int) -> list[str]:
        """The text where it has at most `size` tokens; else evenly spaced windows of it that leave out nothing."""
        places = self._inner.encode(text, add_special_tokens=False).offsets
        n, size = len(places), max(size, 2 * OVERLAP)
        if n <= size:
            return [text]
        overlap = size // OVERLAP
        count = math.ceil((n - overlap) / (size - overlap))
        starts = [i * (n - size) // (count - 1) for i in range(count)]
        found = []
        for start in starts:
            last = start + size - 1
            a = _beginning(text, places, start, overlap // 2 - 1)
            b = len(text) if last == n - 1 else _end(text, places, last, overlap // 2 - 1)
            found.append(text[a:b])
        return found


def _beginning(text: str, places: list[tuple[int, int]], at: int, most: int) -> int:
    """Where the token `at` begins, or one of the `most` after it that begins a word."""
    if at == 0:
        return 0
    for start, _ in places[at : at + most + 1]:
        if text[start - 1].isspace() or text[start : start + 1].isspace():
            return start
    return places[at][0]


def _end(text: str, places: list[tuple[int, int]], at: int, most: int) -> int:
    """Where the token `at` ends, or one of the `most` before it that ends a word."""
    for back in range(max(0, most) + 1):
        end = places[at - back][1]
        if text[end : end + 1].isspace():
            return end
    return places[at][1]


@lru_cache(maxsize=2)
def reader(tokenizer: PreTrainedTokenizerBase) -> Reader:
    """The reader of a tokenizer, made once. Raises UserError for one that does not say where its tokens stand."""
    return Reader(tokenizer)
